// `npm run release -- <commit>` records a commit of main as the last release. From then on the checks compare every
// change with it, and the tests run its build beside ours. The written files are committed.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordRelease } from "./last-release.ts";
import { ToolError } from "./tool.ts";

const scratch = await mkdtemp(join(tmpdir(), "release-"));
try {
  const { version, commit } = await recordRelease(process.argv[2] ?? "", join(scratch, "source"));
  process.stdout.write(`The last release is ${version}, ${commit}.\n`);
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  process.stderr.write(`nothing is recorded: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  await rm(scratch, { recursive: true, force: true });
}
