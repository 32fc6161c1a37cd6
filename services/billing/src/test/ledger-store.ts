// What tests ask PostgreSQL beside what billing answers.
import type { Pool } from "@gr/runtime";
import type pg from "pg";

/** Cost of these accounts that no charge pays, in pico. */
export async function lostCost(db: { query: Pool["query"] }, accountIds: readonly string[]): Promise<bigint> {
  const text =
    "SELECT coalesce(sum(cost), 0)::text AS lost FROM step WHERE kind <> 5 AND account_id = ANY ($1)";
  const { rows } = await db.query<{ lost: string }>(text, [accountIds]);
  return BigInt(rows[0]?.lost ?? -1);
}

/** How many sessions wait for a lock. */
export async function lockWaiters(db: pg.Pool): Promise<number> {
  const { rowCount } = await db.query(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rowCount ?? 0;
}

/** Spenders that nobody put, all of one moment. */
export async function addSpenders(db: pg.Pool, accountId: string, count: number): Promise<void> {
  await db.query(
    `INSERT INTO spender (id, account_id, name, period, active, created_at, revision)
     SELECT gen_random_uuid(), $1, 'k' || i, 'lifetime', true, now(), 1 FROM generate_series(1, $2) i`,
    [accountId, count],
  );
}
