// Chain checker owns an independent proof of the ledger: window functions over the rows, without the code that decides or
// applies steps. Only the comparison of cold starts with full replays runs that code.
import { isDeepStrictEqual } from "node:util";
import { type Account, apply, type Id, newAccount, type Step } from "@gr/ledger";
import type { Pool } from "@gr/runtime";
import { startCold } from "../chain/state-store.ts";
import { readStep, type StepRow } from "../chain/step-row.ts";
import { readTails } from "../chain/step-store.ts";

/** Budgets of each row, one row each. */
const LEVELS = `CROSS JOIN LATERAL (VALUES (1, budget1, window1, used1, held1), (2, budget2, window2, used2, held2),
    (3, budget3, window3, used3, held3), (4, budget4, window4, used4, held4)) AS x (level, budget, win, used, budget_held)`;
const IN_ORDER = "(PARTITION BY bucket, account_id ORDER BY seq)";

/** Definitions of budgets, with the number of each budget and the steps in which it was valid. */
const DEFINITIONS = `definition AS (
    SELECT account_id, seq, d ->> 'id' AS budget_id, (d -> 'limit' ->> '$int')::bigint AS lim, d ->> 'period' AS period,
      dense_rank() OVER (PARTITION BY account_id ORDER BY first_seq) AS budget,
      lead(seq) OVER (PARTITION BY account_id, d ->> 'id' ORDER BY seq) AS until_seq
     FROM (SELECT account_id, seq, d, min(seq) OVER (PARTITION BY account_id, d ->> 'id') AS first_seq
             FROM (SELECT account_id, seq, detail::jsonb -> 'definition' AS d FROM step WHERE kind = 14) raw) firsts)`;

