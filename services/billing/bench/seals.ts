// Seconds of a proof of the ledger before and after its months are sealed, for 12 and for 24 sealed months. It also prints bytes.
// node services/billing/bench/seals.ts [steps of all accounts in one month]
import { migrate, type Pool, systemClock } from "@gr/runtime";
import { sealUntil } from "../src/seals/seal-months.ts";
import { createStepLedger } from "../src/step-ledger/step-ledger.ts";
import { log, SCHEMA, startBenchDatabase } from "./bench-database.ts";

const ACCOUNTS = 100;
const MONTHS = [12, 24];
const pairs = Math.ceil(Number(process.argv[2] ?? 100_000) / ACCOUNTS / 2);

const OPEN = `INSERT INTO step (tx, account_id, id, seq, at, credits, charge, cost, credited, debited, held, bucket, attempt, kind, detail)
  SELECT pg_current_xact_id()::text::bigint, a.id, CASE k WHEN 1 THEN a.id ELSE gen_random_uuid() END, k, $1, CASE k WHEN 2 THEN 1000000000 ELSE 0 END, 0, 0,
    CASE WHEN k > 1 THEN 1000000000 ELSE 0 END, 0, 0, get_byte(uuid_send(a.id), 15), 0, (ARRAY[1, 11, 14])[k],
    CASE k WHEN 2 THEN '{"note":"bench"}' WHEN 3 THEN jsonb_build_object('definition', jsonb_build_object('id', gen_random_uuid(), 'parentId', NULL,
      'level', 'key', 'name', 'bench', 'limit', NULL, 'period', 'lifetime', 'expiresAt', NULL, 'active', true, 'createdAt', 0,
      'revision', jsonb_build_object('$int', '1')))::text END
   FROM bench_account a CROSS JOIN generate_series(1, 3) k`;
/** The id of the first step of a budget is that of its definition. */
const NAME = `UPDATE step SET id = (detail::jsonb -> 'definition' ->> 'id')::uuid WHERE kind = 14`;
/** Parameters: begin and end of a month, pairs of a month, pairs before it. */
const MONTH = `INSERT INTO step (tx, account_id, id, seq, at, credits, charge, cost, place_seq, deadline_at, credited, debited, held, used1, held1, bucket,
    budget1, window1, attempt, kind, billed_by, service, provider, upstream_model, model, price_version)
  SELECT pg_current_xact_id()::text::bigint, p.account_id, p.hold_id, 2 + 2 * p.n + k, p.at + k * 1000, CASE k WHEN 0 THEN 500 ELSE -500 END, 124 * k,
    12345678901 * k, CASE k WHEN 1 THEN 2 + 2 * p.n END, CASE k WHEN 0 THEN p.at + 600000 END, 1000000000, 124 * (p.n - 1 + k), 500 * (1 - k),
    124 * (p.n - 1 + k), 500 * (1 - k), get_byte(uuid_send(p.account_id), 15), 1, 1, 1, CASE k WHEN 0 THEN 2 ELSE 5 END, CASE k WHEN 1 THEN 'bench' END,
    CASE k WHEN 0 THEN 'text-proxy' END, CASE k WHEN 0 THEN 'bench' END, CASE k WHEN 0 THEN 'upstream/chat' END, CASE k WHEN 0 THEN 'chat' END,
    CASE k WHEN 0 THEN 'v1' END
   FROM (SELECT a.id AS account_id, gen_random_uuid() AS hold_id, $4::bigint + i AS n, $1::bigint + (($2::bigint - $1::bigint) / ($3::int + 1)) * i AS at
           FROM generate_series(1, $3::int) i CROSS JOIN bench_account a ORDER BY i) p CROSS JOIN generate_series(0, 1) k ORDER BY p.n, k`;

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
  await timed("  before seals", () => ledger.verify(false));
  await timed("  sealing", () => sealUntil(pool, monthStart(0), new AbortController().signal));
  await pool.query("VACUUM ANALYZE");
  await timed("  behind seals", () => ledger.verify(false));
  await timed("  all", () => ledger.verify(true));
  const [steps, seals] = [
    await figure(pool, "pg_total_relation_size('step')"),
    await figure(pool, "pg_total_relation_size('seal')"),
  ];
  console.log(`  bytes of steps ${steps}, of seals ${seals}`);
  ledger.close();
  await pool.end();
}

async function fill(pool: Pool, months: number, follow: () => Promise<void>): Promise<void> {
  await pool.query(
    `CREATE TABLE bench_account AS SELECT gen_random_uuid() AS id FROM generate_series(1, ${ACCOUNTS})`,
  );
  await pool.query(OPEN, [monthStart(-months)]);
  await pool.query(NAME);
  for (let month = -months; month <= 0; month += 1) {
    await pool.query(MONTH, [monthStart(month), monthStart(month + 1), pairs, pairs * (month + months)]);
    await follow();
  }
  await pool.query("VACUUM ANALYZE");
}

/** @returns Unix milliseconds @param month 0 = the present one */
function monthStart(month: number): number {
  const now = new Date();
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + month, 1);
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
