// Seconds of a proof of the ledger before and after its months are sealed, for 12 and for 24 sealed months. It also prints bytes.
// node services/billing/bench/seals.ts [steps of all accounts in a closed month] [steps in the open month] [sealed months …].
// With steps of the open month it measures the proof behind the seals only.
import { migrate, type Pool, systemClock } from "@gr/runtime";
import { sealUntil } from "../src/seals/seal-months.ts";
import { createStepLedger } from "../src/step-ledger/step-ledger.ts";
import { log, SCHEMA, startBenchDatabase } from "./bench-database.ts";
import { addPairs, monthStart, openAccounts } from "./synthetic-book-store.ts";

const ACCOUNTS = 100;
const [closedSteps = 100_000, openSteps, ...chosenMonths] = process.argv.slice(2).map(Number);
const MONTHS = chosenMonths.length > 0 ? chosenMonths : [12, 24];
/** Pairs of an account that one statement writes. */
const pairs = Math.ceil(closedSteps / ACCOUNTS / 2);
const openSlices = Math.ceil((openSteps ?? closedSteps) / closedSteps);

const postgres = await startBenchDatabase();
for (const months of MONTHS) await measure(months);
await postgres.stop();
process.exitCode = 0;

async function measure(months: number): Promise<void> {
  const pool = await postgres.newPool(4);
  await pool.query("DROP SCHEMA IF EXISTS billing CASCADE; CREATE SCHEMA billing");
  await migrate(pool, SCHEMA);
  const events = {
    committed: () => undefined,
    triedAgain: () => undefined,
    refusedFromMemory: () => undefined,
  };
  const ledger = createStepLedger({ pool, clock: systemClock, freeLimit: null, log, events });
  await fill(pool, months, () => ledger.follow());
  console.log(
    `${months} closed months and an open one, ${await figure(pool, "count(*)")} steps of ${ACCOUNTS} accounts`,
  );
  if (openSteps === undefined) await timed("  before seals", () => ledger.verify(false));
  await timed("  sealing", () => sealUntil(pool, monthStart(0), new AbortController().signal));
  await pool.query("VACUUM ANALYZE");
  await timed("  behind seals", () => ledger.verify(false));
  if (openSteps === undefined) await timed("  all", () => ledger.verify(true));
  const [steps, seals] = [
    await figure(pool, "pg_total_relation_size('step')"),
    await figure(pool, "pg_total_relation_size('seal')"),
  ];
  console.log(`  bytes of steps ${steps}, of seals ${seals}`);
  ledger.close();
  await pool.end();
}

async function fill(pool: Pool, months: number, follow: () => Promise<void>): Promise<void> {
  await openAccounts(pool, { accounts: ACCOUNTS, keys: 1, openedAt: monthStart(-months) }, follow);
  let before = 0;
  for (let month = -months; month <= 0; month += 1) {
    const [from, slices] = [monthStart(month), month === 0 ? openSlices : 1];
    const width = Math.floor((monthStart(month + 1) - from) / slices);
    for (let slice = 0; slice < slices; slice += 1) {
      const begin = from + width * slice;
      await addPairs(pool, { from: begin, until: begin + width, count: pairs, before, keys: 1 });
      await follow();
      before += pairs;
    }
  }
  await pool.query("VACUUM ANALYZE");
}

async function figure(pool: Pool, expression: string): Promise<string> {
  const from = expression.startsWith("count") ? "FROM step" : "";
  return String(
    (await pool.query<{ found: bigint }>(`SELECT ${expression} AS found ${from}`)).rows[0]?.found,
  );
}

async function timed(name: string, work: () => Promise<unknown>): Promise<void> {
  const from = performance.now();
  const result = await work();
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  const report = result as { readonly differences?: readonly { readonly invariant: string }[] } | undefined;
  const found = report?.differences === undefined ? "" : `, differences ${report.differences.length}`;
  console.log(`${name}: ${seconds} s${found}`);
  if (report?.differences?.[0] !== undefined) console.log(report.differences.slice(0, 3));
}
