// Request owns one request of a client: one try with one hold. It contains the fields from the client, and the events that the report and
// the invariants read.
import { digestsOf, holdId, idOf } from "../ledger/ids.ts";
import type { Claim, Outcome, Service } from "../ledger/operation.ts";
import type { Life } from "../world/process.ts";
import { HOLD_FOR_MS } from "../world/timing.ts";

export type Answer =
  /** @property made number of delivered pictures; 1 for a text */
  | { readonly kind: "ok"; readonly charge: bigint; readonly made: number }
  /** A process will do the work of media whose client left. */
  | { readonly kind: "accepted" }
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
  /** Highest cost of a text without a limit of its own. */
  readonly most: bigint | undefined;
  readonly claim: Claim | undefined;
  /** Media: the kind and the number of outputs, and the mode of the client. */
  readonly kind: "image" | "video";
  readonly n: number;
  readonly asynchronous: boolean;
  /** Media without stored files: only the process of the request can deliver. */
  readonly ephemeral: boolean;
  /** True for a text with an answer above the limit of billing. */
  readonly huge: boolean;
  /** True for a text as a stream. */
  readonly streamed: boolean;
  /** True for a stream that fails over when its provider breaks off. */
  readonly continues: boolean;
  /** Names of possible providers, best first. */
  readonly providers: readonly string[];
  /** The client does not wait any more. */
  left: boolean;
  /** Answer of the router, also if it did not arrive. For an asynchronous request, the answer to a client that would wait. */
  answer: Answer | undefined;
  /** True time at which the router finished the request. */
  endedAt: number;
  /** A usable output reached the serving router; or only a router that resumed the job. */
  delivered: boolean;
  made: boolean;
  /** Pictures that providers handed to each process. */
  readonly handed: Map<Life, number>;
  /** The client read in the log that the request is free. */
  wasShownFree: boolean;
  /** First answer to a removal: the files are removed, or the request is released and its files follow. */
  removed: "ended" | "running" | undefined;
  /** True time of the last call for the first removal. */
  removalAskedAt: number;
  /** A look-up had no answer, so the cost is metered or stays unknown. */
  silenced: boolean;
  /** Text with a further route: the latest attempt certainly cost nothing, or continues there. */
  turnedAway: boolean;
  /** Cost of all parts but the last, of a stream that failed over. */
  carried: bigint;
  /** End of each part but the last, by its provider. */
  readonly partsAt: Map<string, number>;
  /** The router paused during the request. */
  paused: boolean;
  /** Time of the last call to billing that failed; 0 = none. */
  notBookedAt: number;
  /** A change of the record has an unknown outcome. */
  recordLost: boolean;
  /** Processes that served the request, that search for the bill of its failure, and that released it as unresolved. */
  servedBy: Life | undefined;
  searcher: Life | undefined;
  resolvedBy: Life | undefined;
  /** Times of a failure at an unknown cost, of a delivery without a bill, and of a release as unresolved. */
  failedAt: number | undefined;
  deliveredAt: number | undefined;
  givenUpAt: number | undefined;
}

/** The order of a router, of either service. */
export function orderOf(
  life: Life,
  { hold, account, spender, credits, most: mostCredits, claim }: Request,
  madeAt: number,
) {
  return {
    id: holdId(hold, madeAt),
    accountId: idOf(account),
    keyId: idOf(spender),
    model: "model",
    priceVersion: "v1",
    credits,
    mostCredits,
    deadlineAt: life.now() + HOLD_FOR_MS,
    claim: claim && digestsOf(claim),
  };
}
