// Chain invariants own an independent proof of the ledger: window functions over the rows, without the code that decides or applies
// steps. Buckets are proved in slices, each in a snapshot of its own, so no snapshot is open for long.
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";
import { placedAtOf } from "../before-steps/earlier-hold-store.ts";
import {
  EARLIER_CHECKS,
  endedEarlier,
  isAdmittedHere,
  readEarlierTotals,
} from "../before-steps/earlier-invariants-store.ts";
import type { Difference, LedgerReport } from "./ledger-report.ts";

/** Rows of one slice, approximately. */
const SLICE_ROWS = 500_000;
const BUCKETS = 256;
/** Differences of one guarantee in one slice that are reported. */
const MOST_DIFFERENCES = 100;
/** Limit of one statement. */
const TIMEOUT_MS = 600_000;

/** Without statistics the planner takes an account for few rows, and a nested loop over its steps never ends. */
const PLANNER = "SET LOCAL enable_nestloop = off; SET LOCAL jit = off";

const OWN = "bucket BETWEEN $1 AND $2";
const STEP = `(SELECT * FROM step WHERE ${OWN})`;

/** Budgets of each row, one row each. */
const LEVELS = `CROSS JOIN LATERAL (VALUES (1, budget1, window1, used1, held1), (2, budget2, window2, used2, held2),
    (3, budget3, window3, used3, held3), (4, budget4, window4, used4, held4)) AS x (level, budget, win, used, budget_held)`;
const IN_ORDER = "(PARTITION BY bucket, account_id ORDER BY seq)";
const SAME_ACCOUNT = "p.bucket = e.bucket AND p.account_id = e.account_id";

/** Definitions of budgets, with the number of each budget, its changes of period so far, and the steps in which it was valid. */
const DEFINITIONS = `definition AS (
    SELECT account_id, seq, d ->> 'id' AS budget_id, d ->> 'parentId' AS parent_id, d ->> 'level' AS level, (d -> 'limit' ->> '$int')::bigint AS lim, d ->> 'period' AS period,
      dense_rank() OVER (PARTITION BY account_id ORDER BY first_seq) AS budget,
      lead(seq) OVER (PARTITION BY account_id, d ->> 'id' ORDER BY seq) AS until_seq,
      count(*) FILTER (WHERE d ->> 'period' <> period0) OVER (PARTITION BY account_id, d ->> 'id' ORDER BY seq) AS periods
     FROM (SELECT account_id, seq, d, min(seq) OVER own AS first_seq, lag(d ->> 'period') OVER (own ORDER BY seq) AS period0
             FROM (SELECT account_id, seq, detail::jsonb -> 'definition' AS d FROM ${STEP} r WHERE kind = 14) raw
           WINDOW own AS (PARTITION BY account_id, d ->> 'id')) firsts)`;
const IS_VALID = `d.account_id = s.account_id AND d.budget = x.budget AND d.seq < s.seq AND (d.until_seq IS NULL OR d.until_seq > s.seq)`;

/** Claims and answers that are older may be swept. */
const LIFETIME_AGO = "$3::bigint - 86400000";

/** Steps that a reader of the follower has applied, of the alias s. */
const applied = (reader: string) => `EXISTS (SELECT FROM step_cursor c
    WHERE c.bucket = s.bucket AND c.reader = '${reader}' AND pg_visible_in_snapshot(s.tx::text::xid8, c.seen))`;
const DAY = "(to_timestamp(s.at / 1000) AT TIME ZONE 'UTC')::date";