/** Each returns the number of wrong rows. */
const CHECKS: Readonly<Record<string, string>> = {
  "numbers without a gap, times that never fall": `SELECT count(*) FROM (
    SELECT seq, at, lag(seq, 1, 0::bigint) OVER w AS seq0, lag(at, 1, 0::bigint) OVER w AS at0
      FROM step WINDOW w AS ${IN_ORDER}) x WHERE seq <> seq0 + 1 OR at < at0`,
  "totals of accounts": `SELECT count(*) FROM (
    SELECT kind, credits, charge, credited, debited, held, lag(credited, 1, 0::bigint) OVER w AS credited0,
      lag(debited, 1, 0::bigint) OVER w AS debited0, lag(held, 1, 0::bigint) OVER w AS held0
      FROM step WINDOW w AS ${IN_ORDER}) x
    WHERE credited <> credited0 + CASE WHEN kind IN (11, 12, 13) THEN credits ELSE 0 END
       OR debited <> debited0 + charge OR held <> held0 + CASE WHEN kind IN (11, 12, 13) THEN 0 ELSE credits END`,
  "totals of each budget and window": `SELECT count(*) FROM (
    SELECT charge, credits, used, budget_held, lag(used, 1, 0::bigint) OVER w AS used0,
      lag(budget_held, 1, 0::bigint) OVER w AS held0
      FROM step ${LEVELS} WHERE budget IS NOT NULL
      WINDOW w AS (PARTITION BY bucket, account_id, budget, win ORDER BY seq)) x
    WHERE used <> used0 + charge OR budget_held <> held0 + credits`,
  "windows of an end are those of its place": `SELECT count(*) FROM step e JOIN step p
      ON p.bucket = e.bucket AND p.account_id = e.account_id AND p.seq = e.place_seq
    WHERE p.kind <> 2 OR p.id <> e.id OR (e.kind IN (3, 5, 6, 7) AND
      (p.budget1, p.window1, p.budget2, p.window2, p.budget3, p.window3, p.budget4, p.window4)
        IS DISTINCT FROM (e.budget1, e.window1, e.budget2, e.window2, e.budget3, e.window3, e.budget4, e.window4))`,
  "steps of holds without a place": `SELECT count(*) FROM step e WHERE kind IN (3, 4, 5, 6, 7, 8, 9, 10)
    AND NOT EXISTS (SELECT FROM step p WHERE p.bucket = e.bucket AND p.account_id = e.account_id AND p.seq = e.place_seq AND p.kind = 2)`,
  "second ends and beginnings": `SELECT (SELECT count(*) FROM (
      SELECT FROM step WHERE kind IN (5, 6, 7) GROUP BY account_id, place_seq HAVING count(*) > 1) x)
    + (SELECT count(*) FROM (SELECT FROM step WHERE kind IN (2, 11, 12, 13) GROUP BY bucket, id, kind HAVING count(*) > 1) x)`,
  "changes after an end, ends that free another size, charges above a hold": `SELECT count(*) FROM (
    SELECT account_id, place, max(seq) FILTER (WHERE kind IN (5, 6, 7)) AS end_seq, max(seq) FILTER (WHERE kind <> 8) AS last_seq,
      sum(credits) AS left_over, sum(credits) FILTER (WHERE kind IN (2, 3)) AS size, sum(charge) AS charge
     FROM (SELECT *, coalesce(place_seq, seq) AS place FROM step WHERE kind BETWEEN 2 AND 10) x GROUP BY account_id, place) h
    WHERE end_seq IS NOT NULL AND (last_seq <> end_seq OR left_over <> 0 OR charge > size)`,
  "open holds against the latest totals": `SELECT count(*) FROM (
      SELECT DISTINCT ON (bucket, account_id) account_id, held FROM step ORDER BY bucket, account_id, seq DESC) l
    LEFT JOIN (SELECT account_id, sum(credits) AS held FROM step WHERE kind IN (2, 3, 5, 6, 7) GROUP BY 1) h USING (account_id)
    WHERE l.held <> coalesce(h.held, 0)`,
  "balances below zero by a hold": `SELECT count(*) FROM step WHERE kind IN (2, 3) AND credits > 0 AND credited - debited < held`,
  "limits overrun at some level": `WITH ${DEFINITIONS} SELECT count(*) FROM step s ${LEVELS} JOIN definition d
      ON d.account_id = s.account_id AND d.budget = x.budget AND d.seq < s.seq AND (d.until_seq IS NULL OR d.until_seq > s.seq)
    WHERE s.kind IN (2, 3) AND s.credits > 0 AND x.used + x.budget_held > d.lim`,
  "windows that turn without a new day, or stay": `WITH ${DEFINITIONS}, placed AS (
    SELECT s.account_id, x.budget, x.win, d.period, s.seq,
      CASE d.period WHEN 'lifetime' THEN NULL ELSE date_trunc(d.period, to_timestamp(s.at / 1000.0) AT TIME ZONE 'UTC') END AS start
      FROM step s ${LEVELS} JOIN definition d
        ON d.account_id = s.account_id AND d.budget = x.budget AND d.seq < s.seq AND (d.until_seq IS NULL OR d.until_seq > s.seq)
     WHERE s.kind = 2)
    SELECT count(*) FROM (SELECT *, lag(win) OVER w AS win0, lag(start) OVER w AS start0, lag(period) OVER w AS period0 FROM placed
      WINDOW w AS (PARTITION BY account_id, budget ORDER BY seq)) x
    WHERE win < win0 OR (period = period0 AND (win = win0) <> (start IS NOT DISTINCT FROM start0))`,
  "keys with two charges within a day": `SELECT count(*) FROM (
    SELECT p.account_id, p.claim, p.at, lag(p.at) OVER (PARTITION BY p.account_id, p.claim ORDER BY p.seq) AS at0
      FROM step p JOIN step e ON e.bucket = p.bucket AND e.account_id = p.account_id AND e.place_seq = p.seq AND e.kind = 5
     WHERE p.kind = 2 AND p.claim IS NOT NULL) x WHERE at < at0 + 86400000`,
  "keys of which two holds are open": `SELECT count(*) FROM (
    SELECT seq, end_seq, lead(seq) OVER (PARTITION BY account_id, claim ORDER BY seq) AS next_seq FROM (
      SELECT p.account_id, p.claim, p.seq, e.seq AS end_seq FROM step p LEFT JOIN step e
        ON e.bucket = p.bucket AND e.account_id = p.account_id AND e.place_seq = p.seq AND e.kind IN (5, 6, 7)
       WHERE p.kind = 2 AND p.claim IS NOT NULL) x) y WHERE next_seq IS NOT NULL AND (end_seq IS NULL OR end_seq > next_seq)`,
  "claims without their places, or in another order": `SELECT count(*) FROM (
      SELECT account_id, key, hold_id, generation, row_number() OVER (PARTITION BY account_id, key ORDER BY generation) AS n FROM claim) c
    FULL JOIN (SELECT account_id, claim AS key, id AS hold_id,
        row_number() OVER (PARTITION BY account_id, claim ORDER BY seq) AS n FROM step WHERE kind = 2 AND claim IS NOT NULL) p
      USING (account_id, key, hold_id) WHERE c.n IS DISTINCT FROM p.n OR c.n IS DISTINCT FROM c.generation`,
  "kept answers without their steps": `SELECT count(*) FROM kept_answer a
    FULL JOIN (SELECT * FROM step WHERE kind = 10) s ON s.bucket = a.bucket AND s.account_id = a.account_id AND s.id = a.hold_id
    WHERE a.hold_id IS NULL OR s.id IS NULL OR s.at <> a.kept_at`,
  "states that differ from their step": `SELECT count(*) FROM account_state a LEFT JOIN step s USING (bucket, account_id, seq)
    WHERE (a.at, a.credited, a.debited, a.held) IS DISTINCT FROM (s.at, s.credited, s.debited, s.held)`,
};

