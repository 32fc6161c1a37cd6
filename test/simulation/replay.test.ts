// The tables that the simulation trusts, compared with the real ones: the statements of histories are sent to PostgreSQL, in the same
// order. Every answer is compared.
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { recordHistory } from "./history.ts";
import { RealTables } from "./ledger/real-tables-store.ts";
import type { JournalEntry } from "./ledger/statement-journal.ts";

/** One history instead of all of them. */
const SEED = process.env["SIMULATION_SEED"];
const HISTORIES = byDepth({ quick: 60, deep: 240 });
const PATIENCE_MS = 600_000;
/** Statements that the histories must have; a comparison without them would prove little. */
const STATEMENTS = [
  ...["insert_steps", "insert_all", "tails", "beginnings", "steps_of_holds", "late_costs"],
  ...["latest_claims", "states", "store_account", "store_budgets"],
];
const ERRORS = ["23505"];

let tables: RealTables;
beforeAll(async () => {
  tables = await RealTables.open();
});
afterAll(() => tables.close());

test(
  "PostgreSQL answers the statements of simulated histories as the simulation does",
  async () => {
    const seeds = SEED === undefined ? Array.from({ length: HISTORIES }, (_, seed) => seed) : [Number(SEED)];
    const seen = new Set<string>();
    for (const seed of seeds) for (const kind of await replay(seed)) seen.add(kind);
    if (SEED === undefined) expect([...STATEMENTS, ...ERRORS].filter((kind) => !seen.has(kind))).toEqual([]);
  },
  PATIENCE_MS,
);

/** @returns names of the statements, and errors */
async function replay(seed: number): Promise<string[]> {
  const journal = await recordHistory(seed);
  await tables.begin(journal);
  for (const [index, entry] of journal.entries.entries()) {
    await tables.play(entry).catch((cause) => {
      const again = `SIMULATION_SEED=${seed} npm test -- test/simulation/replay.test.ts`;
      throw new Error(`history ${seed} differs at statement ${index}: ${describe(entry)}\n${again}`, {
        cause,
      });
    });
  }
  return journal.entries.flatMap(({ sent: { name }, answer }) => [
    name ?? "",
    ...("error" in answer ? [answer.error] : []),
  ]);
}

function describe({ sent: { text, values } }: JournalEntry): string {
  const shown = JSON.stringify(values, (_, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  );
  return `${text}\n${shown}`;
}