/** Each returns account and number of the steps that break the guarantee; a number can be null. */
const CHECKS: Readonly<Record<string, string>> = {
  "numbers without a gap, times that never fall": `SELECT account_id, seq FROM (
    SELECT account_id, seq, at, lag(seq, 1, 0::bigint) OVER w AS seq0, lag(at, 1, 0::bigint) OVER w AS at0
      FROM ${STEP} s WINDOW w AS ${IN_ORDER}) x WHERE seq <> seq0 + 1 OR at < at0`,
  "totals of accounts": `SELECT account_id, seq FROM (
    SELECT account_id, seq, kind, credits, charge, credited, debited, held, lag(credited, 1, 0::bigint) OVER w AS credited0,
      lag(debited, 1, 0::bigint) OVER w AS debited0, lag(held, 1, 0::bigint) OVER w AS held0
      FROM ${STEP} s WINDOW w AS ${IN_ORDER}) x
    WHERE credited <> credited0 + CASE WHEN kind IN (11, 12, 13, 16) THEN credits ELSE 0 END
       OR debited <> debited0 + charge OR held <> held0 + CASE WHEN kind IN (11, 12, 13, 16) THEN 0 ELSE credits END`,
  "totals of each budget and window": `SELECT account_id, seq FROM (
    SELECT account_id, seq, charge, credits, used, budget_held, lag(used, 1, 0::bigint) OVER w AS used0,
      lag(budget_held, 1, 0::bigint) OVER w AS held0
      FROM ${STEP} s ${LEVELS} WHERE budget IS NOT NULL
      WINDOW w AS (PARTITION BY bucket, account_id, budget, win ORDER BY seq)) x
    WHERE used <> used0 + charge OR budget_held <> held0 + credits`,
  "windows of an end are those of its place": `SELECT e.account_id, e.seq FROM ${STEP} e JOIN step p
      ON ${SAME_ACCOUNT} AND p.seq = e.place_seq
    WHERE p.kind <> 2 OR p.id <> e.id OR (e.kind IN (3, 5, 6, 7) AND
      (p.budget1, p.window1, p.budget2, p.window2, p.budget3, p.window3, p.budget4, p.window4)
        IS DISTINCT FROM (e.budget1, e.window1, e.budget2, e.window2, e.budget3, e.window3, e.budget4, e.window4))`,
  "steps of holds have a place": `SELECT e.account_id, e.seq FROM ${STEP} e WHERE kind IN (3, 4, 5, 6, 7, 8, 9, 10)
    AND NOT (kind = 8 AND place_seq IS NULL)
    AND NOT EXISTS (SELECT FROM step p WHERE ${SAME_ACCOUNT} AND p.seq = e.place_seq AND p.kind = 2)`,
  "holds end once": `SELECT account_id, place_seq AS seq FROM ${STEP} e WHERE kind IN (5, 6, 7)
    GROUP BY account_id, place_seq HAVING count(*) > 1`,
  "places, deposits, refunds and adjustments begin once": `SELECT min(account_id::text)::uuid AS account_id, min(seq) AS seq
    FROM ${STEP} b WHERE kind IN (2, 11, 12, 13) GROUP BY bucket, id, kind HAVING count(*) > 1`,
  "no change after an end, no end of another size, no charge above a hold": `SELECT account_id, place AS seq FROM (
    SELECT account_id, place, max(seq) FILTER (WHERE kind IN (5, 6, 7)) AS end_seq, max(seq) FILTER (WHERE kind <> 8) AS last_seq,
      sum(credits) AS left_over, sum(credits) FILTER (WHERE kind IN (2, 3)) AS size, sum(charge) AS charge
     FROM (SELECT *, coalesce(place_seq, seq) AS place FROM ${STEP} s WHERE kind BETWEEN 2 AND 10) x GROUP BY account_id, place) h
    WHERE end_seq IS NOT NULL AND (last_seq <> end_seq OR left_over <> 0 OR charge > size)`,
  "open holds are the latest total": `SELECT account_id, l.seq FROM (
      SELECT DISTINCT ON (bucket, account_id) account_id, seq, held FROM ${STEP} s ORDER BY bucket, account_id, seq DESC) l
    LEFT JOIN (SELECT account_id, sum(credits) AS held FROM ${STEP} s WHERE kind IN (2, 3, 5, 6, 7) GROUP BY 1) h USING (account_id)
    WHERE l.held <> coalesce(h.held, 0)`,
  "no balance is below zero by a hold": `SELECT account_id, seq FROM ${STEP} s
    WHERE kind IN (2, 3) AND credits > 0 AND credited - debited < held AND ${isAdmittedHere("s")}`,
  "no limit is overrun at any level": `WITH ${DEFINITIONS} SELECT s.account_id, s.seq FROM ${STEP} s ${LEVELS} JOIN definition d
      ON ${IS_VALID} WHERE s.kind IN (2, 3) AND s.credits > 0 AND x.used + x.budget_held > d.lim AND ${isAdmittedHere("s")}`,
  "holds count in the budget of their place and in each one above it": `WITH ${DEFINITIONS} SELECT s.account_id, s.seq FROM ${STEP} s
    CROSS JOIN LATERAL (VALUES (budget1, budget2), (budget2, budget3), (budget3, budget4), (budget4, NULL)) AS x (budget, above)
    JOIN definition d ON ${IS_VALID}
    LEFT JOIN (SELECT DISTINCT account_id, budget_id, budget FROM definition) p
      ON p.account_id = s.account_id AND p.budget_id = d.parent_id
    LEFT JOIN (SELECT DISTINCT account_id, budget FROM definition WHERE level = 'member') m
      ON m.account_id = s.account_id AND m.budget = x.above
    WHERE s.kind = 2 AND p.budget IS DISTINCT FROM x.above AND ${isAdmittedHere("s")}
      AND NOT (m.budget IS NOT NULL AND d.parent_id IS NULL AND d.budget_id = s.account_id::text)`,
  "the budget above a budget never changes": `WITH ${DEFINITIONS} SELECT account_id, seq FROM (
      SELECT account_id, seq, parent_id, lag(parent_id) OVER (PARTITION BY account_id, budget_id ORDER BY seq) AS parent0 FROM definition) x
    WHERE parent0 IS NOT NULL AND parent_id IS DISTINCT FROM parent0`,
  "windows turn with a new day, and only then": `WITH ${DEFINITIONS}, placed AS (
    SELECT s.account_id, x.budget, x.win, d.periods, s.seq,
      CASE WHEN s.kind = 16
           THEN to_timestamp((s.detail::jsonb -> 'carriedWindow' ->> 'windowStart')::bigint / 1000.0) AT TIME ZONE 'UTC'
           WHEN d.period <> 'lifetime' THEN date_trunc(d.period, to_timestamp(s.at / 1000.0) AT TIME ZONE 'UTC') END AS start
      FROM ${STEP} s ${LEVELS} JOIN definition d ON ${IS_VALID}
     WHERE s.kind = 2 AND ${isAdmittedHere("s")} OR s.kind = 16 AND x.win = 2)
    SELECT account_id, seq FROM (
      SELECT *, lag(win) OVER w AS win0, lag(start) OVER w AS start0, lag(periods) OVER w AS periods0 FROM placed
      WINDOW w AS (PARTITION BY account_id, budget ORDER BY seq)) x
    WHERE win < win0 + (periods - periods0) OR (periods = periods0 AND (win = win0) <> (start IS NOT DISTINCT FROM start0))`,
  "a key has one charge within a day": `SELECT account_id, seq FROM (
    SELECT p.account_id, p.seq, p.at, lag(p.at) OVER (PARTITION BY p.account_id, p.claim ORDER BY p.seq) AS at0
      FROM (SELECT r.bucket, r.account_id, r.seq, r.kind, r.claim, ${placedAtOf("r")} AS at FROM ${STEP} r) p JOIN step e ON ${SAME_ACCOUNT} AND e.place_seq = p.seq AND e.kind = 5
     WHERE p.kind = 2 AND p.claim IS NOT NULL) x WHERE at < at0 + 86400000`,
  "a key has one open hold": `SELECT account_id, seq FROM (
    SELECT account_id, seq, end_seq, lead(seq) OVER (PARTITION BY account_id, claim ORDER BY seq) AS next_seq FROM (
      SELECT p.account_id, p.claim, p.seq, e.seq AS end_seq FROM ${STEP} p LEFT JOIN ${STEP} e
        ON ${SAME_ACCOUNT} AND e.place_seq = p.seq AND e.kind IN (5, 6, 7)
       WHERE p.kind = 2 AND p.claim IS NOT NULL) x) y WHERE next_seq IS NOT NULL AND (end_seq IS NULL OR end_seq > next_seq)`,
  "claims are those of their places, in their order": `WITH both_sides AS (
    SELECT account_id, key, hold_id, c.generation, p.seq, p.at, p.is_open
      FROM (SELECT account_id, key, hold_id, generation FROM claim WHERE ${OWN}) c
      FULL JOIN (
        SELECT p.account_id, p.seq, ${placedAtOf("p")} AS at, p.claim AS key, p.id AS hold_id, e.seq IS NULL AS is_open
          FROM ${STEP} p LEFT JOIN ${STEP} e ON ${SAME_ACCOUNT} AND e.place_seq = p.seq AND e.kind IN (5, 6, 7)
         WHERE p.kind = 2 AND p.claim IS NOT NULL) p USING (account_id, key, hold_id))
    SELECT account_id, seq FROM both_sides WHERE (seq IS NULL AND NOT ${endedEarlier("hold_id", "both_sides.account_id")})
      OR (generation IS NULL AND (is_open OR at > ${LIFETIME_AGO}))
    UNION ALL
    SELECT account_id, seq FROM (
      SELECT account_id, seq, generation, lag(generation) OVER (PARTITION BY account_id, key ORDER BY seq) AS generation0
        FROM both_sides WHERE seq IS NOT NULL AND generation IS NOT NULL) x WHERE generation <= generation0`,
  "kept answers are those of their steps": `SELECT coalesce(a.account_id, s.account_id) AS account_id, s.seq
    FROM (SELECT * FROM kept_answer WHERE ${OWN}) a
    FULL JOIN (SELECT * FROM ${STEP} k WHERE kind = 10) s ON s.bucket = a.bucket AND s.account_id = a.account_id AND s.id = a.hold_id
    WHERE s.id IS NULL OR s.at <> a.kept_at OR (a.hold_id IS NULL AND s.at > ${LIFETIME_AGO})`,
  "states equal their step": `SELECT a.account_id, a.seq FROM (SELECT * FROM account_state WHERE ${OWN}) a
    LEFT JOIN step s USING (bucket, account_id, seq)
    WHERE (a.at, a.credited, a.debited, a.held) IS DISTINCT FROM (s.at, s.credited, s.debited, s.held)`,
  "numbers of budgets are those of their first steps": `SELECT account_id, f.seq FROM (
      SELECT account_id, id AS budget_id, min(seq) AS seq, row_number() OVER (PARTITION BY account_id ORDER BY min(seq)) AS budget
        FROM ${STEP} s WHERE kind = 14 AND ${applied("sums")} GROUP BY 1, 2) f
    FULL JOIN (SELECT account_id, budget_id, budget FROM budget_number WHERE ${OWN}) n USING (account_id, budget_id)
    WHERE f.budget IS DISTINCT FROM n.budget`,
  "usage by day is the sum of its charges": `SELECT account_id, NULL::bigint AS seq FROM (
      SELECT s.account_id, ${DAY} AS day, n.budget_id, p.model, s.billed_by AS provider, count(*) AS requests, sum(s.charge) AS charge,
             sum(s.cost) AS cost
        FROM ${STEP} s JOIN step p ON p.bucket = s.bucket AND p.account_id = s.account_id AND p.seq = s.place_seq
        LEFT JOIN budget_number n ON n.bucket = s.bucket AND n.account_id = s.account_id AND n.budget = s.budget1
       WHERE s.kind = 5 AND ${applied("sums")} GROUP BY 1, 2, 3, 4, 5) e
    FULL JOIN (SELECT * FROM usage_by_day WHERE ${OWN}) u USING (account_id, day, budget_id, model, provider)
    WHERE (u.requests, u.charge, u.cost) IS DISTINCT FROM (e.requests, e.charge, e.cost)`,
  "costs by day are the sum of their bookings": `SELECT NULL::uuid AS account_id, NULL::bigint AS seq FROM (
      SELECT s.bucket, ${DAY} AS day, s.billed_by AS provider, sum(s.cost) AS cost, count(*) AS bookings,
             sum(s.charge) AS charged, coalesce(sum(s.cost) FILTER (WHERE s.kind <> 5), 0) AS lost
        FROM ${STEP} s WHERE s.billed_by IS NOT NULL AND ${applied("sums")} GROUP BY 1, 2, 3) e
    FULL JOIN (
      SELECT bucket, day, provider, sum(cost) AS cost, sum(bookings) AS bookings, sum(charged) AS charged, sum(lost) AS lost
        FROM cost_by_day WHERE ${OWN} GROUP BY 1, 2, 3) c
      USING (bucket, day, provider)
    WHERE (c.cost, c.bookings, c.charged, c.lost) IS DISTINCT FROM (e.cost, e.bookings, e.charged, e.lost)`,
  "the list of open holds is that of the steps": `SELECT account_id, place_seq AS seq FROM (
      SELECT account_id, coalesce(place_seq, seq) AS place_seq, max(deadline_at) FILTER (WHERE kind IN (2, 3, 4)) AS deadline_at,
             coalesce(max(deadline_at) FILTER (WHERE kind = 9), 0) AS leased_until
        FROM ${STEP} s WHERE kind IN (2, 3, 4, 5, 6, 7, 9) AND ${applied("holds")}
       GROUP BY 1, 2 HAVING NOT bool_or(kind IN (5, 6, 7))) e
    FULL JOIN (SELECT * FROM open_hold WHERE ${OWN}) o USING (account_id, place_seq)
    WHERE (o.deadline_at, o.leased_until) IS DISTINCT FROM (e.deadline_at, e.leased_until)`,
  ...EARLIER_CHECKS,
};

