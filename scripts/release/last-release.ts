// The last release as `scripts/release/` records it: version, commit, contract (a buf image), API and digests of migrations.
// Recorded contracts, APIs and migrations are never edited; each later version must work beside them.
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT, runTool, ToolError } from "../tool.ts";
import { apiChanges } from "./api-changes.ts";
import { entryOf, isNewer, titlesSince, withEntry } from "./changelog.ts";
import { withOwnVersion } from "./image-pins.ts";

export interface Release {
  readonly version: string;
  /** The whole id. */
  readonly commit: string;
  /** SHA-256 of each migration, by its path. */
  readonly migrations: Readonly<Record<string, string>>;
}

const RECORD = join(ROOT, "scripts", "release", "last.json");
const CONTRACT = join(ROOT, "scripts", "release", "contract.binpb");
/** The API as docs/openapi.json of the release describes it, and the intended exceptions from "the API only grows". */
const RELEASED_API = join(ROOT, "scripts", "release", "openapi.json");
const API_EXCEPTIONS = join(ROOT, "scripts", "release", "api-exceptions.json");
const API = join(ROOT, "docs", "openapi.json");
const COMMIT = /^[0-9a-f]{40}$/;

export async function lastRelease(): Promise<Release> {
  return JSON.parse(await readFile(RECORD, "utf8")) as Release;
}

/** @throws ToolError that names each part of the contract without which a process of the last release fails */
export async function checkContract(): Promise<void> {
  await runTool("buf", ["breaking", "proto", "--against", CONTRACT]);
}

/** @throws ToolError that names each loss for clients of the last release without a reason, and each reason without a loss */
export async function checkApi(): Promise<void> {
  const [before, after, exceptions] = await Promise.all(
    [RELEASED_API, API, API_EXCEPTIONS].map(async (file) => JSON.parse(await readFile(file, "utf8"))),
  );
  const changes = apiChanges(before, after);
  const complaints = [
    ...changes.filter((change) => exceptions[change] === undefined),
    ...Object.keys(exceptions)
      .filter((change) => !changes.includes(change))
      .map((change) => `${change} (an exception without effect)`),
  ];
  if (complaints.length === 0) return;
  const remedy = "Keep the former API, or write the reason into scripts/release/api-exceptions.json.";
  throw new ToolError(`${complaints.join("\n")}\n${remedy}`);
}

/**
 * Writes a new version into package.json and compose.yaml, and an entry with the titles of its commits into CHANGELOG.md.
 * @param root of the repository
 */
export async function prepareRelease(version: string, date: string, root = ROOT): Promise<void> {
  const [manifest, changelog] = [join(root, "package.json"), join(root, "CHANGELOG.md")];
  const compose = join(root, "compose.yaml");
  const last = JSON.parse(await readFile(join(root, "scripts/release/last.json"), "utf8")) as Release;
  if (!isNewer(version, last.version)) throw new ToolError(`the last release is ${last.version} already`);
  const titles = await titlesSince(last.commit, root);
  const text = withEntry(await readFile(changelog, "utf8"), version, date, titles);
  const before = await readFile(manifest, "utf8");
  await writeFile(changelog, text);
  await writeFile(manifest, before.replace(/^ {2}"version": ".*"/m, `  "version": "${version}"`));
  await writeFile(compose, withOwnVersion(await readFile(compose, "utf8"), version));
}

/** @throws ToolError that names the reason why a commit cannot be the last release. @returns its version */
export async function checkRelease(source: string, commit: string, last: Release): Promise<string> {
  const read = (file: string) => readFile(join(source, file), "utf8").catch(() => "{}");
  const { version = "" } = JSON.parse(await read("package.json")) as { version?: string };
  if (version === last.version && commit !== last.commit) {
    throw new ToolError(`${version} is ${last.commit} already: prepare a new version first`);
  }
  if (entryOf(await read("CHANGELOG.md"), version) === undefined) {
    throw new ToolError(`CHANGELOG.md of ${commit} has no entry for its version, ${version}`);
  }
  return version;
}

/** Records a commit as the last release. @param scratch an empty folder */
export async function recordRelease(commit: string, scratch: string): Promise<Release> {
  if (!COMMIT.test(commit)) throw new ToolError("name a new version, or the whole id of a commit");
  await writeSource(commit, scratch);
  const version = await checkRelease(scratch, commit, await lastRelease());
  const release = { version, commit, migrations: await digestsOfMigrations(scratch) };
  await mkdir(join(ROOT, "scripts", "release"), { recursive: true });
  // Comments are no part of the contract.
  await runTool("buf", ["build", join(scratch, "proto"), "--exclude-source-info", "-o", CONTRACT]);
  await copyFile(join(scratch, "docs", "openapi.json"), RELEASED_API);
  await writeFile(API_EXCEPTIONS, "{}\n");
  await writeFile(RECORD, `${JSON.stringify(release, null, 2)}\n`);
  return release;
}

/**
 * The files of a commit. A clone without its history asks where it was cloned from.
 * @throws ToolError when neither has it
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

/** Of all services, by path from the root. */
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
