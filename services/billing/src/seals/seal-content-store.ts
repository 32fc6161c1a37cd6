// Seal content owns the fold of steps into the content of a seal: the facts that the proof of later steps needs from earlier ones. It
// reads the rows alone, without the code that decides or applies steps. A fold over parts of a month equals the fold over all of it.
import { placedAtOf } from "../before-steps/earlier-hold-store.ts";
import { isAdmittedHere } from "../before-steps/earlier-invariants-store.ts";
import { EACH_LEVEL } from "./level-store.ts";
import { BLOCK_STEPS, blockDigest, LINE, RECORD } from "./seal-format-store.ts";

/** Rows of the open holds in a content. Amounts are strings: numbers of JSON lose digits in some languages. */
export const holdsIn = (content: string) => `jsonb_to_recordset(${content}::jsonb -> 'holds') AS
    h (seq bigint, id uuid, credits bigint, "placedAt" bigint, "deadlineAt" bigint, "leasedUntil" bigint, claim text, model text, chain jsonb)`;

/** Rows of the budgets in a content. Window and start are those of the latest hold; changes of the period since then. */
export const budgetsIn = (content: string) => `jsonb_to_recordset(${content}::jsonb -> 'budgets') AS
    b (budget int, id uuid, parent uuid, level text, "limit" bigint, period text, "window" int, start bigint, changes bigint, totals jsonb)`;

/** Rows of the totals of a budget of the alias b. */
export const TOTALS_OF_BUDGET = `jsonb_array_elements(b.totals) AS t (total)`;
export const TOTAL_WINDOW = "(t.total ->> 0)::int";
export const TOTAL_USED = "(t.total ->> 1)::bigint";
export const TOTAL_HELD = "(t.total ->> 2)::bigint";

/** Start of the window in which a hold was admitted, in Unix milliseconds. */
export const startOf = (period: string, at: string) =>
  `(extract(epoch FROM date_trunc(nullif(${period}, 'lifetime'), to_timestamp(${at} / 1000.0) AT TIME ZONE 'UTC')) * 1000)::bigint`;

/**
 * Parameters: bucket, account, number of the step before, last step, content before, last time of a claim that has expired at the end of
 * the month, first step of the month. Returns no row without steps.
 */
