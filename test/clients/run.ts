// `npm run test:clients` installs the programs of docs/clients.md from their registries, and runs each on a router with
// its simulator. `-- codex` runs one of them; `-- --if-changed` runs all only if samples or wire code differ from
// verified.json.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startRouter } from "../e2e/topology.ts";
import { samplesOf } from "../guides/samples.ts";
import { CLIENTS, NOT_RUN } from "./clients.ts";
import { type ClientRun, runClient } from "./run-client.ts";
import { compare, coveredState, lastVerified, recordRun } from "./verified.ts";

const words = process.argv.slice(2);
const names = words.filter((word) => word !== "--if-changed");
const print = (line: string) => process.stdout.write(`${line}\n`);

/** @returns the number of failed programs */
async function runAll(before: Awaited<ReturnType<typeof coveredState>>): Promise<number> {
  const chosen = CLIENTS.filter(({ command }) => names.length === 0 || names.includes(command));
  const samples = await samplesOf("docs/clients.md");
  const router = await startRouter("all-in-one");
  const runs: Record<string, ClientRun> = {};
  try {
    for (const client of chosen) {
      const folder = await mkdtemp(join(tmpdir(), "client-"));
      try {
        const run = await runClient(router, samples, client, folder);
        runs[client.section] = run;
        print(`ok      ${client.section} ${run.version}: ${run.requests} requests, ${run.charged} USD`);
      } catch (error) {
        print(`FAILED  ${client.section} ${client.source.version}: ${(error as Error).message}`);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }
  } finally {
    await router.dispose();
  }
  for (const [section, reason] of Object.entries(NOT_RUN)) print(`not run ${section}: ${reason}`);
  const passed = Object.keys(runs).length;
  if (passed === CLIENTS.length) print(await recordRun(before, runs));
  print(`${passed} passed, ${chosen.length - passed} failed`);
  return chosen.length - passed;
}

const before = await coveredState();
const { isSame, sentence } = compare(
  { samples: before.samples.digest, wire: before.wire.digest },
  await lastVerified(),
);
const ifChanged = words.includes("--if-changed");
if (ifChanged) print(sentence);
if (!ifChanged || !isSame) process.exitCode = (await runAll(before)) === 0 ? 0 : 1;
