// Programs from npm are installed into the user's cache, outside of the checkout, once for each version. The
// dependencies are those of one day. Invariant: a folder with its final name is complete.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

export interface NpmProgram {
  readonly name: string;
  readonly version: string;
  /** Newest day of its dependencies, as `2026-11-23`. */
  readonly asOf: string;
  /** Script that the package needs after the installation, within its folder. Other scripts never run. */
  readonly script?: string;
}

/** @returns the folder above `node_modules`. @throws Error if npm cannot install it */
export async function installNpm({ name, version, asOf, script }: NpmProgram): Promise<string> {
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(cache, "generation-router/programs", `${name.replaceAll("/", "+")}-${version}`);
  if (existsSync(folder)) return folder;
  const draft = `${folder}.${process.pid}`;
  await mkdir(draft, { recursive: true });
  const args = ["install", "--prefix", draft, "--before", asOf, "--omit=dev", "--ignore-scripts"];
  const options = ["--no-audit", "--no-fund", "--loglevel=error", `${name}@${version}`];
  try {
    await runToEnd("npm", [...args, ...options], draft);
    if (script !== undefined) {
      const place = join(draft, "node_modules", name);
      await runToEnd(process.execPath, [join(place, script)], place);
    }
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (existsSync(folder)) return folder;
    throw new Error(`npm could not install ${name} ${version}: ${(error as Error).message}`);
  }
  return folder;
}

async function runToEnd(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
}