const TOTALS = `SELECT count(*) FILTER (WHERE kind = 1) AS accounts, count(*) FILTER (WHERE kind = 2) AS holds,
    count(*) FILTER (WHERE kind = 2) - count(*) FILTER (WHERE kind IN (5, 6, 7)) AS open_holds,
    coalesce(sum(charge), 0)::text AS charged_credits,
    coalesce(sum(cost) FILTER (WHERE kind = 5), 0)::text AS charged_cost,
    coalesce(sum(cost) FILTER (WHERE kind <> 5), 0)::text AS lost_cost
  FROM step WHERE ${OWN}`;

const SIZE = "SELECT greatest(reltuples, 0)::float8 AS rows FROM pg_class WHERE oid = 'step'::regclass";

interface TotalsRow {
  readonly accounts: bigint;
  readonly holds: bigint;
  readonly open_holds: bigint;
  readonly charged_credits: string;
  readonly charged_cost: string;
  readonly lost_cost: string;
}

/** @param now Unix milliseconds */
export async function verifyChains(pool: Pool, now: number): Promise<LedgerReport> {
  const slices: LedgerReport[] = [];
  const { rows } = await pool.query<{ rows: number }>(SIZE);
  const count = Math.min(BUCKETS, Math.ceil((rows[0]?.rows ?? 0) / SLICE_ROWS) || 1);
  for (let slice = 0; slice < count; slice += 1) {
    const first = Math.floor((slice * BUCKETS) / count);
    const last = Math.floor(((slice + 1) * BUCKETS) / count) - 1;
    slices.push(await inTransaction(pool, (client) => verifySlice(client, [first, last], now)));
  }
  const earlier = await readEarlierTotals(pool, patiently);
  const none = { differences: [], accounts: 0n, openHolds: 0n, chargedCredits: 0n };
  return [{ ...none, ...earlier }, ...slices].reduce(sumOf);
}

