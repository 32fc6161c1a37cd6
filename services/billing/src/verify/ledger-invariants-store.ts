// Recomputes every balance from the journal and the holds, in one snapshot, and lists what differs.
// Each invariant is one query for (subject, expected, actual) of the rows that break it.

import type { Credits } from "@gr/money";
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";

export interface Difference {
  /** The invariant that is broken. */
  readonly invariant: string;
  /** The row that breaks it. */
  readonly subject: string;
  readonly expected: string;
  readonly actual: string;
}

export interface LedgerReport {
  readonly differences: readonly Difference[];
  readonly accounts: bigint;
  readonly holds: bigint;
  readonly openHolds: bigint;
  readonly chargedCredits: Credits;
  /** Decimal integers of pico: sums can exceed 64 bits. */
  readonly chargedCost: string;
  readonly lostCost: string;
}

/** Of one invariant; whoever has so many has seen enough. */
const MOST_DIFFERENCES = 100;
/** For one statement, which reads whole tables. */
const TIMEOUT_MS = 600_000;

const INVARIANTS: Readonly<Record<string, string>> = {
  "account.credits = deposits - refunds + adjustments": `
    SELECT 'account ' || id AS subject, coalesce(e.sum, 0) AS expected, a.credits AS actual
      FROM account a FULL JOIN (
        SELECT account_id AS id, sum(CASE kind WHEN 'refund' THEN -credits ELSE credits END) AS sum
          FROM entry WHERE kind IN ('deposit', 'refund', 'adjustment') GROUP BY account_id) e USING (id)
     WHERE a.credits IS DISTINCT FROM coalesce(e.sum, 0)`,
  "account.debits = sum of charges": `
    SELECT 'account ' || id AS subject, coalesce(e.sum, 0) AS expected, a.debits AS actual
      FROM account a FULL JOIN (
        SELECT account_id AS id, sum(credits) AS sum FROM entry WHERE kind = 'charge' GROUP BY account_id) e USING (id)
     WHERE a.debits IS DISTINCT FROM coalesce(e.sum, 0)`,
  "account.held = sum of open holds": `
    SELECT 'account ' || id AS subject, coalesce(h.sum, 0) AS expected, a.held AS actual
      FROM account a FULL JOIN (
        SELECT account_id AS id, sum(credits) AS sum FROM hold WHERE state = 'open' GROUP BY account_id) h USING (id)
     WHERE a.held IS DISTINCT FROM coalesce(h.sum, 0)`,
  "spender.used = sum of its charges": `
    SELECT 'spender ' || id AS subject, coalesce(e.sum, 0) AS expected, s.used AS actual
      FROM spender s FULL JOIN (
        SELECT h.spender_id AS id, sum(e.credits) AS sum FROM entry e JOIN hold h ON h.id = e.hold_id
         WHERE e.kind = 'charge' GROUP BY h.spender_id) e USING (id)
     WHERE s.used IS DISTINCT FROM coalesce(e.sum, 0)`,
  "spender.requests = number of its charges": `
    SELECT 'spender ' || id AS subject, coalesce(e.count, 0) AS expected, s.requests AS actual
      FROM spender s FULL JOIN (
        SELECT h.spender_id AS id, count(*) AS count FROM entry e JOIN hold h ON h.id = e.hold_id
         WHERE e.kind = 'charge' GROUP BY h.spender_id) e USING (id)
     WHERE s.requests IS DISTINCT FROM coalesce(e.count, 0)`,
  "spender.window_used = charges of holds placed in the current window": `
    SELECT 'spender ' || s.id AS subject, coalesce(sum(h.charge), 0) AS expected, s.window_used AS actual
      FROM spender s LEFT JOIN hold h
        ON h.spender_id = s.id AND h.window_no = s.window_no AND h.state = 'captured'
     GROUP BY s.id HAVING s.window_used <> coalesce(sum(h.charge), 0)`,
  "spender.window_held = open holds placed in the current window": `
    SELECT 'spender ' || s.id AS subject, coalesce(sum(h.credits), 0) AS expected, s.window_held AS actual
      FROM spender s LEFT JOIN hold h
        ON h.spender_id = s.id AND h.window_no = s.window_no AND h.state = 'open'
     GROUP BY s.id HAVING s.window_held <> coalesce(sum(h.credits), 0)`,
  "no hold is of a window that its spender has not reached": `
    SELECT 'hold ' || h.id AS subject, 'at most ' || s.window_no AS expected, h.window_no AS actual
      FROM hold h JOIN spender s ON s.id = h.spender_id WHERE h.window_no > s.window_no`,
  "every hold has a spender of its account": `
    SELECT 'hold ' || h.id AS subject, 'account ' || h.account_id AS expected,
           coalesce('account ' || s.account_id, 'no spender ' || h.spender_id) AS actual
      FROM hold h LEFT JOIN spender s ON s.id = h.spender_id WHERE s.account_id IS DISTINCT FROM h.account_id`,
  "a captured hold has one charge of the same amounts": `
    SELECT 'hold ' || h.id AS subject, format('1 charge: %s credits, %s pico', h.charge, h.cost) AS expected,
           format('%s charges: %s credits, %s pico', coalesce(e.count, 0), coalesce(e.credits, 0), coalesce(e.cost, 0))
             || CASE WHEN e.account_id <> h.account_id::text THEN ' of account ' || e.account_id ELSE '' END AS actual
      FROM hold h LEFT JOIN (
        SELECT hold_id, count(*) AS count, sum(credits) AS credits, sum(cost) AS cost, min(account_id::text) AS account_id
          FROM entry WHERE kind = 'charge' GROUP BY hold_id) e ON e.hold_id = h.id
     WHERE h.state = 'captured'
       AND (e.count, e.credits, e.cost, e.account_id) IS DISTINCT FROM (1, h.charge, h.cost, h.account_id::text)`,
  "a charge is of a captured hold": `
    SELECT 'hold ' || coalesce(e.hold_id::text, '-') AS subject, 'captured' AS expected,
           coalesce(h.state::text, 'no hold') AS actual
      FROM entry e LEFT JOIN hold h ON h.id = e.hold_id
     WHERE e.kind = 'charge' AND h.state IS DISTINCT FROM 'captured'`,
  "a loss is of a resolved hold, or of an attempt before the current one": `
    SELECT 'hold ' || coalesce(e.hold_id::text, '-') AS subject, 'captured or released' AS expected,
           coalesce(h.state::text, 'no hold') AS actual
      FROM entry e LEFT JOIN hold h ON h.id = e.hold_id
     WHERE e.kind IN ('failed', 'late')
       AND (h.state IS NULL OR h.state = 'open' AND e.attempt >= h.attempt)`,
  "a cost is of an attempt that its hold has made, and of that attempt's provider": `
    SELECT 'hold ' || h.id AS subject,
           CASE e.kind WHEN 'charge' THEN '' ELSE 'at most ' END || format('attempt %s at %s', h.attempt, h.provider) AS expected,
           format('%s of attempt %s at %s', e.kind, coalesce(e.attempt::text, '-'), coalesce(e.provider, '-')) AS actual
      FROM entry e JOIN hold h ON h.id = e.hold_id
     WHERE NOT coalesce(e.attempt BETWEEN 1 AND h.attempt, false)
        OR e.kind = 'charge' AND e.attempt <> h.attempt
        OR e.attempt = h.attempt AND e.provider IS DISTINCT FROM h.provider`,
  "the cost of a released hold is booked as a loss": `
    SELECT 'hold ' || h.id AS subject, 'at least ' || h.cost AS expected, coalesce(sum(e.cost), 0) AS actual
      FROM hold h LEFT JOIN entry e ON e.hold_id = h.id AND e.attempt = h.attempt AND e.kind IN ('failed', 'late')
     WHERE h.state = 'released' AND h.cost > 0 GROUP BY h.id HAVING coalesce(sum(e.cost), 0) < h.cost`,
  "an open hold has no charge and no cost, a resolved one has both": `
    SELECT 'hold ' || id AS subject, CASE state WHEN 'open' THEN 'neither' ELSE 'both' END AS expected,
           format('charge %s, cost %s', coalesce(charge::text, '-'), coalesce(cost::text, '-')) AS actual
      FROM hold WHERE (state = 'open') <> (charge IS NULL) OR (state = 'open') <> (cost IS NULL)
        OR (state = 'released' AND charge <> 0)`,
  "amounts are not negative": `
    SELECT 'hold ' || id AS subject, 'at least 0' AS expected, least(credits, charge, cost) AS actual
      FROM hold WHERE least(credits, charge, cost) < 0
    UNION ALL
    SELECT 'account ' || id, 'at least 0', free_used FROM account WHERE free_used < 0
    UNION ALL
    SELECT 'entry ' || id, 'at least 0', least(CASE kind WHEN 'adjustment' THEN 0 ELSE credits END, cost)
      FROM entry WHERE least(CASE kind WHEN 'adjustment' THEN 0 ELSE credits END, cost) < 0`,
  "a deposit is booked as its status says, to its account": `
    SELECT 'deposit ' || coalesce(d.id, e.id) AS subject, CASE d.status WHEN 'COMPLETED' THEN d.credits ELSE 0 END AS expected,
           format('%s to account %s', coalesce(e.sum, 0), coalesce(e.account_id, d.account_id)) AS actual
      FROM deposit d FULL JOIN (
        SELECT deposit_id AS id, account_id, sum(CASE kind WHEN 'refund' THEN -credits ELSE credits END) AS sum
          FROM entry WHERE deposit_id IS NOT NULL GROUP BY deposit_id, account_id) e
        ON e.id = d.id AND e.account_id = d.account_id
     WHERE coalesce(CASE d.status WHEN 'COMPLETED' THEN d.credits END, 0) <> coalesce(e.sum, 0)`,
  "an adjustment has one entry, of its amount and account": `
    SELECT 'adjustment ' || coalesce(j.id::text, e.adjustment_id::text, '- of entry ' || e.id) AS subject,
           format('%s to account %s', coalesce(j.credits, 0), coalesce(j.account_id, e.account_id)) AS expected,
           format('%s to account %s', coalesce(e.credits, 0), coalesce(e.account_id, j.account_id)) AS actual
      FROM adjustment j FULL JOIN (SELECT * FROM entry WHERE kind = 'adjustment' OR adjustment_id IS NOT NULL) e
        ON e.adjustment_id = j.id
     WHERE (j.account_id, j.credits, 'adjustment') IS DISTINCT FROM (e.account_id, e.credits, e.kind::text)`,
  "a claim is of a hold of its account, since it was placed": `
    SELECT 'claim of hold ' || c.hold_id AS subject,
           format('account %s, %s', c.account_id, c.claimed_at) AS expected,
           coalesce(format('account %s, %s', h.account_id, h.placed_at), 'no hold') AS actual
      FROM idempotency c LEFT JOIN hold h ON h.id = c.hold_id
     WHERE (h.account_id, h.placed_at) IS DISTINCT FROM (c.account_id, c.claimed_at)`,
  "a captured hold was charged what its kept answer says": `
    SELECT 'hold ' || h.id AS subject, format('%s credits, %s pico', least(c.credits, h.credits), c.cost) AS expected,
           format('%s credits, %s pico', h.charge, h.cost) AS actual
      FROM idempotency c JOIN hold h ON h.id = c.hold_id
     WHERE h.state = 'captured' AND c.content_type IS NOT NULL
       AND (least(c.credits, h.credits), c.cost) IS DISTINCT FROM (h.charge, h.cost)`,
  "an answer is kept as a whole": `
    SELECT 'claim of hold ' || hold_id AS subject, 'all four values, or none' AS expected,
           num_nonnulls(content_type, body, credits, cost) || ' values' AS actual
      FROM idempotency WHERE num_nonnulls(content_type, body, credits, cost) NOT IN (0, 4)`,
  "usage_daily = charges of that day": `
    SELECT format('account %s, day %s, spender %s, model %s', account_id, day, spender_id, model) AS subject,
           format('%s requests, %s credits, %s pico', coalesce(e.requests, 0), coalesce(e.charge, 0), coalesce(e.cost, 0))
             AS expected,
           format('%s requests, %s credits, %s pico', coalesce(u.requests, 0), coalesce(u.charge, 0), coalesce(u.cost, 0))
             AS actual
      FROM (
        -- What was counted before providers were is told apart by its empty name: it is only right together with the rest.
        SELECT account_id, day, spender_id, model, sum(requests) AS requests, sum(charge) AS charge, sum(cost) AS cost
          FROM usage_daily GROUP BY 1, 2, 3, 4
      ) u FULL JOIN (
        SELECT h.account_id, (e.at AT TIME ZONE 'UTC')::date AS day, h.spender_id, h.model,
               count(*) AS requests, sum(e.credits) AS charge, sum(e.cost) AS cost
          FROM entry e JOIN hold h ON h.id = e.hold_id WHERE e.kind = 'charge' GROUP BY 1, 2, 3, 4
      ) e USING (account_id, day, spender_id, model)
     WHERE (u.requests, u.charge, u.cost) IS DISTINCT FROM (e.requests, e.charge, e.cost)`,
  "debits equal credits in each ledger": `
    SELECT 'ledger ' || ledger AS subject, sum(debit) AS expected, sum(credit) AS actual
      FROM posting GROUP BY ledger HAVING sum(debit) <> sum(credit)`,
};

