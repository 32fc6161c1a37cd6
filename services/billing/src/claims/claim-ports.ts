// ClaimPorts are the services on Idempotency-Keys and kept answers, and the dry runs of a place, as types only.
import type { Outcome } from "@gr/ledger";
import type { Credits, PicoUsd } from "@gr/money";
import type { Claim } from "../writer/operation.ts";

/** Account and key that would pay. */
export interface Payer {
  readonly accountId: string;
  readonly spenderId: string;
  /** Person of a web token. */
  readonly personId?: string | undefined;
}

/** Payer of a place with an Idempotency-Key. */
export interface ClaimingSpender extends Payer {
  readonly claim: Claim;
}

/** @param claimKey key of the claim of the later place, if any. @param credits size of the hold; 0 = the smallest */
export type CheckSpender = (payer: Payer, claimKey: Buffer | undefined, credits: Credits) => Promise<Outcome>;

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
