// Chain invariants own an independent proof of the ledger: window functions over the rows, without the code that decides or applies
// steps. The same texts prove the steps behind the latest seals, and all steps.
import type { Id } from "@gr/ledger";
import type { PoolClient } from "@gr/runtime";
import { placedAtOf } from "../before-steps/earlier-hold-store.ts";
import { earlierChecks, endedEarlier, isAdmittedHere } from "../before-steps/earlier-invariants-store.ts";
import { EACH_LEVEL } from "../seals/level-store.ts";
import { startOf } from "../seals/seal-content-store.ts";
import type { Difference, LedgerReport } from "./ledger-report.ts";
import {
  ACCOUNTS,
  BASE,
  BASE_BUDGET,
  BASE_TOTAL,
  CLAIMING_STEP,
  DAY_STEP,
  HOLD_STEP,
  OPEN_BUCKET,
  OPEN_USAGE,
  OWN,
  STEP,
} from "./open-part-store.ts";
import { SEAL_CHECKS } from "./seal-invariants-store.ts";

/** Differences of one guarantee in one slice that are reported. */
const MOST_DIFFERENCES = 100;
/** Limit of one statement. */
export const STATEMENT_MS = 600_000;

const IN_ORDER = "(PARTITION BY s.bucket, s.account_id ORDER BY s.seq)";
const SAME_ACCOUNT = "p.bucket = e.bucket AND p.account_id = e.account_id";
const WITH_BASE = `LEFT JOIN ${BASE} b ON b.bucket = s.bucket AND b.account_id = s.account_id`;

/** Definitions of budgets, with the number of each budget, its changes of period so far, and the steps in which it was valid. */
const DEFINITIONS = `definition AS (
    SELECT account_id, seq, budget_id, parent_id, level, lim, period,
      dense_rank() OVER (PARTITION BY account_id ORDER BY first_seq) AS budget,
      lead(seq) OVER (PARTITION BY account_id, budget_id ORDER BY seq) AS until_seq,
      count(*) FILTER (WHERE period <> period0) OVER (PARTITION BY account_id, budget_id ORDER BY seq) AS periods
     FROM (SELECT *, min(seq) OVER each AS first_seq, lag(period) OVER (each ORDER BY seq) AS period0
             FROM (SELECT account_id, seq, d ->> 'id' AS budget_id, d ->> 'parentId' AS parent_id, d ->> 'level' AS level,
                          (d -> 'limit' ->> '$int')::bigint AS lim, d ->> 'period' AS period
                     FROM (SELECT account_id, seq, detail::jsonb -> 'definition' AS d FROM ${STEP} r WHERE kind = 14) defined
                   UNION ALL SELECT account_id, seq, id::text, parent::text, level, "limit", period FROM ${BASE_BUDGET} b) raw
           WINDOW each AS (PARTITION BY account_id, budget_id)) firsts)`;
/** Rows with one budget each come first, so a definition is found by account and budget: an account can have 10,000 budgets. */
const isValid = (step: string, level: string) =>
  `d.account_id = ${step}.account_id AND d.budget = ${level}.budget AND d.seq < ${step}.seq AND (d.until_seq IS NULL OR d.until_seq > ${step}.seq)`;
const IS_VALID = isValid("s", "x");

/** Claims and answers that are older may be swept. */
const LIFETIME_AGO = "$3::bigint - 86400000";

/** Steps that a reader of the follower has applied, of the alias s. */
const applied = (reader: string) => `EXISTS (SELECT FROM (
    SELECT bucket, reader, 0 AS node, seen FROM step_cursor UNION ALL SELECT bucket, reader, node, seen FROM node_cursor) c
    WHERE c.bucket = s.bucket AND c.reader = '${reader}' AND c.node = s.tx >> 48 AND pg_visible_in_snapshot(s.tx::text::xid8, c.seen))`;
/** A reader has not applied all steps up to the seal of the account: it is a day behind, or a clock was set to the past. */
const isBehindSeal = (reader: string, account: string) => `EXISTS (
    SELECT FROM ${BASE} z JOIN step s ON s.bucket = z.bucket AND s.account_id = z.account_id AND s.seq = z.last_seq
     WHERE z.account_id = ${account} AND NOT ${applied(reader)})`;
const DAY = "(to_timestamp(s.at / 1000) AT TIME ZONE 'UTC')::date";

