// Statements on kept answers: what a claimed request was answered, for whoever sends its Idempotency-Key again.
import type { Credits, PicoUsd } from "@gr/money";
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";
import type { HoldState } from "../holds/hold.ts";
import { invalid } from "../rpc/field-rules.ts";
import type { LedgerTime } from "../writer/ledger-time.ts";
import { CLAIM_LIFETIME } from "./claim-store.ts";

export interface Answer {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** An answer and what its hold is to be captured with. */
export interface AnswerToKeep extends Answer {
  /** Undefined: the caller does not name the account. */
  readonly accountId: string | undefined;
  readonly holdId: string;
  readonly credits: Credits;
  readonly cost: PicoUsd;
}

export interface AnswerStore {
  /** Does nothing when an answer was kept before. @throws ServiceError invalid_value */
  keep(answer: AnswerToKeep): Promise<void>;
  /** Undefined when there is none, when its claim is too old, or when the hold is another account's. */
  read(accountId: string, holdId: string): Promise<Answer | undefined>;
}

export function createAnswerStore(pool: Pool, time: LedgerTime): AnswerStore {
  return {
    keep: (answer) => inTransaction(pool, (client) => keep(client, answer)),
    read: async (accountId, holdId) => {
      const { rows } = await pool.query<{ content_type: string; body: Uint8Array }>(
        `SELECT content_type, body FROM idempotency
          WHERE hold_id = $1 AND account_id = $2 AND content_type IS NOT NULL
            AND claimed_at > coalesce($3, now()) - ${CLAIM_LIFETIME}`,
        [holdId, accountId, time()],
      );
      const [row] = rows;
      return row && { contentType: row.content_type, body: row.body };
    },
  };
}

/** The hold is locked before the claim, as in a place that takes the key of a hold which it released. */
async function keep(client: PoolClient, answer: AnswerToKeep): Promise<void> {
  const { holdId, contentType, body, credits, cost } = answer;
  // Nobody resolves the hold before this is committed; and what was resolved before is seen by what follows.
  const holds = await client.query<{ state: HoldState; is_leased: boolean }>(
    "SELECT state, lease_until IS NOT NULL AS is_leased FROM hold WHERE id = $1 FOR SHARE",
    [holdId],
  );
  const claims = await client.query<{ is_kept: boolean }>(
    "SELECT content_type IS NOT NULL AS is_kept FROM idempotency WHERE hold_id = $1",
    [holdId],
  );
  const [claim] = claims.rows;
  if (claim === undefined)
    throw invalid("hold_id", "There is no hold of this id that was placed with a claim");
  if (claim.is_kept) return;
  if (holds.rows[0]?.state !== "open") throw invalid("hold_id", "The hold is not open any more");
  // Whoever has the lease was told that nothing was kept, and may be about to release the hold.
  if (holds.rows[0].is_leased) throw invalid("hold_id", "The hold is past its deadline and being resolved");
  // Whoever keeps it at the same time keeps the same.
  await client.query(
    `UPDATE idempotency SET content_type = $2, body = $3, credits = $4, cost = $5
      WHERE hold_id = $1 AND content_type IS NULL`,
    [holdId, contentType, body, credits, cost],
  );
}
