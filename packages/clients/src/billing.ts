// The billing client batches the money calls of requests: calls that gather while another is in flight are sent as one.
// `place` fails closed (no hold, no upstream call). Capture and release are retried, since both are idempotent.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Credits, PicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import {
  type BillingService,
  type OperationSchema,
  type Outcome,
  OutcomeCode,
  ReleaseReason,
} from "@gr/proto/billing";
import { addressFor, createBatcher, currentSpan, inSpan, type ServiceClient, type Timer } from "@gr/runtime";
import { CLAIM_RETRY_MS, refusal, unavailable } from "./refusal.ts";

export { ReleaseReason };

const MAX_BATCH = 256;
const MAX_QUEUE = 20_000;
/** Addresses of billing with a batcher; those of earlier processes are deleted first. */
const MOST_BATCHERS = 32;
const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 100;
/** Largest answer that billing keeps, in bytes. */
export const MOST_KEPT_BYTES = 8 * 1024 * 1024;

const CAPTURED: ReadonlySet<OutcomeCode> = new Set([OutcomeCode.DONE, OutcomeCode.ALREADY_RESOLVED]);
/** Outcomes of a finished release. A hold may not exist if its place was never answered. */
const RELEASED: ReadonlySet<OutcomeCode> = new Set([...CAPTURED, OutcomeCode.UNKNOWN_HOLD]);
const CLOSED: ReadonlySet<OutcomeCode> = new Set([OutcomeCode.ALREADY_RESOLVED, OutcomeCode.UNKNOWN_HOLD]);
/** Outcomes of an extension; a refusal has the reasons of a place. */
const EXTENDED: ReadonlySet<OutcomeCode> = new Set([
  ...RELEASED,
  OutcomeCode.INSUFFICIENT_CREDITS,
  OutcomeCode.SPEND_LIMIT_EXCEEDED,
  OutcomeCode.SPENDER_INACTIVE,
  OutcomeCode.SPENDER_EXPIRED,
  OutcomeCode.BUDGET_CLOSED,
]);

/** Claim of an Idempotency-Key, as two digests: of the key, and of its request. */
export interface Claim {
  readonly key: Uint8Array;
  readonly fingerprint: Uint8Array;
}

export interface PlaceRequest {
  /** UUID; the id of the request. */
  readonly holdId: string;
  readonly accountId: string;
  readonly spenderId: string;
  /** Person of a web token; the hold counts in the budget of this member too. */
  readonly personId?: string | undefined;
  /** Upper bound of the charge; with `mostCredits` the smallest useful hold. */
  readonly credits: Credits;
  /** Wanted size of the hold. It is cut to a quarter of the free credits, but not below `credits`. */
  readonly mostCredits?: Credits | undefined;
  /** Module that resolves the hold. */
  readonly service: string;
  /** Provider of the first attempt, and the model's name there. */
  readonly provider: string;
  readonly upstreamModel: string;
  readonly model: string;
  readonly priceVersion: string;
  /** Unix milliseconds after which the hold is looked up upstream. */
  readonly deadlineAt: number;
  /** Present if the request has an Idempotency-Key. */
  readonly claim?: Claim | undefined;
}

/** Spender and claim of a possible repeat. */
export interface ClaimingRequest {
  readonly accountId: string;
  readonly spenderId: string;
  readonly personId?: string | undefined;
  readonly claim: Claim;
}

/** Spender of a request before its body is read. */
export interface SpendingRequest {
  readonly accountId: string;
  readonly spenderId: string;
  readonly personId?: string | undefined;
  /** Claim of the later place, if any. */
  readonly claimKey?: Uint8Array | undefined;
  /** Minimum size of the later hold; absent: the smallest hold. */
  readonly credits?: Credits;
}