const TOTALS = `SELECT
    (SELECT count(*) FROM account) AS accounts, (SELECT count(*) FROM hold) AS holds,
    (SELECT count(*) FROM hold WHERE state = 'open') AS open_holds,
    coalesce(sum(credits) FILTER (WHERE kind = 'charge'), 0)::text AS charged_credits,
    coalesce(sum(cost) FILTER (WHERE kind = 'charge'), 0)::text AS charged_cost,
    coalesce(sum(cost) FILTER (WHERE kind IN ('failed', 'late')), 0)::text AS lost_cost
  FROM entry`;

interface TotalsRow {
  accounts: bigint;
  holds: bigint;
  open_holds: bigint;
  charged_credits: string;
  charged_cost: string;
  lost_cost: string;
}

export function verifyLedger(pool: Pool): Promise<LedgerReport> {
  return inTransaction(pool, async (client) => {
    await client.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await client.query(`SET LOCAL statement_timeout = ${TIMEOUT_MS}`);
    const differences = await findDifferences(client);
    const { rows } = await client.query<TotalsRow>(patiently(TOTALS));
    const [totals] = rows;
    if (totals === undefined) throw new Error("the totals of the ledger have no row");
    return {
      differences,
      accounts: totals.accounts,
      holds: totals.holds,
      openHolds: totals.open_holds,
      chargedCredits: BigInt(totals.charged_credits),
      chargedCost: totals.charged_cost,
      lostCost: totals.lost_cost,
    };
  });
}

/** As the transaction of this connection sees the books. */
export async function findDifferences(client: PoolClient): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const [invariant, query] of Object.entries(INVARIANTS)) {
    const { rows } = await client.query<Omit<Difference, "invariant">>(
      patiently(`SELECT subject, expected::text, coalesce(actual::text, 'nothing') AS actual
         FROM (${query}) broken ORDER BY subject LIMIT ${MOST_DIFFERENCES}`),
    );
    differences.push(
      ...rows.map(({ subject, expected, actual }) => ({ invariant, subject, expected, actual })),
    );
  }
  return differences;
}

/** The pool gives up sooner than this; the server's word should come first. */
function patiently(text: string) {
  return { text, query_timeout: TIMEOUT_MS + 5_000 };
}
