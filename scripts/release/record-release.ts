// `npm run release -- <version>` prepares a release: version in package.json and compose.yaml, entry in CHANGELOG.md, both to be committed.
// `npm run release -- <commit>` then records that commit of main as the last release. From the record on, the checks hold
// every change to it, the tests run its build beside the current one, and the public workflow tags it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolError } from "../tool.ts";
import { isVersion } from "./changelog.ts";
import { prepareRelease, recordRelease } from "./last-release.ts";

const [argument = ""] = process.argv.slice(2);
try {
  process.stdout.write(`${await (isVersion(argument) ? prepare(argument) : record(argument))}\n`);
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  process.stderr.write(`nothing is written: ${error.message}\n`);
  process.exitCode = 1;
}

async function prepare(version: string): Promise<string> {
  await prepareRelease(version, new Date().toISOString().slice(0, 10));
  return `CHANGELOG.md has an entry for ${version}: rewrite it for readers, commit it on main, and record that commit.`;
}

async function record(id: string): Promise<string> {
  const scratch = await mkdtemp(join(tmpdir(), "release-"));
  try {
    const { version, commit } = await recordRelease(id, join(scratch, "source"));
    return `The last release is ${version}, ${commit}.`;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
