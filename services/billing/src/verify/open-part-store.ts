// Open part owns the rows that a proof reads: the steps behind the latest seal of each account, and the facts of that seal about earlier
// ones. Each part of a text follows the accounts by key, so its time does not grow with the sealed months.
import {
  budgetsIn,
  holdsIn,
  TOTAL_HELD,
  TOTAL_USED,
  TOTAL_WINDOW,
  TOTALS_OF_BUDGET,
} from "../seals/seal-content-store.ts";

export const OWN = "bucket BETWEEN $1 AND $2";

/** Accounts of a slice. `sealed_seq` and `sealed_until` are 0 without a seal, and in a proof of everything. */
export const ACCOUNTS = `own AS MATERIALIZED (
    SELECT * FROM unnest($4::int[], $5::uuid[], $6::bigint[], $7::bigint[]) AS o (bucket, account_id, sealed_seq, sealed_until)),
  moment AS (SELECT $1::int, $2::int, $3::bigint)`;

/** Rows of these accounts by an index. OFFSET 0 keeps the planner from a join with the whole table. */
const eachOf = (table: string, where: string) => `CROSS JOIN LATERAL (
    SELECT * FROM ${table} t WHERE t.bucket = o.bucket AND t.account_id = o.account_id AND ${where} OFFSET 0)`;

/** Steps to prove. */
export const STEP = `(SELECT t.*, o.sealed_seq, o.sealed_until FROM own o ${eachOf("step", "t.seq > o.sealed_seq")} t)`;

/** Latest seals. */
export const BASE = `(SELECT z.* FROM own o ${eachOf("seal", "t.ends_at = o.sealed_until")} z)`;

/** Numbers of rows from a seal: before all steps, in the order of the budgets. */
const NEGATIVE = "(b.budget - 1000000000)::bigint";

/** Budgets at the seal. */
export const BASE_BUDGET = `(SELECT z.bucket, z.account_id, ${NEGATIVE} AS seq, b.* FROM ${BASE} z CROSS JOIN LATERAL ${budgetsIn("z.content")})`;

/** Totals of budgets at the seal. */
export const BASE_TOTAL = `(SELECT b.bucket, b.account_id, b.budget, ${TOTAL_WINDOW} AS win, ${TOTAL_USED} AS used, ${TOTAL_HELD} AS held
    FROM ${BASE_BUDGET} b CROSS JOIN LATERAL ${TOTALS_OF_BUDGET})`;

const BASE_HOLD = `(SELECT z.bucket, z.account_id, z.day_seq, h.* FROM ${BASE} z CROSS JOIN LATERAL ${holdsIn("z.content")})`;
const link = (index: number) => `(h.chain ->> ${index})::int`;

/** Columns of steps of holds. */
const COLUMNS = `bucket, account_id, seq, kind, tx, id, place_seq, at, credits, charge, deadline_at, claim, model, detail,
    budget1, window1, budget2, window2, budget3, window3, budget4, window4`;

/** Holds that were open at the seal, each as one place of its size at that time. */
const basePlaces = (
  where: string,
) => `SELECT h.bucket, h.account_id, h.seq, 2, 0, h.id, NULL, h."placedAt", h.credits, 0, h."deadlineAt",
    decode(h.claim, 'hex'), h.model, NULL, ${[0, 1, 2, 3, 4, 5, 6, 7].map(link).join(", ")} FROM ${BASE_HOLD} h WHERE ${where}`;

/** Steps to prove, and the holds and leases that were open at the seal. */
export const HOLD_STEP = `(SELECT ${COLUMNS} FROM ${STEP} s UNION ALL ${basePlaces("true")}
    UNION ALL SELECT h.bucket, h.account_id, NULL, 9, 0, h.id, h.seq, NULL, 0, 0, h."leasedUntil", NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM ${BASE_HOLD} h WHERE h."leasedUntil" > 0)`;

const LAST_DAY = `SELECT ${COLUMNS} FROM (
    SELECT t.* FROM (SELECT bucket, account_id, day_seq, last_seq FROM ${BASE} z) o ${eachOf("step", "t.seq > o.day_seq AND t.seq <= o.last_seq")} t) s`;

/** Steps to prove, and the steps of the last day before the seal: an Idempotency-Key is valid for a day. */
export const DAY_STEP = `(SELECT ${COLUMNS} FROM ${STEP} s UNION ALL ${LAST_DAY})`;

/** The same, and the holds among the older ones that were open at the seal. */
export const CLAIMING_STEP = `(SELECT * FROM ${DAY_STEP} d UNION ALL ${basePlaces("h.seq <= h.day_seq")})`;

/** Sums of the days behind the seals. */
export const OPEN_USAGE = `(SELECT u.* FROM own o ${eachOf("usage_by_day", "t.day >= (to_timestamp(o.sealed_until / 1000) AT TIME ZONE 'UTC')::date")} u)`;

/** Time since which all steps of a bucket are to be proved. */
export const OPEN_BUCKET = `(SELECT n AS bucket, coalesce(max(o.sealed_until), 0) AS since
    FROM generate_series($1::int, $2::int) n LEFT JOIN own o ON o.bucket = n GROUP BY 1)`;
