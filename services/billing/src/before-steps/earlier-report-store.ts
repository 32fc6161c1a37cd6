// Earlier-report store owns the money history from before the chain of steps: the entries of an account, and the rows of usage and
// costs by day for the statements of reports. The rows never change.
import type { Id } from "@gr/ledger";
import type { Pool } from "@gr/runtime";
import type { Entry, EntryFilter, EntryKind } from "../reports/report.ts";

/** Kinds that change the credit of an account, as the index has them. */
const CREDITS = "kind IN ('deposit', 'refund', 'adjustment', 'charge')";

const LATEST = `SELECT id FROM entry WHERE account_id = $1 AND ${CREDITS} ORDER BY id DESC LIMIT 1`;

/** The page is cut before holds, deposits and adjustments are looked up. The ids of an account's entries are in the order of time. */
const ENTRIES = `SELECT e.id, e.kind, e.at, e.hold_id AS "holdId", h.model, h.spender_id AS "spenderId", d.source, a.reason,
    coalesce(e.deposit_id, e.adjustment_id) AS "bookingId",
    CASE WHEN e.kind IN ('charge', 'refund') THEN -e.credits ELSE e.credits END AS credits
  FROM (
    SELECT * FROM entry
     WHERE account_id = $1 AND ${CREDITS}
       AND ($2::entry_kind IS NULL OR kind = $2) AND ($3::timestamptz IS NULL OR at >= $3)
       AND ($4::timestamptz IS NULL OR at < $4) AND ($5::bigint IS NULL OR id < $5)
     ORDER BY id DESC LIMIT $6
  ) e
  LEFT JOIN hold h ON h.id = e.hold_id
  LEFT JOIN deposit d ON d.id = e.deposit_id
  LEFT JOIN adjustment a ON a.id = e.adjustment_id
  ORDER BY e.id DESC`;

/** Rows of \`usage_by_day\`, with those of the days before the chain. */
export const USAGE = `(
    SELECT bucket, account_id, budget_id, day, model, provider, requests, charge FROM usage_by_day
    UNION ALL
    SELECT get_byte(uuid_send(account_id), 15), account_id, spender_id, day, model, provider, requests, charge FROM usage_daily)`;

/** Latest day of the alias b, a budget, before the chain. */
export const LATEST_DAY =
  "(SELECT d.day FROM usage_daily d WHERE d.spender_id = b.id AND d.account_id = $2 ORDER BY d.day DESC LIMIT 1)";

/** Days are compared as instants, so the BRIN index of the entries excludes older blocks. */
export const COSTS = `SELECT (e.at AT TIME ZONE 'UTC')::date AS day, e.provider,
    CASE WHEN e.attempt = h.attempt THEN h.upstream_model ELSE '' END AS upstream_model, e.cost::numeric AS cost, 1::bigint AS bookings,
    CASE e.kind WHEN 'charge' THEN e.credits ELSE 0 END AS charged, CASE e.kind WHEN 'charge' THEN 0 ELSE e.cost END::numeric AS lost
  FROM entry e LEFT JOIN hold h ON h.id = e.hold_id
 WHERE e.at >= $2::date::timestamp AT TIME ZONE 'UTC' AND e.at < ($3::date + 1)::timestamp AT TIME ZONE 'UTC'
   AND e.kind IN ('charge', 'failed', 'late') AND e.provider = ANY ($4::text[])`;

/** Steps of an account are listed with the numbers after this one. @returns 0 for an account without earlier entries */
export async function latestEarlierEntry(pool: Pool, accountId: Id): Promise<bigint> {
  return (await pool.query<{ id: bigint }>(LATEST, [accountId])).rows[0]?.id ?? 0n;
}

/** @param limit rows to return, at most. @returns the newest first */
export async function listEarlierEntries(
  pool: Pool,
  { accountId, kind, from, until, after }: EntryFilter,
  limit: number,
): Promise<Entry[]> {
  const values = [
    accountId,
    (kind ?? null) satisfies EntryKind | null,
    from ?? null,
    until ?? null,
    after ?? null,
  ];
  return (await pool.query<Entry>(ENTRIES, [...values, limit])).rows;
}
