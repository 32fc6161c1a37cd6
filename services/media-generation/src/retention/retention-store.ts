// The SQL of media retention: the accounts' own periods, and the expired files.
// Every hosted file has a row, so no storage is ever listed.
import type { Pool } from "@gr/runtime";

/** Days; 0 = for ever. */
export type Days = number;

export const MOST_DAYS = 36_500;

export interface Expired {
  readonly id: string;
  /** Names of its files. */
  readonly outputs: readonly string[];
}

export interface RetentionStore {
  /** Undefined for an account without its own. */
  daysOf(accountId: string): Promise<Days | undefined>;
  /** @param days undefined deletes the account's own period */
  setDaysOf(accountId: string, days: Days | undefined): Promise<void>;
  /**
   * Returns the oldest generations of each account with expired files that are not yet marked as deleted.
   * @param byDefault of accounts without their own. @param now Unix milliseconds
   */
  findExpired(byDefault: Days, now: number, limit: number): Promise<Expired[]>;
  /** Records that the files of these generations were deleted. */
  markExpired(ids: readonly string[], now: number): Promise<void>;
  /**
   * Returns generations that their clients removed, longest ago first, and that are not yet marked as deleted for the last time.
   * @param before Unix milliseconds
   */
  findRemoved(before: number, limit: number): Promise<Expired[]>;
  /** Records that the files of these generations were deleted for the last time. */
  markRemoved(ids: readonly string[], now: number): Promise<void>;
}

/** The condition of the index generation_kept. */
const KEPT = `state = 'succeeded' AND booked_at IS NOT NULL AND deleted_at IS NULL AND expired_at IS NULL
  AND json_array_length(outputs) > 0`;

export function createRetentionStore(pool: Pool): RetentionStore {
  return {
    daysOf: async (accountId) => {
      const text = "SELECT days FROM media_retention WHERE account_id = $1";
      return (await pool.query<{ days: number }>(text, [accountId])).rows[0]?.days;
    },
    setDaysOf: async (accountId, days) => {
      if (days === undefined) {
        await pool.query("DELETE FROM media_retention WHERE account_id = $1", [accountId]);
        return;
      }
      await pool.query(
        `INSERT INTO media_retention (account_id, days) VALUES ($1, $2)
         ON CONFLICT (account_id) DO UPDATE SET days = excluded.days, changed_at = now()`,
        [accountId, days],
      );
    },
    // Skips from account to account in the index, so that accounts with unlimited retention are not scanned.
    findExpired: async (byDefault, now, limit) => {
      const { rows } = await pool.query<Expired>(
        `WITH RECURSIVE keeper AS (
           (SELECT account_id FROM generation WHERE ${KEPT} ORDER BY account_id LIMIT 1)
           UNION ALL
           SELECT (SELECT account_id FROM generation WHERE ${KEPT} AND account_id > keeper.account_id
                   ORDER BY account_id LIMIT 1)
           FROM keeper WHERE keeper.account_id IS NOT NULL
         ), term AS (
           SELECT keeper.account_id, coalesce(own.days, $1) AS days
           FROM keeper LEFT JOIN media_retention own USING (account_id)
           WHERE keeper.account_id IS NOT NULL
         )
         SELECT over.id, over.outputs FROM term, LATERAL (
           SELECT id, outputs FROM generation
           WHERE ${KEPT} AND account_id = term.account_id
             AND finished_at < $2::timestamptz - term.days * interval '1 day'
           ORDER BY finished_at LIMIT $3
         ) over
         WHERE term.days > 0 LIMIT $3`,
        [byDefault, new Date(now), limit],
      );
      return rows;
    },
    markExpired: async (ids, now) => {
      await pool.query(
        "UPDATE generation SET expired_at = $2 WHERE id = ANY($1) AND expired_at IS NULL AND deleted_at IS NULL",
        [ids, new Date(now)],
      );
    },
    // In the words of the index generation_removed.
    findRemoved: async (before, limit) => {
      const { rows } = await pool.query<Expired>(
        `SELECT id, outputs FROM generation
         WHERE deleted_at IS NOT NULL AND files_removed_at IS NULL AND json_array_length(outputs) > 0 AND deleted_at < $1
         ORDER BY deleted_at LIMIT $2`,
        [new Date(before), limit],
      );
      return rows;
    },
    markRemoved: async (ids, now) => {
      await pool.query("UPDATE generation SET files_removed_at = $2 WHERE id = ANY($1)", [
        ids,
        new Date(now),
      ]);
    },
  };
}