/** Each returns account and number of the steps that break the guarantee; a number can be null. */
const CHECKS: Readonly<Record<string, string>> = {
  "numbers without a gap, times that never fall": `SELECT account_id, seq FROM (
    SELECT s.account_id, s.seq, s.at, lag(s.seq, 1, s.sealed_seq) OVER w AS seq0, lag(s.at, 1, coalesce(b.last_at, 0)) OVER w AS at0
      FROM ${STEP} s ${WITH_BASE} WINDOW w AS ${IN_ORDER}) x WHERE seq <> seq0 + 1 OR at < at0`,
  "totals of accounts": `SELECT account_id, seq FROM (
    SELECT s.account_id, s.seq, s.kind, s.credits, s.charge, s.credited, s.debited, s.held,
      lag(s.credited, 1, coalesce(b.credited, 0)) OVER w AS credited0, lag(s.debited, 1, coalesce(b.debited, 0)) OVER w AS debited0,
      lag(s.held, 1, coalesce(b.held, 0)) OVER w AS held0
      FROM ${STEP} s ${WITH_BASE} WINDOW w AS ${IN_ORDER}) x
    WHERE credited <> credited0 + CASE WHEN kind IN (11, 12, 13, 16) THEN credits ELSE 0 END
       OR debited <> debited0 + charge OR held <> held0 + CASE WHEN kind IN (11, 12, 13, 16) THEN 0 ELSE credits END`,
  "totals of each budget and window": `SELECT account_id, seq FROM (
    SELECT s.account_id, s.seq, s.charge, s.credits, x.used, x.budget_held, lag(x.used, 1, coalesce(b.used, 0)) OVER w AS used0,
      lag(x.budget_held, 1, coalesce(b.held, 0)) OVER w AS held0
      FROM ${STEP} s ${EACH_LEVEL} LEFT JOIN ${BASE_TOTAL} b
        ON b.bucket = s.bucket AND b.account_id = s.account_id AND b.budget = x.budget AND b.win = x.win WHERE x.budget IS NOT NULL
      WINDOW w AS (PARTITION BY s.bucket, s.account_id, x.budget, x.win ORDER BY s.seq)) x
    WHERE used <> used0 + charge OR budget_held <> held0 + credits`,
  "windows of an end are those of its place": `SELECT e.account_id, e.seq FROM ${STEP} e JOIN ${HOLD_STEP} p
      ON ${SAME_ACCOUNT} AND p.seq = e.place_seq
    WHERE p.kind <> 2 OR p.id <> e.id OR (e.kind IN (3, 5, 6, 7) AND
      (p.budget1, p.window1, p.budget2, p.window2, p.budget3, p.window3, p.budget4, p.window4)
        IS DISTINCT FROM (e.budget1, e.window1, e.budget2, e.window2, e.budget3, e.window3, e.budget4, e.window4))`,
  "steps of holds have a place": `SELECT e.account_id, e.seq FROM ${STEP} e WHERE kind IN (3, 4, 5, 6, 7, 8, 9, 10)
    AND NOT (kind = 8 AND place_seq IS NULL)
    AND NOT EXISTS (SELECT FROM ${HOLD_STEP} p WHERE ${SAME_ACCOUNT} AND p.seq = e.place_seq AND p.kind = 2)
    AND NOT (kind = 8 AND e.place_seq <= e.sealed_seq AND coalesce((
      SELECT p.kind = 2 AND p.id = e.id FROM step p WHERE ${SAME_ACCOUNT} AND p.seq = e.place_seq LIMIT 1), false))`,
  "holds end once": `SELECT account_id, place_seq AS seq FROM ${STEP} e WHERE kind IN (5, 6, 7)
    GROUP BY account_id, place_seq HAVING count(*) > 1`,
  "places, deposits, refunds and adjustments begin once": `SELECT min(account_id::text)::uuid AS account_id, min(seq) AS seq
    FROM ${STEP} b WHERE kind IN (2, 11, 12, 13) GROUP BY bucket, id, kind HAVING count(*) > 1
    UNION ALL
    SELECT account_id, seq FROM ${STEP} b WHERE kind IN (2, 11, 12, 13) AND (SELECT count(*) FROM (
      SELECT FROM step d WHERE d.bucket = b.bucket AND d.id = b.id AND d.kind = b.kind AND d.kind IN (2, 11, 12, 13) LIMIT 2) x) > 1`,
  "no change after an end, no end of another size, no charge above a hold": `SELECT account_id, place AS seq FROM (
    SELECT account_id, place, max(seq) FILTER (WHERE kind IN (5, 6, 7)) AS end_seq, max(seq) FILTER (WHERE kind <> 8) AS last_seq,
      sum(credits) AS left_over, sum(credits) FILTER (WHERE kind IN (2, 3)) AS size, sum(charge) AS charge
     FROM (SELECT *, coalesce(place_seq, seq) AS place FROM ${HOLD_STEP} s WHERE kind BETWEEN 2 AND 10) x GROUP BY account_id, place) h
    WHERE end_seq IS NOT NULL AND (last_seq <> end_seq OR left_over <> 0 OR charge > size)`,
  "open holds are the latest total": `SELECT account_id, l.seq FROM (
      SELECT DISTINCT ON (bucket, account_id) account_id, seq, held FROM (
        SELECT bucket, account_id, seq, held FROM ${STEP} s UNION ALL SELECT bucket, account_id, last_seq, held FROM ${BASE} b) s
       ORDER BY bucket, account_id, seq DESC) l
    LEFT JOIN (SELECT account_id, sum(credits) AS held FROM ${HOLD_STEP} s WHERE kind IN (2, 3, 5, 6, 7) GROUP BY 1) h USING (account_id)
    WHERE l.held <> coalesce(h.held, 0)`,
  "no balance is below zero by a hold": `SELECT account_id, seq FROM ${STEP} s
    WHERE kind IN (2, 3) AND credits > 0 AND credited - debited < held AND ${isAdmittedHere("s")}`,
  "no limit is overrun at any level": `WITH ${DEFINITIONS}, grown AS MATERIALIZED (
      SELECT s.account_id, s.seq, x.budget, x.used + x.budget_held AS total FROM ${STEP} s ${EACH_LEVEL}
       WHERE s.kind IN (2, 3) AND s.credits > 0 AND x.budget IS NOT NULL AND ${isAdmittedHere("s")})
    SELECT s.account_id, s.seq FROM grown s JOIN definition d ON ${isValid("s", "s")} WHERE s.total > d.lim`,
  "holds count in the budget of their place and in each one above it": `WITH ${DEFINITIONS}, placed AS MATERIALIZED (
      SELECT s.account_id, s.seq, x.budget, x.above FROM ${STEP} s
       CROSS JOIN LATERAL (VALUES (budget1, budget2), (budget2, budget3), (budget3, budget4), (budget4, NULL)) AS x (budget, above)
       WHERE s.kind = 2 AND x.budget IS NOT NULL AND ${isAdmittedHere("s")})
    SELECT s.account_id, s.seq FROM placed s
    JOIN definition d ON ${isValid("s", "s")}
    LEFT JOIN (SELECT DISTINCT account_id, budget_id, budget FROM definition) p
      ON p.account_id = s.account_id AND p.budget_id = d.parent_id
    LEFT JOIN (SELECT DISTINCT account_id, budget FROM definition WHERE level = 'member') m
      ON m.account_id = s.account_id AND m.budget = s.above
    WHERE p.budget IS DISTINCT FROM s.above
      AND NOT (m.budget IS NOT NULL AND d.parent_id IS NULL AND d.budget_id = s.account_id::text)`,
  "the budget above a budget never changes": `WITH ${DEFINITIONS} SELECT account_id, seq FROM (
      SELECT account_id, seq, parent_id, lag(parent_id) OVER (PARTITION BY account_id, budget_id ORDER BY seq) AS parent0 FROM definition) x
    WHERE parent0 IS NOT NULL AND parent_id IS DISTINCT FROM parent0`,
  "windows turn with a new day, and only then": `WITH ${DEFINITIONS}, placed AS (
    SELECT s.account_id, x.budget, x.win, d.periods, s.seq,
      CASE WHEN s.kind = 16 THEN (s.detail::jsonb -> 'carriedWindow' ->> 'windowStart')::bigint ELSE ${startOf("d.period", "s.at")} END AS start
      FROM ${STEP} s ${EACH_LEVEL} JOIN definition d ON ${IS_VALID}
     WHERE s.kind = 2 AND ${isAdmittedHere("s")} OR s.kind = 16 AND x.win = 2
    UNION ALL
    SELECT account_id, budget, "window", -changes, seq, start FROM ${BASE_BUDGET} b WHERE "window" IS NOT NULL)
    SELECT account_id, seq FROM (
      SELECT *, lag(win) OVER w AS win0, lag(start) OVER w AS start0, lag(periods) OVER w AS periods0 FROM placed
      WINDOW w AS (PARTITION BY account_id, budget ORDER BY seq)) x
    WHERE win < win0 + (periods - periods0) OR (periods = periods0 AND (win = win0) <> (start IS NOT DISTINCT FROM start0))`,
  "a key has one charge within a day": `SELECT account_id, seq FROM (
    SELECT p.account_id, p.seq, p.at, lag(p.at) OVER (PARTITION BY p.account_id, p.claim ORDER BY p.seq) AS at0
      FROM (SELECT r.bucket, r.account_id, r.seq, r.kind, r.claim, ${placedAtOf("r")} AS at FROM ${CLAIMING_STEP} r) p
      JOIN ${DAY_STEP} e ON ${SAME_ACCOUNT} AND e.place_seq = p.seq AND e.kind = 5
     WHERE p.kind = 2 AND p.claim IS NOT NULL) x WHERE at < at0 + 86400000`,
  "a key has one open hold": `SELECT account_id, seq FROM (
    SELECT account_id, seq, end_seq, lead(seq) OVER (PARTITION BY account_id, claim ORDER BY seq) AS next_seq FROM (
      SELECT p.account_id, p.claim, p.seq, e.seq AS end_seq FROM ${CLAIMING_STEP} p LEFT JOIN ${DAY_STEP} e
        ON ${SAME_ACCOUNT} AND e.place_seq = p.seq AND e.kind IN (5, 6, 7)
       WHERE p.kind = 2 AND p.claim IS NOT NULL) x) y WHERE next_seq IS NOT NULL AND (end_seq IS NULL OR end_seq > next_seq)`,
  "claims are those of their places, in their order": `WITH both_sides AS (
    SELECT account_id, key, hold_id, c.bucket, c.generation, p.seq, p.at, p.is_open
      FROM (SELECT bucket, account_id, key, hold_id, generation FROM claim WHERE ${OWN}) c
      FULL JOIN (
        SELECT p.account_id, p.seq, ${placedAtOf("p")} AS at, p.claim AS key, p.id AS hold_id, e.seq IS NULL AS is_open
          FROM ${CLAIMING_STEP} p LEFT JOIN ${DAY_STEP} e ON ${SAME_ACCOUNT} AND e.place_seq = p.seq AND e.kind IN (5, 6, 7)
         WHERE p.kind = 2 AND p.claim IS NOT NULL) p USING (account_id, key, hold_id))
    SELECT account_id, seq FROM both_sides c
     WHERE (seq IS NULL AND NOT ${endedEarlier("hold_id", "c.account_id")} AND NOT coalesce((
              SELECT p.account_id = c.account_id AND p.claim = c.key FROM step p
               WHERE p.bucket = c.bucket AND p.id = c.hold_id AND p.kind = 2 LIMIT 1), false))
        OR (generation IS NULL AND (is_open OR at > ${LIFETIME_AGO}))
    UNION ALL
    SELECT account_id, seq FROM (
      SELECT account_id, seq, generation, lag(generation) OVER (PARTITION BY account_id, key ORDER BY seq) AS generation0
        FROM both_sides WHERE seq IS NOT NULL AND generation IS NOT NULL) x WHERE generation <= generation0`,
  "kept answers are those of their steps": `SELECT coalesce(a.account_id, s.account_id) AS account_id, s.seq
    FROM (SELECT a.*, coalesce(o.sealed_until, 0) AS sealed_until FROM kept_answer a LEFT JOIN own o USING (bucket, account_id) WHERE ${OWN}) a
    FULL JOIN (SELECT * FROM ${DAY_STEP} k WHERE kind = 10) s ON s.bucket = a.bucket AND s.account_id = a.account_id AND s.id = a.hold_id
    WHERE (s.id IS NULL AND a.kept_at > a.sealed_until - 86400000) OR s.at <> a.kept_at OR (a.hold_id IS NULL AND s.at > ${LIFETIME_AGO})`,
  "states equal their step": `SELECT a.account_id, a.seq FROM (SELECT * FROM account_state WHERE ${OWN}) a
    LEFT JOIN LATERAL (SELECT * FROM step t WHERE t.bucket = a.bucket AND t.account_id = a.account_id AND t.seq = a.seq OFFSET 0) s ON true
    WHERE (a.at, a.credited, a.debited, a.held) IS DISTINCT FROM (s.at, s.credited, s.debited, s.held)`,
  "numbers of budgets are those of their first steps": `SELECT account_id, nullif(greatest(f.seq, 0), 0) AS seq FROM (
      SELECT account_id, id AS budget_id, min(seq) AS seq, row_number() OVER (PARTITION BY account_id ORDER BY min(seq)) AS budget
        FROM (SELECT account_id, id, seq FROM ${STEP} s WHERE kind = 14 AND ${applied("sums")}
              UNION ALL SELECT account_id, id, seq FROM ${BASE_BUDGET} b) s GROUP BY 1, 2) f
    FULL JOIN (SELECT account_id, budget_id, budget FROM budget_number WHERE ${OWN}) n USING (account_id, budget_id)
    WHERE f.budget IS DISTINCT FROM n.budget AND NOT ${isBehindSeal("sums", "coalesce(f.account_id, n.account_id)")}`,
  "usage by day is the sum of its charges": `SELECT account_id, NULL::bigint AS seq FROM (
      SELECT s.account_id, ${DAY} AS day, n.budget_id, p.model, s.billed_by AS provider, count(*) AS requests, sum(s.charge) AS charge,
             sum(s.cost) AS cost
        FROM ${STEP} s JOIN ${HOLD_STEP} p ON p.bucket = s.bucket AND p.account_id = s.account_id AND p.seq = s.place_seq
        LEFT JOIN budget_number n ON n.bucket = s.bucket AND n.account_id = s.account_id AND n.budget = s.budget1
       WHERE s.kind = 5 AND s.at >= s.sealed_until AND ${applied("sums")} GROUP BY 1, 2, 3, 4, 5) e
    FULL JOIN ${OPEN_USAGE} u USING (account_id, day, budget_id, model, provider)
    WHERE (u.requests, u.charge, u.cost) IS DISTINCT FROM (e.requests, e.charge, e.cost)`,
  "costs by day are the sum of their bookings": `SELECT NULL::uuid AS account_id, NULL::bigint AS seq FROM (
      SELECT s.bucket, ${DAY} AS day, s.billed_by AS provider, sum(s.cost) AS cost, count(*) AS bookings,
             sum(s.charge) AS charged, coalesce(sum(s.cost) FILTER (WHERE s.kind <> 5), 0) AS lost
        FROM ${STEP} s JOIN ${OPEN_BUCKET} n ON n.bucket = s.bucket AND s.at >= n.since
       WHERE s.billed_by IS NOT NULL AND ${applied("sums")} GROUP BY 1, 2, 3) e
    FULL JOIN (
      SELECT c.bucket, c.day, c.provider, sum(c.cost) AS cost, sum(c.bookings) AS bookings, sum(c.charged) AS charged, sum(c.lost) AS lost
        FROM ${OPEN_BUCKET} n CROSS JOIN LATERAL (SELECT * FROM cost_by_day t
               WHERE t.bucket = n.bucket AND t.day >= (to_timestamp(n.since / 1000) AT TIME ZONE 'UTC')::date OFFSET 0) c GROUP BY 1, 2, 3) c
      USING (bucket, day, provider)
    WHERE (c.cost, c.bookings, c.charged, c.lost) IS DISTINCT FROM (e.cost, e.bookings, e.charged, e.lost)`,
  "the list of open holds is that of the steps": `SELECT account_id, place_seq AS seq FROM (
      SELECT account_id, coalesce(place_seq, seq) AS place_seq, max(deadline_at) FILTER (WHERE kind IN (2, 3, 4)) AS deadline_at,
             coalesce(max(deadline_at) FILTER (WHERE kind = 9), 0) AS leased_until
        FROM ${HOLD_STEP} s WHERE kind IN (2, 3, 4, 5, 6, 7, 9) AND ${applied("holds")}
       GROUP BY 1, 2 HAVING NOT bool_or(kind IN (5, 6, 7))) e
    FULL JOIN (SELECT * FROM open_hold WHERE ${OWN}) o USING (account_id, place_seq)
    WHERE (o.deadline_at, o.leased_until) IS DISTINCT FROM (e.deadline_at, e.leased_until)
      AND NOT ${isBehindSeal("holds", "coalesce(e.account_id, o.account_id)")}`,
  ...SEAL_CHECKS,
  ...earlierChecks(STEP),
};