/** Answer that is sent again for a repeat of a claimed request. */
export interface KeptAnswer {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Name of a hold. Billing finds the hold by its account. */
export interface HoldName {
  readonly holdId: string;
  readonly accountId: string;
}

export interface CaptureRequest extends HoldName {
  readonly credits: Credits;
  readonly cost: PicoUsd;
}

export interface ExtendRequest extends HoldName {
  /** New size of the whole hold. */
  readonly credits: Credits;
  /** Maximum size of the hold, as for a place. */
  readonly mostCredits?: Credits | undefined;
  /** Unix milliseconds; the hold keeps the later one. */
  readonly deadlineAt: number;
}

/** Either the id of an earlier request that has the claim, or the size of the hold. */
export type Placed = { readonly earlier: string } | { readonly held: Credits };

export type Extended =
  | { readonly kind: "extended"; readonly held: Credits }
  /** Key or account cannot pay, for a reason that a place would have: the hold is unchanged. */
  | { readonly kind: "refused"; readonly error: ServiceError }
  /** The hold is no longer open. */
  | { readonly kind: "resolved" };

export interface NextAttemptRequest extends HoldName {
  /** Number of the attempt that begins, from 2. */
  readonly attempt: number;
  readonly provider: string;
  readonly upstreamModel: string;
  /** Cost that the provider of the attempt before billed; our loss. */
  readonly cost: PicoUsd;
  /** Provider of the attempt before, for a higher cost that is found later. */
  readonly billedBy?: string | undefined;
  /** Unix milliseconds; the hold keeps the later one. */
  readonly deadlineAt: number;
}

/** An open hold past its deadline, which its service must resolve now. */
export interface LeasedHold {
  readonly holdId: string;
  readonly accountId: string;
  /** Size of the hold. */
  readonly credits: Credits;
  /** Of the current attempt. */
  readonly provider: string;
  readonly upstreamModel: string;
  /** Unix milliseconds. */
  readonly deadlineAt: number;
  /** Amounts of the capture, if the answer was kept. */
  readonly kept: { readonly credits: Credits; readonly cost: PicoUsd } | undefined;
}

export interface Billing {
  /**
   * Reserves credits before anything is sent upstream.
   * @returns the reserved credits; or the id of a charged request that owns the claim. Then nothing was reserved,
   * nothing may be sent upstream, and the earlier answer must be sent again.
   * @throws ServiceError insufficient_credits, spend_limit_exceeded, credits_in_flight, spend_limit_in_flight, budget_closed,
   * free_limit_exceeded, rate_limit_exceeded, invalid_api_key, account_suspended, api_key_expired. Because of the claim:
   * idempotency_in_progress, idempotency_mismatch. If the existence of the hold is uncertain: billing_unavailable.
   */
  place(request: PlaceRequest): Promise<Placed>;
  /**
   * Keeps the answer of a claimed request before its capture. An answer that is too large is not kept.
   * @returns false if the hold is past its deadline and another process resolves or has resolved it. Then the hold must
   * not be captured, and the answer is withheld from everybody.
   * @throws ServiceError outcome_unknown if the result is uncertain.
   */
  keepAnswer(capture: CaptureRequest, answer: KeptAnswer): Promise<boolean>;
  /**
   * Finds the original of a request that would be refused now: a repeat is answered even if the rules have changed.
   * @returns the id of the earlier request. @throws ServiceError as place does because of its claim
   */
  findEarlier(request: ClaimingRequest): Promise<string | undefined>;
  /**
   * Resolves if the spender can pay for a hold of this size, or may repeat a charged request. Meant for requests that
   * are costly to receive. Reserves nothing: a later place may still be refused.
   * @throws ServiceError as place does if the credits would not cover it even without other open holds
   */
  maySpend(request: SpendingRequest): Promise<void>;
  /**
   * Returns the kept answer of a charged request; undefined if there is none.
   * @throws ServiceError service_unavailable
   */
  readAnswer(accountId: string, holdId: string): Promise<KeptAnswer | undefined>;
  /**
   * Charges a hold.
   * @returns false if the hold had been resolved in another way, which happens after its deadline: billing has booked
   * the cost as ours, nobody is charged, and the answer must be withheld.
   * @throws ServiceError outcome_unknown, which the client must never retry: the upstream has done its work, and the
   * hold waits for its resolver.
   */
  capture(request: CaptureRequest): Promise<boolean>;
  /**
   * Frees a hold, if there is one; `cost` is the amount that the upstream billed nevertheless.
   * @returns false if the hold was captured before: its customer is charged. @throws as capture
   */
  release(hold: HoldName, reason: ReleaseReason, cost?: PicoUsd, provider?: string): Promise<boolean>;
  /** Enlarges or prolongs an open hold. @throws as capture */
  extend(request: ExtendRequest): Promise<Extended>;
  /**
   * Ends one attempt and names the next, before that is sent. A repeat with `billedBy` and a higher cost books the
   * difference.
   * @returns false if the hold is no longer open: then nothing may be sent. @throws as capture
   */
  nextAttempt(request: NextAttemptRequest): Promise<boolean>;
  /**
   * Leases holds of this service that are past their deadline. For `leaseMs` no other process gets them.
   * @param limit most holds, 1 to 1,000. @throws ServiceError
   */
  leaseExpired(service: string, limit: number, leaseMs: number): Promise<LeasedHold[]>;
}

type OperationInit = MessageInitShape<typeof OperationSchema>;

/**
 * @param clock waits between two tries of a booking
 * @param turn waits after a call with operations of several requests, as in `BatcherOptions`
 */
export function createBilling(
  ledger: ServiceClient<typeof BillingService>,
  clock: Timer,
  turn?: () => Promise<void>,
): Billing {
  const batcherTo = (to: string) =>
    createBatcher<OperationInit, Outcome>(
      async (operations) => (await ledger.post({ operations }, { to })).outcomes,
      {
        maxBatch: MAX_BATCH,
        maxQueue: MAX_QUEUE,
        overflow: () => unavailable(undefined),
        mayBeOfOne: (error) => !isSilence(error),
        ...(turn && { turn }),
      },
    );
  const batchers = new Map<string, ReturnType<typeof batcherTo>>();

  /** Operations of one account share a batch with those of other accounts of the same billing process. */
  const batch = (operation: OperationInit): Promise<Outcome> => {
    const to = addressFor(ledger, operation.operation?.value?.accountId ?? "");
    return typeof to === "string" ? batchAt(to, operation) : to.then((known) => batchAt(known, operation));
  };

  const batchAt = (to: string, operation: OperationInit): Promise<Outcome> => {
    let batcher = batchers.get(to);
    if (batcher === undefined) {
      // A deleted batcher still sends its operations.
      if (batchers.size === MOST_BATCHERS) batchers.delete([...batchers.keys()][0] ?? "");
      batcher = batcherTo(to);
      batchers.set(to, batcher);
    }
    return batcher(operation);
  };

  const post = (operation: OperationInit): Promise<Outcome> =>
    currentSpan() === undefined
      ? batch(operation)
      : inSpan(
          `billing ${operation.operation?.case}`,
          () => ({}),
          () => batch(operation),
        );

  /** Tries a booking up to `ATTEMPTS` times, with growing pauses. @throws ServiceError outcome_unknown */
  async function insist<T>(attemptOnce: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await attemptOnce();
      } catch (error) {
        if (attempt === ATTEMPTS) throw notRecorded(error);
        await clock.sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1));
      }
    }
  }

  const record = (operation: OperationInit, expected: ReadonlySet<OutcomeCode>): Promise<Outcome> =>
    insist(async () => {
      const outcome = await post(operation);
      if (expected.has(outcome.code)) return outcome;
      throw new Error(`${operation.operation?.case} was answered with outcome ${outcome.code}`);
    });

  return {
    place: async ({ mostCredits, personId = "", ...request }) => {
      const value = { ...request, personId, ...upTo(mostCredits), deadlineAt: BigInt(request.deadlineAt) };
      let outcome: Outcome;
      try {
        outcome = await post({ operation: { case: "place", value } });
      } catch (error) {
        throw unavailable(error);
      }
      const earlier = earlierHoldOf(outcome, clock.now());
      if (earlier !== undefined) return { earlier };
      return { held: mostCredits === undefined ? request.credits : outcome.heldCredits };
    },
    capture: async ({ cost, ...capture }) => {
      const value = { ...capture, costPicoUsd: cost };
      const { code } = await record({ operation: { case: "capture", value } }, CAPTURED);
      return code === OutcomeCode.DONE;
    },
    release: async (hold, reason, cost = 0n, provider = "") => {
      const value = { ...hold, reason, costPicoUsd: cost, provider };
      const { code } = await record({ operation: { case: "release", value } }, RELEASED);
      return code !== OutcomeCode.ALREADY_RESOLVED;
    },
    extend: async ({ mostCredits, deadlineAt, ...extend }) => {
      const { credits } = extend;
      const value = { ...extend, ...upTo(mostCredits), deadlineAt: BigInt(deadlineAt) };
      const outcome = await record({ operation: { case: "extend", value } }, EXTENDED);
      if (outcome.code === OutcomeCode.DONE) {
        return { kind: "extended", held: mostCredits === undefined ? credits : outcome.heldCredits };
      }
      if (CLOSED.has(outcome.code)) return { kind: "resolved" };
      return { kind: "refused", error: refusal(outcome, clock.now()) };
    },
    nextAttempt: async ({ cost, deadlineAt, billedBy = "", ...attempt }) => {
      const value = { ...attempt, billedBy, costPicoUsd: cost, deadlineAt: BigInt(deadlineAt) };
      const { code } = await record({ operation: { case: "nextAttempt", value } }, RELEASED);
      return code === OutcomeCode.DONE;
    },
    leaseExpired: async (service, limit, leaseMs) => {
      const { holds } = await ledger.leaseExpiredHolds({ service, limit, leaseMs: BigInt(leaseMs) });
      return holds.map(({ holdId, accountId, credits, provider, upstreamModel, deadlineAt, kept }) => ({
        holdId,
        accountId,
        credits,
        provider,
        upstreamModel,
        deadlineAt: Number(deadlineAt),
        kept: kept && { credits: kept.credits, cost: kept.costPicoUsd },
      }));
    },
    keepAnswer: async ({ cost, ...capture }, { contentType, body }) => {
      if (body.byteLength > MOST_KEPT_BYTES) return true;
      const request = { ...capture, costPicoUsd: cost, contentType, body };
      return insist(() => ledger.keepAnswer(request).then(() => true, falseIfResolved));
    },
    findEarlier: async ({ accountId, spenderId, personId = "", claim }) => {
      const { outcome } = await ledger
        .judgeClaim({ accountId, spenderId, personId, claim })
        .catch((error) => {
          throw unavailable(error);
        });
      return outcome && earlierHoldOf(outcome, clock.now());
    },
    maySpend: async ({ personId = "", claimKey, credits, ...payer }) => {
      const request = { ...payer, personId, ...(claimKey && { claimKey }), ...(credits && { credits }) };
      const { outcome } = await ledger.checkSpender(request).catch((error) => {
        throw unavailable(error);
      });
      if (outcome !== undefined && outcome.code !== OutcomeCode.DONE) throw refusal(outcome, clock.now());
    },
    readAnswer: async (accountId, holdId) => {
      const { answer } = await ledger.readAnswer({ accountId, holdId }).catch((cause) => {
        const message = "The answer to this Idempotency-Key cannot be read at the moment; try again shortly.";
        throw new ServiceError("service_unavailable", message, { retryAfterMs: CLAIM_RETRY_MS, cause });
      });
      return answer;
    },
  };
}

