// One request of a client: one try, one hold, one upstream job at most. What the client asked for, and what the report
// and the invariants must know of its fate.
import type { Claim, Outcome, Service } from "./operation.ts";

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
  /** Also the id of the hold, and what the upstream knows it by. */
  readonly hold: number;
  readonly account: number;
  readonly spender: number;
  readonly service: Service;
  /** Size of the hold; the price of media. */
  readonly credits: bigint;
  readonly claim: Claim | undefined;
  /** Of media: nothing of it is kept, so that only its own process can hand it over. */
  readonly ephemeral: boolean;
  /** The client does not wait any more. */
  left: boolean;
  /** What the router answered, whether it arrived or not. */
  answer: Answer | undefined;
  /** A usable output reached its router. */
  delivered: boolean;
  /** A look-up of it was not answered, so that its cost may have been metered. */
  silenced: boolean;
  /** Its router stood still meanwhile. */
  paused: boolean;
}
