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
   WHERE s.active AND (s.expires_at IS NULL OR s.expires_at > t.moment)`;

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
