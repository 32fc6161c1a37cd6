// One request of a client: one try, one hold. What the client asked for, and what the report and the invariants must know of
// its fate.
import type { Claim, Outcome, Service } from "../ledger/operation.ts";
import type { Life } from "../world/process.ts";

export type Answer =
  | { readonly kind: "ok"; readonly charge: bigint }
  /** The answer of an earlier request with the same Idempotency-Key. */
  | { readonly kind: "replayed"; readonly hold: number }
  | { readonly kind: "refused"; readonly code: Outcome["code"] }
  /** The request with the same Idempotency-Key was charged, and its answer is not kept any more. */
  | { readonly kind: "not kept" }
  /** Definite: nothing is charged. */
  | { readonly kind: "failed" }
  /** Definite: it was carried out too late, is withheld, and nothing is charged. */
  | { readonly kind: "late" }
  /** outcome_unknown: it may be charged yet. */
  | { readonly kind: "unknown" };

export interface Request {
  /** Its number, and its hold's. */
  readonly hold: number;
  readonly account: number;
  readonly spender: number;
  readonly service: Service;
  /** First size of the hold, at least; the price of media. */
  readonly credits: bigint;
  /** Of text without a limit of its own: the most that it can use. */
  readonly most: bigint | undefined;
  readonly claim: Claim | undefined;
  /** Of media: nothing of it is kept, so that only its own process can hand it over. */
  readonly ephemeral: boolean;
  /** Of text: its answer is larger than what billing keeps. */
  readonly huge: boolean;
  /** Of text. */
  readonly streamed: boolean;
  /** Who may do it, best first. */
  readonly providers: readonly string[];
  /** The client does not wait any more. */
  left: boolean;
  /** What the router answered, whether it arrived or not. */
  answer: Answer | undefined;
  /** When its router was done with it; by true time. */
  endedAt: number;
  /** A usable output reached the router that served it; or only one that resumed its job. */
  delivered: boolean;
  made: boolean;
  /** A look-up of it was not answered, so that its cost may have been metered or stay unknown. */
  silenced: boolean;
  /** Its router stood still meanwhile. */
  paused: boolean;
  /** When something of it could last not be told to billing; 0 = never. */
  notBookedAt: number;
  /** Its record was changed, and nobody knows whether it was. */
  recordLost: boolean;
  /** Who served it, who looks for the bill of its failure, and who gave it up. */
  servedBy: Life | undefined;
  searcher: Life | undefined;
  resolvedBy: Life | undefined;
  /** When each ended: its attempt failed at an unknown cost; its answer was delivered without a bill; it was given up. */
  failedAt: number | undefined;
  deliveredAt: number | undefined;
  givenUpAt: number | undefined;
}
