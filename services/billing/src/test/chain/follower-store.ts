// Statements of the tests of followers: their tables, and changes of the transactions of the server.
import type { Id } from "@gr/ledger";
import type { Pool, PoolClient } from "@gr/runtime";

/** Requests of an account in the sums. */
export async function usageRequests(pool: Pool, accountId: Id): Promise<number> {
  const text = "SELECT coalesce(sum(requests), 0)::int AS requests FROM usage_by_day WHERE account_id = $1";
  const { rows } = await pool.query<{ requests: number }>(text, [accountId]);
  return rows[0]?.requests ?? -1;
}

export async function openHoldRows(pool: Pool, accountId: Id): Promise<Id[]> {
  const text = "SELECT hold_id FROM open_hold WHERE account_id = $1 ORDER BY place_seq";
  return (await pool.query<{ hold_id: Id }>(text, [accountId])).rows.map(({ hold_id: id }) => id);
}

/** Charges in the sums of all accounts. */
export async function countFollowed(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ requests: number }>(
    "SELECT coalesce(sum(requests), 0)::int AS requests FROM usage_by_day",
  );
  return rows[0]?.requests ?? -1;
}

/** Rows of the cursors with their places in the table and their transactions. */
export async function cursorRows(client: PoolClient, reader: string, lock: boolean): Promise<unknown[]> {
  const text = `SELECT bucket, seen::text, ctid::text, xmin::text, xmax::text FROM step_cursor
    WHERE reader = $1 ORDER BY bucket ${lock ? "FOR UPDATE" : ""}`;
  return (await client.query(text, [reader])).rows;
}

/** Uses transaction ids, as other databases of the server do. */
export async function skipTransactions(pool: Pool, count: number): Promise<void> {
  for (let each = 0; each < count; each += 1) await pool.query("SELECT pg_current_xact_id()");
}

/** Changes transactions and cursors as if the server of before had used a billion transactions more. */
export async function moveServer(pool: Pool): Promise<void> {
  await pool.query("UPDATE step SET tx = tx + 1000000000");
  await pool.query(
    "UPDATE step_cursor SET seen = format('%1$s:%1$s:', pg_snapshot_xmax(seen)::text::bigint + 1000000000)::pg_snapshot",
  );
}
