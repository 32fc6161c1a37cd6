// The statement behind the mirror: how accounts and spenders stand, all of them in one moment.
import type { Pool } from "@gr/runtime";
import type { LedgerTime } from "../writer/ledger-time.ts";
import type { Payer, SpendNumbers } from "./spend-mirror.ts";

/** By spender. A spender that may not spend, or not from this account, is absent: it is refused for that. */
export type ReadSpendNumbers = (payers: readonly Payer[]) => Promise<Map<string, SpendNumbers>>;

/** Windows as in the SQL function `post`: one that has not been used yet has used nothing. */
const READ = `
  WITH t AS MATERIALIZED (SELECT coalesce($3::timestamptz, clock_timestamp()) AS moment)
  SELECT s.id, a.credits - a.debits AS balance, greatest(a.credits - a.debits - a.held, 0) AS available,
         s.cap, CASE WHEN s.window_start >= w.start OR w.start IS NULL THEN s.window_used ELSE 0 END AS used, s.period,
         coalesce(unix_ms(w.ends), 0) AS "resetsAt", unix_ms(t.moment) AS "confirmedAt",
         coalesce(unix_ms(least(w.ends, s.expires_at)), 0) AS "endsAt"
    FROM t, unnest($1::uuid[], $2::uuid[]) AS p (account_id, spender_id)
    JOIN spender s ON s.id = p.spender_id AND s.account_id = p.account_id
    JOIN account a ON a.id = s.account_id
    CROSS JOIN LATERAL (
      SELECT x.start, end_of_window(s.period, greatest(x.start, s.window_start)) AS ends
        FROM (SELECT start_of_window(s.period, t.moment) AS start) x
    ) w
   WHERE s.active AND NOT a.suspended AND (s.expires_at IS NULL OR s.expires_at > t.moment)`;

/** No row for a spender that is inactive, or not of this account. */
const READ_EXPIRY = `SELECT unix_ms(s.expires_at) AS expiry, a.suspended FROM spender s JOIN account a ON a.id = s.account_id
  WHERE s.id = $2 AND s.account_id = $1 AND s.active`;

interface Row extends SpendNumbers {
  readonly id: string;
}

export function createReadSpendNumbers(pool: Pool, time: LedgerTime): ReadSpendNumbers {
  return async (payers) => {
    const accounts = payers.map(({ accountId }) => accountId);
    const spenders = payers.map(({ spenderId }) => spenderId);
    const { rows } = await pool.query<Row>(READ, [accounts, spenders, time()]);
    return new Map(rows.map(({ id, ...numbers }) => [id, numbers]));
  };
}

/**
 * Why a payer that has no numbers may not spend.
 * @returns Unix milliseconds of its expiry; suspended, where its account is; undefined when it is unknown, inactive or another
 *   account's
 */
export type ReadExpiry = (payer: Payer) => Promise<bigint | "suspended" | undefined>;

export function createReadExpiry(pool: Pool): ReadExpiry {
  return async ({ accountId, spenderId }) => {
    const { rows } = await pool.query<{ expiry: bigint | null; suspended: boolean }>(READ_EXPIRY, [
      accountId,
      spenderId,
    ]);
    const [row] = rows;
    return row?.suspended === true ? "suspended" : (row?.expiry ?? undefined);
  };
}