const TOTALS = `SELECT n.accounts + b.accounts AS accounts, n.holds + b.holds AS holds, n.holds - n.ends + b.open_holds AS open_holds,
    (n.charge + b.charge)::text AS charged_credits, (n.charged_cost + b.charged_cost)::text AS charged_cost,
    (n.lost_cost + b.lost_cost)::text AS lost_cost
  FROM (SELECT count(*) FILTER (WHERE kind = 1) AS accounts, count(*) FILTER (WHERE kind = 2) AS holds,
          count(*) FILTER (WHERE kind IN (5, 6, 7)) AS ends, coalesce(sum(charge), 0) AS charge,
          coalesce(sum(cost) FILTER (WHERE kind = 5), 0) AS charged_cost, coalesce(sum(cost) FILTER (WHERE kind <> 5), 0) AS lost_cost
          FROM ${STEP} s) n
  CROSS JOIN (SELECT count(*) AS accounts, coalesce(sum(holds), 0)::bigint AS holds,
          coalesce(sum(jsonb_array_length(content::jsonb -> 'holds')), 0)::bigint AS open_holds, coalesce(sum(debited), 0) AS charge,
          coalesce(sum(charged_cost), 0) AS charged_cost, coalesce(sum(lost_cost), 0) AS lost_cost FROM ${BASE} b) b`;