async function verifySlice(
  client: PoolClient,
  buckets: readonly [number, number],
  now: number,
): Promise<LedgerReport> {
  await client.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
  await client.query(`SET LOCAL statement_timeout = ${TIMEOUT_MS}; ${PLANNER}`);
  const differences = await findChainDifferences(client, buckets, now);
  const { rows } = await client.query<TotalsRow>({ ...patiently(TOTALS), values: [...buckets] });
  const [totals] = rows;
  if (totals === undefined) throw new Error("The totals of the ledger have no row.");
  return {
    differences,
    accounts: totals.accounts,
    holds: totals.holds,
    openHolds: totals.open_holds,
    chargedCredits: BigInt(totals.charged_credits),
    chargedCost: totals.charged_cost,
    lostCost: totals.lost_cost,
  };
}

/** As the transaction of this connection sees the rows. @param now Unix milliseconds */
export async function findChainDifferences(
  client: PoolClient,
  buckets: readonly [number, number],
  now: number,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const [invariant, text] of Object.entries(CHECKS)) {
    const { rows } = await client.query<{ account_id: string | null; seq: bigint | null }>({
      ...patiently(`SELECT account_id, seq FROM (${text}) wrong ORDER BY 1, 2 LIMIT ${MOST_DIFFERENCES}`),
      values: text.includes(LIFETIME_AGO) ? [...buckets, now] : [...buckets],
    });
    const where = (account: string | null) =>
      account === null ? `buckets ${buckets.join(" to ")}` : `account ${account}`;
    for (const { account_id: account, seq } of rows) {
      const subject = `${where(account)}${seq === null ? "" : `, step ${seq}`}`;
      differences.push({ invariant, subject, expected: "as the guarantee says", actual: "another value" });
    }
  }
  return differences;
}

function sumOf(one: LedgerReport, other: LedgerReport): LedgerReport {
  return {
    differences: [...one.differences, ...other.differences],
    accounts: one.accounts + other.accounts,
    holds: one.holds + other.holds,
    openHolds: one.openHolds + other.openHolds,
    chargedCredits: one.chargedCredits + other.chargedCredits,
    chargedCost: String(BigInt(one.chargedCost) + BigInt(other.chargedCost)),
    lostCost: String(BigInt(one.lostCost) + BigInt(other.lostCost)),
  };
}

/** The pool ends a query earlier than this; the limit of the server is reached first. */
function patiently(text: string) {
  return { text, query_timeout: TIMEOUT_MS + 5_000 };
}
