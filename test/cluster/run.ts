// `npm run test:cluster` runs a Kubernetes cluster of one node, with the router in it. The cluster ends with this run.
// `-- objects` ends after that step; `-- --if-changed` runs only if the covered files have changed since the last passed run
// (verified.json). It needs root on Linux, Go and packages of Debian. Only a cache of its builds stays on the machine.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNamespaces } from "./namespaces.ts";
import { linkPrograms, requireDebian } from "./programs.ts";
import { compare, coveredFiles, lastVerified, recordRun } from "./verified.ts";

const words = process.argv.slice(2);
const ifChanged = words.includes("--if-changed");
const [last = ""] = words.filter((word) => word !== "--if-changed");
const say = (line: string) => process.stdout.write(`      ${line}\n`);
const told = new AbortController();
process.once("SIGTERM", () => told.abort());

/** Builds the programs, and runs the cluster test in namespaces. @returns its exit code */
async function runCluster(state: string): Promise<number> {
  const programs = join(state, "programs");
  await linkPrograms(programs, say, told.signal);
  const inside = join(import.meta.dirname, "inside.ts");
  return runInNamespaces([process.execPath, inside, state, programs, last]);
}

let state: string | undefined;
try {
  const before = await coveredFiles();
  const { same, sentence } = compare(before.digest, await lastVerified());
  if (ifChanged) process.stdout.write(`${sentence}\n`);
  if (!ifChanged || !same) {
    if (process.getuid?.() !== 0)
      throw new Error("the cluster needs root, because it creates namespaces and control groups.");
    await requireDebian();
    state = await mkdtemp(join(tmpdir(), "cluster-"));
    process.exitCode = await runCluster(state);
    if (process.exitCode === 0 && last === "") say(await recordRun(before));
  }
} catch (error) {
  process.stderr.write(`FAILED  ${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  if (told.signal.aborted)
    process.stderr.write("FAILED  SIGTERM ended the cluster test before its last step\n");
  if (state !== undefined) await rm(state, { recursive: true, force: true });
}