interface TotalsRow {
  readonly accounts: bigint;
  readonly holds: bigint;
  readonly open_holds: bigint;
  readonly charged_credits: string;
  readonly charged_cost: string;
  readonly lost_cost: string;
}

/** Accounts of whole buckets, and the seals from which a proof of them begins. */
export interface Slice {
  readonly buckets: readonly [first: number, last: number];
  readonly chains: readonly ProvedChain[];
}

export interface ProvedChain {
  readonly bucket: number;
  readonly accountId: Id;
  /** 0 = the proof begins with the first step */
  readonly sealedSeq: bigint;
  readonly sealedUntil: bigint;
}

/**
 * Each statement has a snapshot of its own: steps never change, and other rows are compared with the steps of the same snapshot.
 * @param list lists the accounts again: rows of an account that began after the first list are no difference
 * @param now Unix milliseconds @param invariants all if absent
 */
export async function findChainDifferences(
  client: PoolClient,
  slice: Slice,
  list: () => Promise<Slice>,
  now: number,
  invariants: readonly string[] = Object.keys(CHECKS),
): Promise<Difference[]> {
  const differences: Difference[] = [];
  let current = slice;
  for (const invariant of invariants) {
    const text = CHECKS[invariant];
    if (text === undefined) throw new RangeError(`No check is called ${invariant}.`);
    let rows = await runCheck(client, text, current, now);
    for (let isFinal = rows.length === 0; !isFinal; ) {
      const later = await list();
      isFinal = later.chains.length === current.chains.length;
      current = later;
      if (!isFinal) rows = await runCheck(client, text, current, now);
    }
    for (const { account_id: account, seq } of rows) {
      const where = account === null ? `buckets ${slice.buckets.join(" to ")}` : `account ${account}`;
      const subject = `${where}${seq === null ? "" : `, step ${seq}`}`;
      differences.push({ invariant, subject, expected: "as the guarantee says", actual: "another value" });
    }
  }
  return differences;
}

