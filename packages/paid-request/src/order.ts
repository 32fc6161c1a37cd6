// What a paid request is: who pays at most how much, who may do the work, and how the money can end.
import type { Claim, ReleaseReason } from "@gr/clients";
import type { Credits, PicoUsd } from "@gr/money";

/** What is fixed before anything is sent. */
export interface Order {
  /** UUID of the request; also the id of its hold, and what providers know it by. */
  readonly id: string;
  readonly accountId: string;
  /** Whose spend limit counts: an API key, or the account's web tokens. */
  readonly keyId: string;
  readonly model: string;
  readonly priceVersion: string;
  /** The hold's size: an upper bound of the charge. */
  readonly credits: Credits;
  /** The most that the client pays, if it has set a limit. The hold never grows above it. */
  readonly maxCost?: Credits | undefined;
  /**
   * Of a request that does not say how much it may use: its hold is as large as this where that is at most a quarter of
   * what is free, else that quarter, and at least `credits`.
   */
  readonly mostCredits?: Credits | undefined;
  /** Unix milliseconds after which the hold is resolved by whoever finds it. Includes the grace for a late bill. */
  readonly deadlineAt: number;
  /** Of a request with an Idempotency-Key. */
  readonly claim?: Claim | undefined;
  /** Its provider may bill it in pieces, which need not appear at the same time. */
  readonly severalBills?: boolean | undefined;
}

/** One provider that can do the work. */
export interface Route {
  readonly provider: string;
  /** The model's name there. */
  readonly upstreamModel: string;
}

export interface Bill {
  /** What the customer pays. */
  readonly charge: Credits;
  /** What the provider bills us. */
  readonly cost: PicoUsd;
}

/** How the money of a request ends, once and for good. */
export type Ending = Captured | Released;

export interface Captured {
  readonly kind: "captured";
  readonly bill: Bill;
}

export interface Released {
  readonly kind: "released";
  readonly reason: ReleaseReason;
  /** What the provider billed all the same; our loss. */
  readonly cost: PicoUsd;
  /** Whose cost it is. */
  readonly provider: string;
  /** One word for logs and counters. */
  readonly why: string;
  /** For the log; holds no secret. */
  readonly message: string;
}
