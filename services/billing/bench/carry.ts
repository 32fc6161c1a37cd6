// Seconds of the carry into the chain of steps, with 10,000 accounts, 20,000 keys and 2,000,000 ended holds. A writer of the version
// before measures the stop. The stop is its longest wait for an answer, which is then a refusal.
// node services/billing/bench/carry.ts [ended holds]
import { migrate, systemClock } from "@gr/runtime";
import pg from "pg";
import { createStepLedger } from "../src/step-ledger/step-ledger.ts";
import { asVersionBefore } from "../src/test/earlier/earlier-database-store.ts";
import { log, SCHEMA, startBenchDatabase } from "./bench-database.ts";

const ACCOUNTS = 10_000;
const OPEN_HOLDS = 2_000;
const CLAIMS = 100_000;
const endedHolds = Number(process.argv[2] ?? 2_000_000);

/** Holds end evenly over 90 days. Claims are of the latest ones. */
const FILL = [
  `INSERT INTO account (id, credits) SELECT gen_random_uuid(), 1000000000 FROM generate_series(1, ${ACCOUNTS})`,
  `INSERT INTO deposit (id, account_id, credits, status, source, created_at, changed_at)
   SELECT gen_random_uuid(), id, credits, 'COMPLETED', 'bench', now() - interval '91 days', now() - interval '91 days' FROM account`,
  `INSERT INTO entry (at, account_id, deposit_id, credits, kind) SELECT created_at, account_id, id, credits, 'deposit' FROM deposit`,
  `INSERT INTO spender (id, account_id, name, cap, period, active, created_at, window_no, window_start)
   SELECT gen_random_uuid(), a.id, 'key ' || n, 100000000, 'day', true, now() - interval '91 days', 90, date_trunc('day', now(), 'UTC')
     FROM account a, generate_series(1, 2) n`,
  `CREATE TEMP TABLE payer AS SELECT row_number() OVER () - 1 AS n, id, account_id FROM spender`,
  `CREATE INDEX ON payer (n)`,
  `INSERT INTO hold (id, account_id, spender_id, credits, placed_at, deadline_at, charge, cost, window_no, attempt, state, service, provider,
                     upstream_model, model, price_version)
   SELECT gen_random_uuid(), p.account_id, p.id, 500, at, at + interval '10 minutes', 124, 12345678901, 90 - (now()::date - at::date), 1, 'captured',
          'text-proxy', 'bench', 'upstream/chat', 'chat', 'v1'
     FROM generate_series(1, ${endedHolds}) i JOIN payer p ON p.n = i % ${2 * ACCOUNTS}
    CROSS JOIN LATERAL (SELECT now() - interval '90 days' * (1 - i / ${endedHolds}::float8) AS at) t`,
  `INSERT INTO entry (at, account_id, hold_id, credits, cost, kind, provider, attempt)
   SELECT placed_at, account_id, id, charge, cost, 'charge', provider, 1 FROM hold`,
  `INSERT INTO usage_daily (account_id, day, spender_id, model, provider, requests, charge, cost)
   SELECT account_id, (placed_at AT TIME ZONE 'UTC')::date, spender_id, model, provider, count(*), sum(charge), sum(cost) FROM hold GROUP BY 1, 2, 3, 4, 5`,
  `INSERT INTO idempotency (account_id, key, fingerprint, hold_id, claimed_at, content_type, body, credits, cost)
   SELECT account_id, sha256(uuid_send(id)), sha256('content'), id, greatest(placed_at, now() - interval '23 hours'), 'application/json',
          convert_to(repeat(id::text, 30), 'UTF8'), charge, cost
     FROM (SELECT * FROM hold ORDER BY placed_at DESC LIMIT ${CLAIMS}) latest`,
  `INSERT INTO hold (id, account_id, spender_id, credits, placed_at, deadline_at, window_no, attempt, state, service, provider, upstream_model, model,
                     price_version)
   SELECT gen_random_uuid(), account_id, id, 500, now(), now() + interval '10 minutes', 90, 1, 'open', 'text-proxy', 'bench', 'upstream/chat', 'chat', 'v1'
     FROM payer WHERE n < ${OPEN_HOLDS}`,
  `UPDATE spender s SET used = h.used, requests = h.requests, window_used = h.window_used, window_held = h.held
     FROM (SELECT spender_id, coalesce(sum(charge), 0) AS used, count(charge) AS requests, coalesce(sum(charge) FILTER (WHERE window_no = 90), 0) AS window_used,
                  coalesce(sum(credits) FILTER (WHERE state = 'open'), 0) AS held FROM hold GROUP BY 1) h WHERE h.spender_id = s.id`,
  `UPDATE account a SET debits = s.used, held = s.held
     FROM (SELECT account_id, sum(used) AS used, sum(window_held) AS held FROM spender GROUP BY 1) s WHERE s.account_id = a.id`,
  "VACUUM ANALYZE",
];

const postgres = await startBenchDatabase();
const before = await postgres.newPool(4);
await asVersionBefore((earlier) => migrate(before, earlier));
await before.end();
const db = await connect();
for (const statement of FILL) await db.query(statement);

const writer = await connect();
let longestMs = 0;
let isCarried = false;
const writing = writeUntilRefused();
const pool = await postgres.newPool(4);
const began = performance.now();
await migrate(pool, SCHEMA);
const seconds = (since: number) => ((performance.now() - since) / 1_000).toFixed(1);
console.log(`${endedHolds} ended holds: migrated in ${seconds(began)} s`);
await writing;
console.log(
  `longest wait of a write of the version before: ${(longestMs / 1_000).toFixed(1)} s, then refused: ${isCarried}`,
);

const events = {
  committed: () => undefined,
  triedAgain: () => undefined,
  refusedFromMemory: () => undefined,
};
const ledger = createStepLedger({ pool, clock: systemClock, freeLimit: null, log, events });
const followed = performance.now();
await ledger.follow();
console.log(`first round of the followers: ${seconds(followed)} s`);
const verified = performance.now();
const { differences, accounts, holds } = await ledger.verify(true);
console.log(
  `verified ${accounts} accounts with ${holds} holds in ${seconds(verified)} s: ${differences.length} differences`,
);
const { rows } = await db.query<{ steps: string; bytes: string }>(
  "SELECT count(*) AS steps, pg_size_pretty(pg_total_relation_size('step')) AS bytes FROM step",
);
console.log(`${rows[0]?.steps} steps, ${rows[0]?.bytes}`);
ledger.close();
await pool.end();
await Promise.all([db.end(), writer.end()]);
await postgres.stop();
process.exitCode = 0;

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: postgres.url, options: "-c search_path=billing" });
  await client.connect();
  return client;
}

async function writeUntilRefused(): Promise<void> {
  const account = "SELECT id FROM account LIMIT 1";
  while (!isCarried) {
    const asked = performance.now();
    try {
      await writer.query(`UPDATE account SET held = held WHERE id = (${account})`);
    } catch (error) {
      if ((error as { code?: string }).code !== "40001") throw error;
      isCarried = true;
    }
    longestMs = Math.max(longestMs, performance.now() - asked);
  }
}
