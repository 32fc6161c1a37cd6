// Kept answer owns the row of an answer that a request with an Idempotency-Key stores before its capture. It is written in the
// statement of its step `keep`.
import type { Id } from "@gr/ledger";
import { columnsOf, type Value } from "./binary-rows.ts";
import { bucketOf } from "./bucket.ts";

export interface AnswerContent {
  readonly contentType: string;
  readonly body: Buffer;
}

export interface KeptAnswerRow extends AnswerContent {
  readonly accountId: Id;
  readonly holdId: Id;
  /** Unix milliseconds. */
  readonly keptAt: number;
}

export const KEPT_ANSWER_COLUMNS = columnsOf([
  ["uuid", ["account_id", "hold_id"]],
  ["int8", ["kept_at"]],
  ["int4", ["bucket"]],
  ["text", ["content_type"]],
  ["bytea", ["body"]],
]);

export function keptAnswerValues({ accountId, holdId, keptAt, contentType, body }: KeptAnswerRow): Value[] {
  return [accountId, holdId, keptAt, bucketOf(accountId), contentType, body];
}
