// The build of the last release, by its own source with its own packages, and stored in .tools/. So the program beside
// ours is that of a customer.
import { existsSync } from "node:fs";
import { mkdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { lastRelease, writeSource } from "../../scripts/release/last-release.ts";
import { ROOT, runTool } from "../../scripts/tool.ts";

const TOOLS = join(ROOT, ".tools");

/** @returns the file of each service for Node */
export async function lastBuild(services: readonly string[]): Promise<(service: string) => string> {
  const { commit } = await lastRelease();
  const built = join(TOOLS, "releases", commit);
  if (!existsSync(built)) await build(commit, built, services);
  return (service) => join(built, service, "src", "main.js");
}

async function build(commit: string, into: string, services: readonly string[]): Promise<void> {
  const draft = `${into}.new`;
  const source = join(draft, "source");
  // Remainder of a test that was ended meanwhile.
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  await writeSource(commit, source);
  // Node and pnpm are there already; packages are those of its own lockfile.
  await symlink(TOOLS, join(source, ".tools"));
  const bundle = [join(source, "scripts/bootstrap.mjs"), "scripts/bundle.ts", ...services];
  await runTool("env", [`BUILD_COMMIT=${commit.slice(0, 12)}`, process.execPath, ...bundle], source);
  await rename(join(source, "dist/bundle"), into);
  await rm(draft, { recursive: true, force: true });
}
