// One request of a client: one try, one hold. What the client asked for, and what the report and the invariants must know of
// its fate.
import { digestsOf, holdId, idOf } from "../ledger/ids.ts";
import type { Claim, Outcome, Service } from "../ledger/operation.ts";
import type { Life } from "../world/process.ts";
import { HOLD_FOR_MS } from "../world/timing.ts";

export type Answer =
  /** @property made pictures that were made; 1 of a text */
  | { readonly kind: "ok"; readonly charge: bigint; readonly made: number }
  /** Of media whose client does not wait: it is sure to be worked on. */
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
  /** Of text without a limit of its own: the most that it can use. */
  readonly most: bigint | undefined;
  readonly claim: Claim | undefined;
  /** Of media: what is asked for, how many of it, and whether its client waits for them. */
  readonly kind: "image" | "video";
  readonly n: number;
  readonly asynchronous: boolean;
  /** Of media: nothing of it is kept, so that only its own process can hand it over. */
  readonly ephemeral: boolean;
  /** Of text: its answer is larger than what billing keeps. */
  readonly huge: boolean;
  /** Of text. */
  readonly streamed: boolean;
  /** Of a stream: it is to go on elsewhere when it breaks off. */
  readonly continues: boolean;
  /** Who may do it, best first. */
  readonly providers: readonly string[];
  /** The client does not wait any more. */
  left: boolean;
  /** What the router answered, whether it arrived or not; of what is asynchronous, what it would have. */
  answer: Answer | undefined;
  /** When its router was done with it; by true time. */
  endedAt: number;
  /** A usable output reached the router that served it; or only one that resumed its job. */
  delivered: boolean;
  made: boolean;
  /** Pictures that providers handed to each process. */
  readonly handed: Map<Life, number>;
  /** Its client read in the log that it is free. */
  toldFree: boolean;
  /** Its client was first told that its files are removed, or that it is given up and they will be. */
  removed: "ended" | "running" | undefined;
  /** A look-up of it was not answered, so that its cost may have been metered or stay unknown. */
  silenced: boolean;
  /** Of text: there is another route, and its latest attempt has surely cost nothing, or is to be gone on with there. */
  turnedAway: boolean;
  /** Of a stream that went on elsewhere: what its parts before the last cost. */
  carried: bigint;
  /** When each part ended that is not the last, by its provider. */
  readonly partsAt: Map<string, number>;
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
