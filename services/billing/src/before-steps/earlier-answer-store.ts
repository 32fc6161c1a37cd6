// Earlier-answer store owns the answers that were kept before the chain of steps: their reads, and their deletion after a day.
import type { Id } from "@gr/ledger";
import type { Pool } from "@gr/runtime";

const READ = `SELECT content_type AS "contentType", body FROM idempotency
  WHERE hold_id = $1 AND account_id = $2 AND content_type IS NOT NULL AND claimed_at > to_timestamp($3 / 1000::float8)`;

export interface EarlierAnswer {
  readonly contentType: string;
  readonly body: Buffer;
}

/** Rows that are deleted in one statement. */
const SLICE = 500;
const SWEEP = `DELETE FROM idempotency WHERE hold_id = ANY (ARRAY (
    SELECT hold_id FROM idempotency WHERE claimed_at <= to_timestamp($1 / 1000::float8)
     ORDER BY claimed_at LIMIT ${SLICE} FOR UPDATE SKIP LOCKED))`;

/** @param since Unix milliseconds of the earliest valid claim */
export async function readEarlierAnswer(
  pool: Pool,
  accountId: Id,
  holdId: Id,
  since: number,
): Promise<EarlierAnswer | undefined> {
  return (
    await pool.query<EarlierAnswer>({
      name: "earlier_answer",
      text: READ,
      values: [holdId, accountId, since],
    })
  ).rows[0];
}

/** Deletes expired claims and answers in slices; claims of open holds are in the chain. @param since as for the read */
export async function sweepEarlierAnswers(pool: Pool, since: number, stopping: AbortSignal): Promise<void> {
  let deleted: number | null = SLICE;
  while (deleted === SLICE && !stopping.aborted) deleted = (await pool.query(SWEEP, [since])).rowCount;
}