/** @returns one sentence for each guarantee that the rows break */
export async function chainProblems(pool: Pool): Promise<string[]> {
  const problems: string[] = [];
  for (const [guarantee, text] of Object.entries(CHECKS)) {
    const { rows } = await pool.query<{ wrong: string }>(`SELECT ((${text}))::text AS wrong`);
    if (rows[0]?.wrong !== "0") problems.push(`${rows[0]?.wrong} wrong: ${guarantee}`);
  }
  const { rows } = await pool.query<{ id: Id }>("SELECT DISTINCT account_id AS id FROM step ORDER BY 1");
  for (const { id } of rows) {
    if (!(await startsAsReplayed(pool, id))) problems.push(`a cold start of ${id} differs from its replay`);
  }
  return problems;
}

/** All steps with this id, in order. */
export async function stepsOfHold(pool: Pool, holdId: Id): Promise<Step[]> {
  const { rows } = await pool.query<StepRow>("SELECT * FROM step WHERE id = $1 ORDER BY account_id, seq", [
    holdId,
  ]);
  return rows.map(readStep);
}

/** Latest holds of an account, of any writer. */
export async function recentHolds(pool: Pool, accountId: Id): Promise<Id[]> {
  const { rows } = await pool.query<{ id: Id }>(
    "SELECT id FROM step WHERE account_id = $1 AND kind = 2 ORDER BY seq DESC LIMIT 8",
    [accountId],
  );
  return rows.map(({ id }) => id);
}

export async function countSteps(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: bigint }>("SELECT count(*) FROM step");
  return Number(rows[0]?.count ?? 0);
}

/** Ids and kinds of all stored steps. */
export async function storedKinds(pool: Pool): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: Id; kind: number }>("SELECT DISTINCT id, kind FROM step");
  return new Set(rows.map(({ id, kind }) => `${id} ${kind}`));
}

/** Cuts the connections of the writers but the caller's. @returns cut connections */
export async function cutConnections(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND query ~ '^(INSERT|WITH|SELECT s|BEGIN|COMMIT)'`,
  );
  return rowCount ?? 0;
}

async function startsAsReplayed(pool: Pool, id: Id): Promise<boolean> {
  const client = await pool.connect();
  try {
    const replayed = newAccount(id);
    for (const step of await readTails(client, new Map([[id, 0]]))) apply(replayed, step);
    const cold = (await startCold(client, [id])).get(id)?.account;
    return cold !== undefined && isDeepStrictEqual(durable(cold), durable(replayed));
  } finally {
    client.release();
  }
}

/** Ended holds are read when a decision needs them, so their number in memory has no meaning. */
function durable({ ended: _ended, ...account }: Account): Omit<Account, "ended"> {
  return account;
}
