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

/** Cost of one attempt of a hold as a step booked it. */
export interface Booking {
  readonly attempt: number;
  readonly kind: "charge" | "failed" | "late";
  readonly provider: string;
  readonly cost: bigint;
}

/** By attempt, then kind. */
export async function bookingsOf(db: { query: Pool["query"] }, holdId: string): Promise<Booking[]> {
  const text = `SELECT attempt - (kind = 4)::int AS attempt, billed_by AS provider, cost,
      CASE WHEN kind = 5 THEN 'charge' WHEN kind IN (7, 8) THEN 'late' ELSE 'failed' END AS kind
    FROM step WHERE id = $1 AND billed_by IS NOT NULL ORDER BY 1, 4, seq`;
  return (await db.query<Booking>(text, [holdId])).rows;
}