interface Broken {
  readonly account_id: string | null;
  readonly seq: bigint | null;
}

async function runCheck(client: PoolClient, text: string, slice: Slice, now: number): Promise<Broken[]> {
  const limited = `WITH ${ACCOUNTS} SELECT account_id, seq FROM (${text}) wrong ORDER BY 1, 2 LIMIT ${MOST_DIFFERENCES}`;
  return (await client.query<Broken>({ ...patiently(limited), values: valuesOf(slice, now) })).rows;
}

export async function sumTotals(
  client: PoolClient,
  slice: Slice,
  now: number,
): Promise<Omit<LedgerReport, "differences">> {
  const text = `WITH ${ACCOUNTS} ${TOTALS}`;
  const { rows } = await client.query<TotalsRow>({ ...patiently(text), values: valuesOf(slice, now) });
  const [totals] = rows;
  if (totals === undefined) throw new Error("The totals of the ledger have no row.");
  return {
    accounts: totals.accounts,
    holds: totals.holds,
    openHolds: totals.open_holds,
    chargedCredits: BigInt(totals.charged_credits),
    chargedCost: totals.charged_cost,
    lostCost: totals.lost_cost,
  };
}

function valuesOf({ buckets, chains }: Slice, now: number): unknown[] {
  return [
    ...buckets,
    now,
    chains.map(({ bucket }) => bucket),
    chains.map(({ accountId }) => accountId),
    chains.map(({ sealedSeq }) => sealedSeq),
    chains.map(({ sealedUntil }) => sealedUntil),
  ];
}

/** The pool ends a query earlier than this; the limit of the server is reached first. */
export function patiently(text: string) {
  return { text, query_timeout: STATEMENT_MS + 5_000 };
}
