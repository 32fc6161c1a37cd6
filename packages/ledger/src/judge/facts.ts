// Facts own the inputs of a decision beside the account and the operation, and the form of its answer. Each account has its
// own: a person with two accounts may use one Idempotency-Key in both, and the digests are equal.
import type { Id } from "../id.ts";
import type { Outcome } from "../outcome.ts";
import type { Step } from "../step.ts";
import type { ClaimRecord } from "./claims.ts";

/** Facts about one account that its state does not contain. */
export interface Facts {
  /** Ids without a hold in this account. */
  readonly absentHolds: ReadonlySet<Id>;
  /** By digest of the Idempotency-Key; null = the key has no owner. `decide` adds the claims of its own places. */
  readonly claims: Map<string, ClaimRecord | null>;
}

export interface Terms {
  /** Unix milliseconds. An account decides by this time or by that of its latest step, the later one. */
  readonly now: number;
  /** Places of zero credits of an account in one UTC day, at most; null = no limit. */
  readonly freeLimit: number | null;
}

/** A fact that the decision needs and `Facts` does not have. */
export type Missing = { readonly hold: Id } | { readonly claim: string };

export type Judged =
  | { readonly outcome: Outcome; readonly step?: Step | undefined }
  | { readonly missing: Missing };
