// Sums store owns the sums that reports read: usage by day, costs by day, activity, and the ids of numbered budgets. A follower adds
// each committed step once.
import { ACTIVITY_COLUMNS, addSteppedActivity, CLEAR_ACTIVITY } from "../activity/roll-up-store.ts";
import { EARLIER_UPSTREAM_MODEL } from "../before-steps/earlier-hold-store.ts";
import { IN_RANGE, rangeValues } from "./cursor-store.ts";
import type { StepClient, StepReader } from "./follower.ts";
import type { StepRange } from "./step-range.ts";

const DAY = "(to_timestamp(r.at / 1000) AT TIME ZONE 'UTC')::date";

/** Each snapshot shows the first steps of an account without a gap, so budgets arrive in the order of their numbers. */
const ADD_BUDGETS = `INSERT INTO budget_number (bucket, account_id, budget, budget_id)
  SELECT n.bucket, n.account_id,
    coalesce((SELECT k.budget FROM budget_number k WHERE k.bucket = n.bucket AND k.account_id = n.account_id
               ORDER BY k.budget DESC LIMIT 1), 0)
      + row_number() OVER (PARTITION BY n.bucket, n.account_id ORDER BY n.seq), n.id
    FROM (SELECT s.bucket, s.account_id, s.id, min(s.seq) AS seq FROM step s WHERE ${IN_RANGE} AND s.kind = 14 GROUP BY 1, 2, 3) n
   WHERE NOT EXISTS (SELECT FROM budget_number k WHERE k.bucket = n.bucket AND k.account_id = n.account_id AND k.budget_id = n.id)`;

const PLACED_MODEL = "CASE WHEN p.attempt = s.attempt THEN p.upstream_model ELSE '' END";

/**
 * Name of the model of the attempt in \`s\` at its provider: a place or a next attempt has named it. Empty if another attempt
 * followed. Searches begin at the place, near which an attempt begins and ends. The place of a hold from before the chain names its
 * attempt at that time.
 */
const UPSTREAM_MODEL = `CASE
    WHEN s.kind = 8 AND s.place_seq IS NULL THEN ${EARLIER_UPSTREAM_MODEL}
    WHEN s.kind = 4 OR s.kind = 8 AND s.attempt < (
      SELECT x.attempt FROM step x
       WHERE x.bucket = s.bucket AND x.account_id = s.account_id AND x.seq > s.place_seq AND x.seq < s.seq AND x.id = s.id
         AND (x.kind IN (5, 6, 7) OR x.kind = 4 AND x.attempt > s.attempt) ORDER BY x.seq LIMIT 1) THEN ''
    WHEN s.attempt = 1 THEN ${PLACED_MODEL}
    ELSE coalesce((
      SELECT x.upstream_model FROM step x
       WHERE x.bucket = s.bucket AND x.account_id = s.account_id AND x.seq > s.place_seq AND x.seq < s.seq AND x.id = s.id
         AND x.kind = 4 AND x.attempt = s.attempt ORDER BY x.seq LIMIT 1), ${PLACED_MODEL})
  END`;

/**
 * One search for the place of each step serves all sums. Outer joins: a charge or an end without its place or its budget is an error of a
 * column, and no silent loss.
 */
const ADD_SUMS = `WITH r AS MATERIALIZED (
    SELECT s.bucket, s.account_id, s.at, s.kind, s.charge, s.cost, s.billed_by, n.budget_id, p.model, p.service, ${ACTIVITY_COLUMNS},
      CASE WHEN s.billed_by IS NOT NULL THEN ${UPSTREAM_MODEL} END AS upstream_model
    FROM step s
    LEFT JOIN step p ON p.bucket = s.bucket AND p.account_id = s.account_id AND p.seq = s.place_seq
    LEFT JOIN budget_number n ON n.bucket = s.bucket AND n.account_id = s.account_id AND n.budget = s.budget1
   WHERE ${IN_RANGE} AND (s.kind IN (5, 6, 7) OR s.billed_by IS NOT NULL)
  ), usage AS (
    INSERT INTO usage_by_day AS u (bucket, account_id, day, budget_id, model, provider, requests, charge, cost)
    SELECT r.bucket, r.account_id, ${DAY}, r.budget_id, r.model, r.billed_by, count(*), sum(r.charge), sum(r.cost)
      FROM r WHERE r.kind = 5 GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    ON CONFLICT (bucket, account_id, day, budget_id, model, provider) DO UPDATE
      SET requests = u.requests + excluded.requests, charge = u.charge + excluded.charge, cost = u.cost + excluded.cost
  ), costs AS (
    INSERT INTO cost_by_day AS c (bucket, day, provider, upstream_model, cost, bookings, charged, lost)
    SELECT r.bucket, ${DAY}, r.billed_by, r.upstream_model, sum(r.cost), count(*), sum(r.charge),
           coalesce(sum(r.cost) FILTER (WHERE r.kind <> 5), 0)
      FROM r WHERE r.billed_by IS NOT NULL GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (bucket, day, provider, upstream_model) DO UPDATE
      SET cost = c.cost + excluded.cost, bookings = c.bookings + excluded.bookings, charged = c.charged + excluded.charged,
          lost = c.lost + excluded.lost
  )${addSteppedActivity("r")}`;

const TABLES = ["budget_number", "usage_by_day", "cost_by_day"];

export const sumsReader: StepReader = {
  name: "sums",
  apply: async (client: StepClient, buckets: readonly number[], range: StepRange) => {
    const values = rangeValues(buckets, range);
    await client.query(ADD_BUDGETS, values);
    await client.query(ADD_SUMS, values);
  },
  clear: async (client, buckets) => {
    for (const table of TABLES) {
      await client.query(`DELETE FROM ${table} WHERE bucket = ANY ($1::int[])`, [buckets]);
    }
    await client.query(CLEAR_ACTIVITY, [buckets]);
  },
};
