// Open-hold store owns the list of open holds, a copy for resolvers and lists. It has a hold while no committed end of the hold is
// applied; a lease is decided by the ledger itself.
import type { Id } from "@gr/ledger";
import type { Pool } from "@gr/runtime";
import { placedAtOf } from "../before-steps/earlier-hold-store.ts";
import type { OpenHolds } from "../holds/hold.ts";
import { IN_RANGE, rangeValues } from "./cursor-store.ts";
import type { StepClient, StepReader } from "./follower.ts";
import type { StepRange } from "./step-range.ts";

/** A hold that begins and ends in one range is never written. */
const APPLY = `WITH changed AS (
    SELECT s.bucket, s.account_id, coalesce(s.place_seq, s.seq) AS place_seq, bool_or(s.kind = 2) AS is_new,
      bool_or(s.kind IN (5, 6, 7)) AS has_ended, max(s.deadline_at) FILTER (WHERE s.kind IN (2, 3, 4)) AS deadline_at,
      max(s.deadline_at) FILTER (WHERE s.kind = 9) AS leased_until
      FROM step s WHERE ${IN_RANGE} AND s.kind IN (2, 3, 4, 5, 6, 7, 9) GROUP BY 1, 2, 3
  ), ended AS (
    DELETE FROM open_hold o USING changed c
     WHERE o.bucket = c.bucket AND o.account_id = c.account_id AND o.place_seq = c.place_seq AND c.has_ended AND NOT c.is_new
  ), moved AS (
    UPDATE open_hold o SET deadline_at = greatest(o.deadline_at, c.deadline_at), leased_until = greatest(o.leased_until, c.leased_until)
      FROM changed c
     WHERE o.bucket = c.bucket AND o.account_id = c.account_id AND o.place_seq = c.place_seq AND NOT c.has_ended AND NOT c.is_new
  )
  INSERT INTO open_hold (bucket, account_id, place_seq, hold_id, placed_at, deadline_at, leased_until, service)
  SELECT c.bucket, c.account_id, c.place_seq, p.id, ${placedAtOf("p")}, c.deadline_at, coalesce(c.leased_until, 0), p.service
    FROM changed c JOIN step p ON p.bucket = c.bucket AND p.account_id = c.account_id AND p.seq = c.place_seq
   WHERE c.is_new AND NOT c.has_ended ORDER BY 1, 2, 3`;

export const openHoldsReader: StepReader = {
  name: "holds",
  apply: async (client: StepClient, buckets: readonly number[], range: StepRange) => {
    await client.query(APPLY, rangeValues(buckets, range));
  },
  clear: async (client, buckets) => {
    await client.query("DELETE FROM open_hold WHERE bucket = ANY ($1::int[])", [buckets]);
  },
};

/** A hold of an account. */
export interface NamedHold {
  readonly accountId: Id;
  readonly holdId: Id;
}

/** Holds past their deadline without a valid lease, the most overdue first. */
const OVERDUE = `SELECT account_id AS "accountId", hold_id AS "holdId" FROM open_hold
  WHERE service = $1 AND deadline_at <= $2 AND leased_until <= $2 ORDER BY deadline_at, hold_id LIMIT $3`;

const COUNT = `SELECT service, count(*)::int AS open, greatest(0, $1 - min(deadline_at))::float8 / 1000 AS "overdueSeconds"
  FROM open_hold GROUP BY service`;

/** @param now Unix milliseconds */
export async function listOverdue(
  pool: Pool,
  service: string,
  now: number,
  limit: number,
): Promise<NamedHold[]> {
  return (await pool.query<NamedHold>(OVERDUE, [service, now, limit])).rows;
}

/** @param now Unix milliseconds */
export async function countOpenHolds(pool: Pool, now: number): Promise<OpenHolds[]> {
  return (await pool.query<OpenHolds>(COUNT, [now])).rows;
}
