// ClaimPorts are the services on kept answers of Idempotency-Keys, as types only.
import type { Credits, PicoUsd } from "@gr/money";

export interface Answer {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** An answer, and the amounts of the capture of its hold. */
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
