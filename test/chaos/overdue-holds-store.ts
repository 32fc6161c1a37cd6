// Overdue holds own a change of the ledger that no client can make: the deadlines of all open holds are over. Each account gets a step
// of its own for it, so processes with the account in memory read it. Each budget has no parent here.
import type { Pool } from "@gr/runtime";
import { until } from "@gr/testing";

const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const IS_OPEN = `s.kind IN (2, 3, 4) AND NOT EXISTS (
    SELECT FROM billing.step e WHERE e.bucket = s.bucket AND e.account_id = s.account_id AND e.place_seq = coalesce(s.place_seq, s.seq)
       AND e.kind IN (5, 6, 7))`;

const MOVE_STEPS = `UPDATE billing.step s SET deadline_at = least(deadline_at, ${NOW}) WHERE ${IS_OPEN}`;
/** As the follower computes it: a verification between an end and the follower's next round compares both. */
const MOVE_LIST = `UPDATE billing.open_hold o SET deadline_at = h.deadline_at FROM (
    SELECT bucket, account_id, coalesce(place_seq, seq) AS place_seq, max(deadline_at) AS deadline_at
      FROM billing.step WHERE kind IN (2, 3, 4) GROUP BY 1, 2, 3) h
  WHERE h.bucket = o.bucket AND h.account_id = o.account_id AND h.place_seq = o.place_seq AND o.deadline_at > h.deadline_at`;
/** Open holds that the list does not show as overdue: a follower is about to list them. */
const UNLISTED = `SELECT FROM billing.step s
  WHERE ${IS_OPEN} AND s.kind = 2 AND NOT EXISTS (
    SELECT FROM billing.open_hold o
     WHERE o.bucket = s.bucket AND o.account_id = s.account_id AND o.place_seq = s.seq AND o.deadline_at <= ${NOW})`;

/** Extensions by nothing. */
const ADD_STEPS = `INSERT INTO billing.step (tx, bucket, account_id, seq, id, kind, at, credits, charge, cost, place_seq, deadline_at,
    credited, debited, held, attempt, budget1, window1, used1, held1)
  SELECT pg_current_xact_id()::text::bigint, s.bucket, s.account_id, l.seq + row_number() OVER (PARTITION BY s.account_id ORDER BY s.seq),
    s.id, 3, greatest(l.at, ${NOW}), 0, 0, 0, s.seq, ${NOW}, l.credited, l.debited, l.held, 1, s.budget1, s.window1, t.used1, t.held1
  FROM billing.step s
  CROSS JOIN LATERAL (
    SELECT * FROM billing.step l WHERE l.bucket = s.bucket AND l.account_id = s.account_id ORDER BY l.seq DESC LIMIT 1) l
  CROSS JOIN LATERAL (
    SELECT t.used1, t.held1 FROM billing.step t
     WHERE t.bucket = s.bucket AND t.account_id = s.account_id AND t.budget1 = s.budget1 AND t.window1 = s.window1
     ORDER BY t.seq DESC LIMIT 1) t
  WHERE ${IS_OPEN} AND s.kind = 2`;

const LISTED_WITHIN_MS = 60_000;
const UNIQUE_VIOLATION = "23505";

/** No test waits for deadlines, and a slow machine has time for its work. */
export async function letHoldsBeOverdue(db: Pool): Promise<void> {
  for (;;) {
    try {
      await db.query(ADD_STEPS);
      break;
    } catch (error) {
      // A writer was faster.
      if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
    }
  }
  await until(
    async () => {
      await db.query(MOVE_STEPS);
      await db.query(MOVE_LIST);
      return (await db.query(UNLISTED)).rowCount === 0;
    },
    { timeoutMs: LISTED_WITHIN_MS },
  );
}
