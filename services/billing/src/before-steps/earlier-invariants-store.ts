// Earlier invariants own the proof that the chain continues the tables before it: carried totals and holds are those of the tables, and
// no row claims the freedoms of a carried one later. Parameters $1 and $2 are the first and the last bucket.
import type { Pool } from "@gr/runtime";
import { placedAtOf } from "./earlier-hold-store.ts";

const IN_BUCKETS = (account: string) => `get_byte(uuid_send(${account}), 15) BETWEEN $1 AND $2`;

/** A hold ended before the chain. A look-up for each row, so the proof does not grow with the history. */
export const endedEarlier = (id: string, account: string) =>
  `coalesce((SELECT h.account_id = ${account} FROM hold h WHERE h.id = ${id} AND h.state <> 'open'), false)`;

/** A place of the alias s from before the chain was admitted by the limits and the credit of its time. */
export const isAdmittedHere = (step: string) => `NOT (${step}.kind = 2 AND ${step}.detail IS NOT NULL)`;

/** Accounts of the alias a without a sealed month: later steps of the others claim no freedom of a carried row. */
const isUnsealed = (account: string) =>
  `NOT EXISTS (SELECT FROM own o WHERE o.account_id = ${account} AND o.sealed_seq > 0)`;

/** Checks of the steps to prove. Each returns account and number of the steps that break the guarantee; a number can be null. */
export const earlierChecks = (steps: string): Readonly<Record<string, string>> => ({
  "carried totals are those before the chain": `SELECT a.id AS account_id, NULL::bigint AS seq
    FROM (SELECT * FROM account a WHERE ${IN_BUCKETS("id")} AND ${isUnsealed("a.id")}) a
    FULL JOIN (SELECT account_id AS id, sum(credits) AS credits, sum(charge) AS charge FROM ${steps} s WHERE kind = 16 GROUP BY 1) c
      USING (id) WHERE (c.credits, c.charge) IS DISTINCT FROM (a.credits, a.debits)
    UNION ALL
    SELECT coalesce(b.account_id, c.account_id), NULL FROM (
      SELECT account_id, used, requests, row_number() OVER (PARTITION BY account_id ORDER BY created_at, id) AS budget
        FROM spender a WHERE ${IN_BUCKETS("account_id")} AND ${isUnsealed("a.account_id")}) b
    FULL JOIN (
      SELECT account_id, budget1 AS budget, sum(charge) AS used, sum((detail::jsonb -> 'carriedWindow' ->> 'requests')::bigint) AS requests
        FROM ${steps} s WHERE kind = 16 AND budget1 IS NOT NULL GROUP BY 1, 2) c USING (account_id, budget)
     WHERE (coalesce(c.used, 0), coalesce(c.requests, 0)) IS DISTINCT FROM (b.used, b.requests)`,
  "carried holds are those that were open before the chain": `SELECT coalesce(h.account_id, p.account_id) AS account_id, p.seq
    FROM (SELECT * FROM hold a WHERE state = 'open' AND ${IN_BUCKETS("account_id")} AND ${isUnsealed("a.account_id")}) h
    FULL JOIN (SELECT s.*, ${placedAtOf("s")} AS placed_at FROM ${steps} s WHERE kind = 2 AND detail IS NOT NULL) p USING (id)
    WHERE (p.account_id, p.credits, p.attempt, p.placed_at)
      IS DISTINCT FROM (h.account_id, h.credits, h.attempt, floor(extract(epoch FROM h.placed_at) * 1000)::bigint)`,
  "carries are the first steps of an account": `SELECT s.account_id, s.seq FROM ${steps} s
    WHERE (s.kind = 16 OR s.kind = 2 AND s.detail IS NOT NULL) AND s.at IS DISTINCT FROM (
      SELECT c.at FROM step c WHERE c.bucket = s.bucket AND c.account_id = s.account_id AND c.seq = 2 AND c.kind = 16)`,
  "a late cost without a place is of a hold before the chain": `SELECT e.account_id, e.seq FROM ${steps} e
    WHERE e.kind = 8 AND e.place_seq IS NULL AND NOT ${endedEarlier("e.id", "e.account_id")}`,
});

const TOTALS = `SELECT
    (SELECT count(*) FROM hold WHERE state <> 'open') AS holds,
    coalesce(sum(cost) FILTER (WHERE kind = 'charge'), 0)::text AS "chargedCost",
    coalesce(sum(cost) FILTER (WHERE kind IN ('failed', 'late')), 0)::text AS "lostCost"
  FROM entry`;

export interface EarlierTotals {
  readonly holds: bigint;
  readonly chargedCost: string;
  readonly lostCost: string;
}

/** Totals before the chain that no step has. @param patiently adds the time limit of long statements */
export async function readEarlierTotals(
  pool: Pool,
  patiently: (text: string) => { readonly text: string },
): Promise<EarlierTotals> {
  const [totals] = (await pool.query<EarlierTotals>(patiently(TOTALS))).rows;
  if (totals === undefined) throw new Error("The totals before the chain have no row.");
  return totals;
}