function upTo(mostCredits: Credits | undefined): { readonly mostCredits?: Credits } {
  return mostCredits === undefined ? {} : { mostCredits };
}

/** Returns the charged hold that owns a claim; undefined if no request does. @throws ServiceError */
function earlierHoldOf(outcome: Outcome, now: number): string | undefined {
  if (outcome.code === OutcomeCode.CLAIM_FINISHED) return outcome.earlierHoldId;
  if (outcome.code !== OutcomeCode.DONE) throw refusal(outcome, now);
  return undefined;
}

/** Returns true if billing did not answer: then the fate of each operation of the batch is unknown. */
function isSilence(error: unknown): boolean {
  return (
    error instanceof ServiceError &&
    (error.reason === "service_unavailable" || error.reason === "billing_unavailable")
  );
}

/** Returns false if another process resolves the hold: billing then never keeps its answer. */
function falseIfResolved(error: unknown): false {
  if (error instanceof ServiceError && error.reason === "invalid_value") return false;
  throw error;
}

/** Returns the error after a dispatch. The client must not repeat the request, because it may still be charged. */
function notRecorded(cause: unknown): ServiceError {
  const message =
    "The request finished, but its cost could not be recorded in time, so its result is withheld. " +
    "It may still be charged; do not send it again before you have looked at your credits.";
  return new ServiceError("outcome_unknown", message, { cause });
}