export const FOLD = `WITH r AS MATERIALIZED (
    SELECT * FROM step WHERE bucket = $1 AND account_id = $2 AND seq > $3 AND seq <= $4),
  known_hold AS (SELECT * FROM ${holdsIn("$5")}),
  known_budget AS (SELECT * FROM ${budgetsIn("$5")}),
  hold_row AS (
    SELECT seq AS place, 2 AS kind, id, credits, "placedAt" AS at, "deadlineAt" AS deadline_at, claim, model, chain::text AS chain FROM known_hold
    UNION ALL SELECT seq, 9, NULL, 0, 0, "leasedUntil", NULL, NULL, NULL FROM known_hold
    UNION ALL SELECT coalesce(r.place_seq, r.seq), r.kind, r.id, r.credits, ${placedAtOf("r")}, r.deadline_at, encode(r.claim, 'hex'), r.model,
                to_jsonb(array_remove(ARRAY[budget1, window1, budget2, window2, budget3, window3, budget4, window4], NULL))::text
      FROM r WHERE r.kind IN (2, 3, 4, 5, 6, 7, 9)),
  open_one AS (
    SELECT place AS seq, max(id::text) FILTER (WHERE kind = 2) AS id, sum(credits) FILTER (WHERE kind IN (2, 3))::text AS credits,
           max(at) FILTER (WHERE kind = 2) AS "placedAt", max(deadline_at) FILTER (WHERE kind IN (2, 3, 4)) AS "deadlineAt",
           coalesce(max(deadline_at) FILTER (WHERE kind = 9), 0) AS "leasedUntil", max(claim) FILTER (WHERE kind = 2) AS claim,
           max(model) FILTER (WHERE kind = 2) AS model, (max(chain) FILTER (WHERE kind = 2))::jsonb AS chain
      FROM hold_row GROUP BY place HAVING NOT bool_or(kind IN (5, 6, 7))),
  defined AS (
    SELECT seq, (d ->> 'id')::uuid AS id, (d ->> 'parentId')::uuid AS parent, d ->> 'level' AS level,
           (d -> 'limit' ->> '$int')::bigint AS lim, d ->> 'period' AS period
      FROM (SELECT seq, detail::jsonb -> 'definition' AS d FROM r WHERE kind = 14) x),
  numbered AS (
    SELECT id, budget FROM known_budget
    UNION ALL
    SELECT id, ((SELECT count(*) FROM known_budget) + row_number() OVER (ORDER BY min(seq)))::int FROM defined
     WHERE id NOT IN (SELECT id FROM known_budget) GROUP BY id),
  definition AS (
    SELECT *, lag(period) OVER (PARTITION BY budget ORDER BY seq) <> period AS is_change FROM (
      SELECT budget, parent, level, "limit" AS lim, period, 0::bigint AS seq FROM known_budget
      UNION ALL SELECT n.budget, d.parent, d.level, d.lim, d.period, d.seq FROM defined d JOIN numbered n USING (id)) x),
  level AS (SELECT s.seq, s.at, s.kind, s.detail, x.* FROM r s ${EACH_LEVEL} WHERE x.budget IS NOT NULL),
  placed AS (
    SELECT DISTINCT ON (s.budget) s.budget, s.seq, s.win,
      CASE WHEN s.kind = 16 THEN (s.detail::jsonb -> 'carriedWindow' ->> 'windowStart')::bigint
           ELSE ${startOf("(SELECT d.period FROM definition d WHERE d.budget = s.budget AND d.seq < s.seq ORDER BY d.seq DESC LIMIT 1)", "s.at")} END AS start
      FROM level s WHERE s.kind = 2 AND ${isAdmittedHere("s")} OR s.kind = 16 AND s.win = 2 ORDER BY s.budget, s.seq DESC),
  total AS (
    SELECT DISTINCT ON (budget, win) budget, win, used, held FROM (
      SELECT budget, win, used, budget_held AS held, seq FROM level
      UNION ALL
      SELECT b.budget, ${TOTAL_WINDOW}, ${TOTAL_USED}, ${TOTAL_HELD}, 0 FROM known_budget b CROSS JOIN LATERAL ${TOTALS_OF_BUDGET}) x
     ORDER BY budget, win, seq DESC),
  kept_total AS (
    SELECT t.* FROM total t
     WHERE t.win = (SELECT max(o.win) FROM total o WHERE o.budget = t.budget)
        OR EXISTS (SELECT FROM open_one o CROSS JOIN generate_series(0, 6, 2) AS at
                    WHERE (o.chain ->> at)::int = t.budget AND (o.chain ->> (at + 1))::int = t.win)),
  budget AS (
    SELECT n.budget, n.id, d.parent, d.level, d.lim::text AS "limit", d.period,
      CASE WHEN p.budget IS NULL THEN k."window" ELSE p.win END AS "window", CASE WHEN p.budget IS NULL THEN k.start ELSE p.start END AS start,
      CASE WHEN p.budget IS NULL THEN coalesce(k.changes, 0) ELSE 0 END
        + (SELECT count(*) FROM definition c WHERE c.budget = n.budget AND c.is_change AND c.seq > coalesce(p.seq, 0)) AS changes,
      coalesce((SELECT jsonb_agg(jsonb_build_array(t.win, t.used::text, t.held::text) ORDER BY t.win) FROM kept_total t
                 WHERE t.budget = n.budget), '[]') AS totals
      FROM numbered n
      CROSS JOIN LATERAL (SELECT c.parent, c.level, c.lim, c.period FROM definition c WHERE c.budget = n.budget ORDER BY c.seq DESC LIMIT 1) d
      LEFT JOIN known_budget k ON k.budget = n.budget LEFT JOIN placed p ON p.budget = n.budget),
  block AS (
    SELECT (seq - $7) / ${BLOCK_STEPS} AS number, encode(${blockDigest("line")}, 'hex') AS lines, encode(${blockDigest("record")}, 'hex') AS records
      FROM (SELECT seq, ${LINE} AS line, ${RECORD} AS record FROM r) x GROUP BY 1)
  SELECT l.at, l.credited, l.debited, l.held,
    (SELECT count(*) FROM r WHERE kind = 2) AS holds,
    (SELECT coalesce(sum(cost) FILTER (WHERE kind = 5), 0)::text FROM r) AS charged_cost,
    (SELECT coalesce(sum(cost) FILTER (WHERE kind <> 5), 0)::text FROM r) AS lost_cost,
    (SELECT max(seq) FROM r WHERE at <= $6) AS day_seq,
    (SELECT array_agg(lines ORDER BY number) FROM block) AS lines,
    (SELECT array_agg(records ORDER BY number) FROM block) AS records,
    jsonb_build_object('budgets', coalesce((SELECT jsonb_agg(to_jsonb(b) ORDER BY b.budget) FROM budget b), '[]'),
                       'holds', coalesce((SELECT jsonb_agg(to_jsonb(o) ORDER BY o.seq) FROM open_one o), '[]'))::text AS content
   FROM r l WHERE l.seq = $4`;
