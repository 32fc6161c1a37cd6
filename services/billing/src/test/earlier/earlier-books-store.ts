// Earlier books own the views of an account as the version before reads them from its tables: the expectations of the reads that
// continue them.
import type { Id } from "@gr/ledger";
import type { Pool } from "@gr/runtime";

const CREDITS = `SELECT a.credits - (SELECT coalesce(sum(j.credits), 0)::bigint FROM adjustment j WHERE j.account_id = a.id) AS deposited,
    a.credits - a.debits AS remaining, a.held, a.suspended FROM account a WHERE a.id = $1`;

const KEYS = `SELECT s.id, s.name, s.cap, s.period::text AS period, s.expires_at AS "expiresAt", s.active, s.created_at AS "createdAt", s.revision,
    s.used, s.requests,
    CASE WHEN s.period = 'lifetime' OR w.is_current THEN s.window_used ELSE 0 END AS "windowUsed",
    CASE WHEN w.is_current THEN s.window_start END AS "windowStart"
  FROM spender s CROSS JOIN LATERAL (
    SELECT coalesce(s.window_start >= start_of_window(s.period, $2::timestamptz), false) AS is_current) w
 WHERE s.account_id = $1 ORDER BY s.created_at, s.id`;

const HOLDS = `SELECT id, spender_id AS "spenderId", credits, state::text AS state, coalesce(charge, 0) AS charge, coalesce(cost, 0) AS cost,
    attempt, service, provider, upstream_model AS "upstreamModel", model, price_version AS "priceVersion", placed_at AS "placedAt",
    deadline_at AS "deadlineAt" FROM hold WHERE account_id = $1 ORDER BY placed_at, id`;

const ENTRIES = `SELECT e.kind::text AS kind, e.at, CASE WHEN e.kind IN ('charge', 'refund') THEN -e.credits ELSE e.credits END AS credits,
    e.hold_id AS "holdId", h.model, h.spender_id AS "spenderId", d.source, a.reason, coalesce(e.deposit_id, e.adjustment_id) AS "bookingId"
  FROM entry e LEFT JOIN hold h ON h.id = e.hold_id LEFT JOIN deposit d ON d.id = e.deposit_id LEFT JOIN adjustment a ON a.id = e.adjustment_id
 WHERE e.account_id = $1 AND e.kind IN ('deposit', 'refund', 'adjustment', 'charge') ORDER BY e.id DESC`;

const USAGE = `SELECT spender_id::text AS "group", to_char(day, 'YYYY-MM-DD') AS day, sum(requests)::bigint AS requests, sum(charge)::bigint AS credits
  FROM usage_daily WHERE account_id = $1 GROUP BY 1, 2 ORDER BY 2, 1`;

const LAST_USED = `SELECT spender_id::text AS id, to_char(max(day), 'YYYY-MM-DD') AS day FROM usage_daily WHERE account_id = $1 GROUP BY 1 ORDER BY 1`;

const COSTS = `SELECT to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, e.provider,
    CASE WHEN e.attempt = h.attempt THEN h.upstream_model ELSE '' END AS "upstreamModel", sum(e.cost)::text AS cost, count(*) AS entries,
    coalesce(sum(e.credits) FILTER (WHERE e.kind = 'charge'), 0)::bigint AS charged,
    coalesce(sum(e.cost) FILTER (WHERE e.kind <> 'charge'), 0)::text AS lost
  FROM entry e LEFT JOIN hold h ON h.id = e.hold_id WHERE e.kind IN ('charge', 'failed', 'late') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

const ANSWERS = `SELECT hold_id AS "holdId", body FROM idempotency
  WHERE account_id = $1 AND content_type IS NOT NULL AND claimed_at > $2::timestamptz - interval '24 hours' ORDER BY hold_id`;

export async function earlierBooks(pool: Pool, accountId: Id, now: Date) {
  const rowsOf = async (text: string, ...values: unknown[]) => (await pool.query(text, values)).rows;
  return {
    credits: (await rowsOf(CREDITS, accountId))[0],
    keys: await rowsOf(KEYS, accountId, now),
    holds: await rowsOf(HOLDS, accountId),
    entries: await rowsOf(ENTRIES, accountId),
    usage: await rowsOf(USAGE, accountId),
    lastUsed: await rowsOf(LAST_USED, accountId),
    answers: await rowsOf(ANSWERS, accountId, now),
  };
}

export async function earlierCosts(pool: Pool) {
  const { rows } = await pool.query(COSTS);
  return rows;
}

/** Providers of all costs. */
export async function earlierProviders(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ provider: string }>(
    "SELECT DISTINCT provider FROM entry WHERE provider IS NOT NULL",
  );
  return rows.map(({ provider }) => provider);
}
