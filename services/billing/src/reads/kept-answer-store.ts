// Kept-answer store owns the read of an answer for a repeated Idempotency-Key, within the lifetime of its claim.
import { CLAIM_LIFETIME_MS, type Id } from "@gr/ledger";
import type { Pool } from "@gr/runtime";
import { readEarlierAnswer } from "../before-steps/earlier-answer-store.ts";
import { placedAtOf } from "../before-steps/earlier-hold-store.ts";
import { bucketOf } from "../chain/bucket.ts";
import type { AnswerContent } from "../chain/claim-store.ts";

/** A claim is as old as the place of its hold; a hold from before the chain has its answer there. */
const READ = `SELECT a.content_type AS "contentType", a.body FROM kept_answer a
  JOIN step p ON p.bucket = a.bucket AND p.id = a.hold_id AND p.kind = 2 AND p.account_id = a.account_id
 WHERE a.bucket = $1 AND a.account_id = $2 AND a.hold_id = $3 AND ${placedAtOf("p")} > $4`;

/** @param now Unix milliseconds. @returns undefined if none is kept, if its claim is too old, or for another account's hold */
export async function readKeptAnswer(
  pool: Pool,
  accountId: Id,
  holdId: Id,
  now: number,
): Promise<AnswerContent | undefined> {
  const since = now - CLAIM_LIFETIME_MS;
  const values = [bucketOf(accountId), accountId, holdId, since];
  const [answer] = (await pool.query<AnswerContent>(READ, values)).rows;
  return answer ?? (await readEarlierAnswer(pool, accountId, holdId, since));
}
