// For which samples and which wire code `npm run test:clients` has passed: `verified.json`, which a whole run writes and
// which is committed. CI runs the clients if these files differ (`--if-changed`).
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../scripts/tool.ts";
import { type CoveredFiles, coveredFiles } from "../cluster/verified.ts";
import { NOT_RUN } from "./clients.ts";
import type { ClientRun } from "./run-client.ts";

const RECORD = "test/clients/verified.json";
const NO_TESTS = [":(exclude)*.test.ts", ":(exclude)*.md", ":(exclude)*tsconfig.json"];

/** Git's pathspecs of the files that a run depends on. */
export const COVERED = {
  samples: [
    "docs/clients.md",
    "test/guides/samples.ts",
    "test/clients/*.ts",
    "test/clients/python",
    ":(exclude)*.test.ts",
  ],
  wire: [
    "gateway/src",
    "services/text-proxy/src",
    "packages/text-upstream/src",
    "packages/runtime/src/http",
    "packages/runtime/src/bodies",
    "apps/simulator/src/reply",
    "apps/simulator/src/text",
    ...NO_TESTS,
  ],
} as const;

/** The content of verified.json. */
export interface Verified {
  readonly passed: string;
  readonly date: string;
  readonly node: string;
  readonly clients: Readonly<Record<string, ClientRun>>;
  /** Sections with a program that was not run, with the reason. */
  readonly notRun: Readonly<Record<string, string>>;
  /** Digests of the files, as git sees them. */
  readonly samples: string;
  readonly wire: string;
}

export interface CoveredState {
  readonly samples: CoveredFiles;
  readonly wire: CoveredFiles;
}

export async function coveredState(): Promise<CoveredState> {
  return { samples: await coveredFiles(ROOT, COVERED.samples), wire: await coveredFiles(ROOT, COVERED.wire) };
}

/** @returns a sentence, and whether the clients have passed with these files */
export function compare(now: Pick<Verified, "samples" | "wire">, verified: Verified | undefined) {
  if (verified === undefined)
    return { isSame: false, sentence: `no run of the clients is recorded in ${RECORD}` };
  const changed = (["samples", "wire"] as const).filter((part) => now[part] !== verified[part]);
  const isSame = changed.length === 0;
  const sentence = isSame
    ? `the clients do not run: samples and wire code are those of ${verified.date}`
    : `changed since the clients passed on ${verified.date}: ${changed.join(" and ")}`;
  return { isSame, sentence };
}

/** @returns undefined without a record */
export async function lastVerified(): Promise<Verified | undefined> {
  const text = await readFile(join(ROOT, RECORD), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as Verified);
}

/** Records a whole run, unless its files changed. @param before state at its start @returns a sentence */
export async function recordRun(
  before: CoveredState,
  clients: Readonly<Record<string, ClientRun>>,
): Promise<string> {
  const after = await coveredState();
  const isUnchanged =
    after.samples.digest === before.samples.digest && after.wire.digest === before.wire.digest;
  if (!isUnchanged) return "not recorded: samples or wire code changed during the run";
  const unknown = [...after.samples.unknown, ...after.wire.unknown];
  if (unknown.length > 0) return `not recorded: git does not know ${unknown.join(", ")}`;
  const verified: Verified = {
    passed: "npm run test:clients, from the first client to the last",
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    clients,
    notRun: NOT_RUN,
    samples: after.samples.digest,
    wire: after.wire.digest,
  };
  await writeFile(join(ROOT, RECORD), `${JSON.stringify(verified, null, 2)}\n`);
  return `recorded in ${RECORD}; commit it with the change`;
}
