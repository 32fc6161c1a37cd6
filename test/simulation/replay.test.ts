// The model of the ledger that the simulation trusts, held to the real one: what histories asked of it is asked of billing
// on PostgreSQL, in the same order and at the same times. Every answer and the final books are compared.

import { type BillingUnderTest, startBilling } from "@gr/billing/simulated";
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { recordHistory } from "./history.ts";
import { FREE_LIMIT } from "./ledger/ledger.ts";
import type { LedgerCall } from "./ledger/ledger-journal.ts";
import { RealLedger } from "./ledger/real-ledger.ts";

/** One history instead of all of them. */
const SEED = process.env["SIMULATION_SEED"];
const HISTORIES = byDepth({ quick: 60, deep: 240 });
const PATIENCE_MS = 600_000;
/** Kinds of calls that the histories must come to; without them this would prove little. */
const KINDS: readonly LedgerCall["kind"][] = [
  "commit",
  "keep answer",
  "read answer",
  "lease",
  "put spender",
  "put deposit",
  "put adjustment",
];

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling({ FREE_REQUESTS_PER_DAY: String(FREE_LIMIT) });
});
afterAll(() => ledger.stop());

test(
  "PostgreSQL answers what simulated histories ask of their ledger as the simulation does, and ends with the same books",
  async () => {
    const seeds = SEED === undefined ? Array.from({ length: HISTORIES }, (_, seed) => seed) : [Number(SEED)];
    const seen = new Set<string>();
    for (const seed of seeds) for (const kind of await replay(seed)) seen.add(kind);
    expect((await ledger.inProcess.verifyLedger({})).differences).toEqual([]);
    if (SEED === undefined) expect([...seen].sort()).toEqual([...KINDS].sort());
  },
  PATIENCE_MS,
);

/** @returns the kinds of calls that it made */
async function replay(seed: number): Promise<Set<string>> {
  const history = await recordHistory(seed);
  const real = new RealLedger(ledger, seed, history);
  let step = 0;
  try {
    await real.open();
    for (const entry of history.journal.entries) {
      await real.take(entry);
      step += 1;
    }
    await real.compare();
  } catch (error) {
    const entry = history.journal.entries[step];
    const at = entry === undefined ? "the end" : `step ${step}: ${describe(entry.call)}`;
    const again = `SIMULATION_SEED=${seed} npm test -- test/simulation/replay.test.ts`;
    throw new Error(`history ${seed} differs at ${at}\n${again}`, { cause: error });
  }
  return new Set(history.journal.entries.map(({ call }) => call.kind));
}

function describe(call: LedgerCall): string {
  return JSON.stringify(call, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value));
}
