// Orders state the payer, the upper bound and the routes of a paid request, and how its money can end.
import type { Claim, ReleaseReason } from "@gr/clients";
import type { Credits, PicoUsd } from "@gr/money";

/** Terms that are fixed before anything is sent. */
export interface Order {
  /** UUID of the request; also the id of its hold, and its id at providers. */
  readonly id: string;
  readonly accountId: string;
  /** Owner of the spend limit: an API key, or the account for its web tokens. */
  readonly keyId: string;
  /** Person of a web token, until the hold is placed. */
  readonly personId?: string | undefined;
  readonly model: string;
  readonly priceVersion: string;
  /** The hold's size: an upper bound of the charge. */
  readonly credits: Credits;
  /** The most that the client pays, if it has set a limit. The hold never grows above it. */
  readonly maxCost?: Credits | undefined;
  /**
   * Wanted size of the hold, for a request without a limit of its own. It is cut to a quarter of the free credits, but
   * not below `credits`.
   */
  readonly mostCredits?: Credits | undefined;
  /** Unix milliseconds after which any process resolves the hold. Includes the grace for a late bill. */
  readonly deadlineAt: number;
  /** Present if the request has an Idempotency-Key. */
  readonly claim?: Claim | undefined;
  /** The provider may bill the request in pieces, at different times. */
  readonly hasSeveralBills?: boolean | undefined;
}

/** One provider that can do the work. */
export interface Route {
  readonly provider: string;
  /** The model's name at the provider. */
  readonly upstreamModel: string;
}

export interface Bill {
  /** Credits that the customer pays. */
  readonly charge: Credits;
  /** Cost that the provider bills us. */
  readonly cost: PicoUsd;
}

/** The final state of a request's money. */
export type Ending = Captured | Released;

export interface Captured {
  readonly kind: "captured";
  readonly bill: Bill;
}

export interface Released {
  readonly kind: "released";
  readonly reason: ReleaseReason;
  /** Cost that the provider billed without a delivery; our loss. */
  readonly cost: PicoUsd;
  /** Provider that billed the cost. */
  readonly provider: string;
  /** One word for logs and counters. */
  readonly why: string;
  /** For the log; holds no secret. */
  readonly message: string;
}
