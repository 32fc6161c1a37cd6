// The last release in `scripts/release/`: its version and commit, its contract as a buf image, and the digests of its
// migrations. Released files are never edited; every later version must work beside them.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT, runTool, ToolError } from "./tool.ts";

export interface Release {
  readonly version: string;
  /** Full id. */
  readonly commit: string;
  /** SHA-256 of each migration, by its path. */
  readonly migrations: Readonly<Record<string, string>>;
}

const RECORD = join(ROOT, "scripts", "release", "last.json");
const CONTRACT = join(ROOT, "scripts", "release", "contract.binpb");
const COMMIT = /^[0-9a-f]{40}$/;

export async function lastRelease(): Promise<Release> {
  return JSON.parse(await readFile(RECORD, "utf8")) as Release;
}

/** @throws ToolError that names each change that breaks a process of the last release */
export async function checkContract(): Promise<void> {
  await runTool("buf", ["breaking", "proto", "--against", CONTRACT]);
}

/** Records a commit as the last release. @param scratch an empty folder */
export async function recordRelease(commit: string, scratch: string): Promise<Release> {
  if (!COMMIT.test(commit)) throw new ToolError("give the whole id of the commit, 40 hexadecimal digits");
  await writeSource(commit, scratch);
  const { version } = JSON.parse(await readFile(join(scratch, "package.json"), "utf8")) as {
    version: string;
  };
  const release = { version, commit, migrations: await digestsOfMigrations(scratch) };
  await mkdir(join(ROOT, "scripts", "release"), { recursive: true });
  // Comments are not part of the contract.
  await runTool("buf", ["build", join(scratch, "proto"), "--exclude-source-info", "-o", CONTRACT]);
  await writeFile(RECORD, `${JSON.stringify(release, null, 2)}\n`);
  return release;
}

/**
 * Writes the files of a commit. A clone without history fetches them from its origin.
 * @throws ToolError if neither has the commit
 */
export async function writeSource(commit: string, folder: string, repository = ROOT): Promise<void> {
  const archive = join(folder, "..", `${commit}.tar`);
  const git = (...args: string[]) => runTool("git", args, repository);
  const isHere = await git("cat-file", "-e", `${commit}^{commit}`).then(
    () => true,
    () => false,
  );
  if (!isHere) {
    await git("fetch", "--quiet", "--depth", "1", "origin", commit).catch((error: Error) => {
      const sentence = `The commit ${commit} is neither in this clone nor where it was cloned from`;
      throw new ToolError(`${sentence}; a whole clone has it (git fetch --unshallow). ${error.message}`);
    });
  }
  await mkdir(folder, { recursive: true });
  await git("archive", "--format", "tar", "--output", archive, commit);
  await runTool("tar", ["-xf", archive, "-C", folder]);
}

/** Digests of the migrations of all services, by path from the root. */
export async function digestsOfMigrations(root: string): Promise<Record<string, string>> {
  const services = await readdir(join(root, "services"));
  const digests: Record<string, string> = {};
  for (const service of services.sort()) {
    const folder = `services/${service}/migrations`;
    const names = await readdir(join(root, folder)).catch(() => []);
    for (const name of names.filter((one) => one.endsWith(".sql")).sort()) {
      const sql = await readFile(join(root, folder, name));
      digests[`${folder}/${name}`] = createHash("sha256").update(sql).digest("hex");
    }
  }
  return digests;
}
