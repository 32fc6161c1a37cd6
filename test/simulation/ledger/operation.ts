// Operations on accounts in the terms of a history: accounts, keys and holds are numbers.
import type { Period } from "@gr/ledger";

export type Service = "text" | "media";

/** An Idempotency-Key and the content of its request. */
export interface Claim {
  readonly key: number;
  readonly content: number;
}

export interface Place {
  readonly kind: "place";
  readonly hold: number;
  readonly account: number;
  readonly spender: number;
  readonly credits: bigint;
  /** Largest size if enough credit is free; undefined = exactly the credits. */
  readonly most: bigint | undefined;
  readonly service: Service;
  /** Provider of the first attempt. */
  readonly provider: string;
  readonly deadlineAt: number;
  readonly claim: Claim | undefined;
}

export interface Capture {
  readonly kind: "capture";
  readonly hold: number;
  readonly credits: bigint;
  readonly cost: bigint;
}

export interface Release {
  /** Abandoned: released as unresolved. */
  readonly kind: "release" | "abandon";
  readonly hold: number;
  readonly cost: bigint;
  /** Provider of the cost; undefined = of the current attempt. */
  readonly provider: string | undefined;
}

/** Raises an open hold. */
export interface Extend {
  readonly kind: "extend";
  readonly hold: number;
  /** The new total. */
  readonly credits: bigint;
  readonly most: bigint | undefined;
  readonly deadlineAt: number;
}

/** Ends an attempt and names the next. */
export interface Next {
  readonly kind: "next";
  readonly hold: number;
  /** Provider of the attempt that begins. */
  readonly attempt: number;
  readonly provider: string;
  /** Cost of the attempt that has ended. */
  readonly cost: bigint;
  /** Provider of the ended attempt, if the next one has already begun. */
  readonly billedBy: string | undefined;
  readonly deadlineAt: number;
}

/** Assigns an overdue hold to a resolver. */
export interface Lease {
  readonly kind: "lease";
  readonly hold: number;
  readonly until: number;
}

/** Stores an answer before its capture. */
export interface Keep {
  readonly kind: "keep";
  readonly hold: number;
}

/** Changes the credit of an account. */
export interface Credit {
  readonly kind: "deposit" | "refund" | "adjustment";
  readonly id: number;
  readonly account: number;
  readonly credits: bigint;
}

/** Creates or changes a key. */
export interface PutKey {
  readonly kind: "budget";
  readonly spender: number;
  readonly account: number;
  readonly fields: SpenderFields;
  readonly revision: bigint;
}

/** Operations that end a hold. */
export type Resolution = Capture | Release;

export type HoldOperation = Place | Extend | Next | Resolution | Lease | Keep;
export type Operation = HoldOperation | Credit | PutKey;

/** Reasons to refuse a place or an extension; each is a row of the error table. */
export type Refusal =
  | "balance"
  | "balance, in flight"
  | "cap"
  | "cap, in flight"
  | "disabled or deleted"
  | "expired"
  | "free limit"
  | "claim in progress"
  | "claim mismatch";

export interface Outcome {
  readonly code:
    | "done"
    | "already resolved"
    | "unknown hold"
    | "claim finished"
    | "leased"
    | "stale revision"
    | Refusal;
}

export interface SpenderFields {
  readonly cap: bigint | undefined;
  readonly period: Period;
  readonly expiresAt: number | undefined;
  readonly active: boolean;
}
