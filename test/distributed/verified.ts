// This file owns `verified.json`, the record of the covered files with which `npm run test:distributed` last passed. A whole run writes
// the record, and a commit keeps it. CI has no Citus, so it only compares.
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../scripts/tool.ts";
import { type CoveredFiles, coveredFiles } from "../cluster/verified.ts";
import type { CitusPrograms } from "./citus.ts";

const RECORD = "test/distributed/verified.json";
/** Files that only Citus can test: the statements on distributed tables, their tables, and this test itself. Entries are git's pathspecs. */
export const COVERED: readonly string[] = [
  "services/billing/src/shards",
  "services/billing/src/chain/*-store.ts",
  "services/billing/src/follower/*-store.ts",
  "services/billing/src/text-log/text-list-store.ts",
  "services/billing/src/windows-copy/*-store.ts",
  "services/billing/migrations/0012-steps.sql",
  "services/billing/migrations/0023-ledger-in-shards.sql",
  "test/distributed",
  `:(exclude)${RECORD}`,
  ":(exclude)test/distributed/figures.ts",
  ":(exclude)*.test.ts",
  ":(exclude)*.md",
  ":(exclude)*tsconfig.json",
];

/** The content of verified.json. */
export interface Verified {
  readonly passed: string;
  readonly date: string;
  readonly node: string;
  readonly postgres: string;
  readonly citus: string;
  readonly digest: string;
}

/** @returns `isSame` if the distributed ledger has passed with these files, and a sentence with the result */
export function compare(
  digest: string,
  verified: Verified | undefined,
): { isSame: boolean; sentence: string } {
  if (verified === undefined)
    return { isSame: false, sentence: `no run of the distributed ledger is recorded in ${RECORD}` };
  const { date, citus } = verified;
  const isSame = digest === verified.digest;
  const sentence = isSame
    ? `the distributed ledger is tested: its covered files are those of ${date}, when it passed with Citus ${citus}`
    : `the statements of the distributed ledger have changed since it passed on ${date} with Citus ${citus}`;
  return { isSame, sentence };
}

/** @returns undefined without a record */
export async function lastVerified(): Promise<Verified | undefined> {
  const text = await readFile(join(ROOT, RECORD), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as Verified);
}

/** Records a whole run, unless its files changed. @param before covered files at its start @returns a sentence */
export async function recordRun(before: CoveredFiles, { postgres, version }: CitusPrograms): Promise<string> {
  const { digest, unknown } = await coveredFiles(ROOT, COVERED);
  if (digest !== before.digest) return "not recorded: covered files changed during the run";
  if (unknown.length > 0)
    return `not recorded: git does not track ${unknown.join(", ")}; add these files and repeat the run`;
  const { stdout } = await promisify(execFile)(postgres, ["--version"]);
  const verified: Verified = {
    passed: "npm run test:distributed, from the first file to the last",
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    postgres: stdout.trim().replace(/^.* /, ""),
    citus: version,
    digest,
  };
  await writeFile(join(ROOT, RECORD), `${JSON.stringify(verified, null, 2)}\n`);
  return `recorded in ${RECORD}; commit it with the change`;
}
