// The money calls of a request, batched: everything that gathers while a call is in flight leaves as one.
// Place fails closed (no hold, no upstream call); capture and release are retried, since both are idempotent.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Credits, formatCredits, type PicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import {
  type BillingService,
  type OperationSchema,
  type Outcome,
  OutcomeCode,
  ReleaseReason,
  SpendPeriod,
} from "@gr/proto/billing";
import { createBatcher, type ServiceClient } from "@gr/runtime";

export { ReleaseReason };

const MAX_BATCH = 256;
const MAX_QUEUE = 20_000;
const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 100;
const IN_FLIGHT_RETRY_MS = 1_000;
const CLAIM_RETRY_MS = 1_000;
/** As much as billing keeps of one answer. */
export const MOST_KEPT_BYTES = 8 * 1024 * 1024;

const CAPTURED: ReadonlySet<OutcomeCode> = new Set([OutcomeCode.DONE, OutcomeCode.ALREADY_RESOLVED]);
/** A hold whose place was never answered may not exist at all. */
const RELEASED: ReadonlySet<OutcomeCode> = new Set([...CAPTURED, OutcomeCode.UNKNOWN_HOLD]);

/** What an Idempotency-Key claims, as two digests: of the key, and of the request it belongs to. */
export interface Claim {
  readonly key: Uint8Array;
  readonly fingerprint: Uint8Array;
}

export interface PlaceRequest {
  /** UUID; the id of the request. */
  readonly holdId: string;
  readonly accountId: string;
  readonly spenderId: string;
  /** Upper bound of the charge. */
  readonly credits: Credits;
  /** Module that resolves the hold. */
  readonly service: string;
  readonly provider: string;
  readonly model: string;
  readonly priceVersion: string;
  /** Unix milliseconds after which the hold is looked up upstream. */
  readonly deadlineAt: number;
  /** Of a request with an Idempotency-Key. */
  readonly claim?: Claim | undefined;
}

/** Who repeats what. */
export interface ClaimingRequest {
  readonly accountId: string;
  readonly spenderId: string;
  readonly claim: Claim;
}

/** An answer that can be sent again to whoever repeats a claimed request. */
export interface KeptAnswer {
  readonly contentType: string;
  readonly body: Uint8Array;
}

export interface CaptureRequest {
  readonly holdId: string;
  readonly credits: Credits;
  readonly cost: PicoUsd;
}

export interface Billing {
  /**
   * Reserves credits before anything is sent upstream.
   * @returns undefined; or, when the claim belongs to a request that was charged, that request's id: then nothing was
   *   reserved, nothing must be sent upstream, and its answer is to be given again.
   * @throws ServiceError insufficient_credits, spend_limit_exceeded, credits_in_flight, spend_limit_in_flight,
   *   free_limit_exceeded, invalid_api_key, api_key_expired, idempotency_in_progress, idempotency_mismatch;
   *   billing_unavailable when it is not known whether the hold exists.
   */
  place(request: PlaceRequest): Promise<string | undefined>;
  /**
   * Keeps the answer of a claimed request before its capture. An answer that is too large is not kept.
   * @returns false when the hold is past its deadline and somebody resolves it, or has: then it must not be captured,
   *   and nobody may get the answer.
   * @throws ServiceError outcome_unknown when it is not known whether it was kept.
   */
  keepAnswer(capture: CaptureRequest, answer: KeptAnswer): Promise<boolean>;
  /**
   * For a request that would be refused: whether it repeats one that was not, whatever has changed since.
   * @returns as place does, but nothing is reserved. @throws ServiceError as place does because of its claim
   */
  findEarlier(request: ClaimingRequest): Promise<string | undefined>;
  /** The kept answer of a charged request; undefined when there is none. @throws ServiceError service_unavailable */
  readAnswer(accountId: string, holdId: string): Promise<KeptAnswer | undefined>;
  /**
   * Charges a hold.
   * @returns false when the hold was resolved in another way before, as happens past its deadline: billing has booked
   *   the cost as ours, nobody is charged, and so nobody may get the answer.
   * @throws ServiceError outcome_unknown, never to be retried by the client: the upstream has done its work, and the
   *   hold waits for its resolver.
   */
  capture(request: CaptureRequest): Promise<boolean>;
  /** Frees a hold, if there is one; `cost` is what the upstream billed all the same. @throws as capture */
  release(holdId: string, reason: ReleaseReason, cost?: PicoUsd): Promise<void>;
}

type OperationInit = MessageInitShape<typeof OperationSchema>;

export function createBilling(client: ServiceClient<typeof BillingService>): Billing {
  const post = createBatcher<OperationInit, Outcome>(
    async (operations) => (await client.post({ operations })).outcomes,
    { maxBatch: MAX_BATCH, maxQueue: MAX_QUEUE, overflow: () => unavailable(undefined) },
  );

  const settle = (operation: OperationInit, settled: ReadonlySet<OutcomeCode>): Promise<OutcomeCode> =>
    insist(async () => {
      const { code } = await post(operation);
      if (settled.has(code)) return code;
      throw new Error(`${operation.operation?.case} was answered with outcome ${code}`);
    });

  return {
    place: async (request) => {
      const value = { ...request, deadlineAt: BigInt(request.deadlineAt) };
      const outcome = await post({ operation: { case: "place", value } }).catch((error) => {
        throw unavailable(error);
      });
      return earlierHoldOf(outcome);
    },
    capture: async ({ holdId, credits, cost }) => {
      const value = { holdId, credits, costPicoUsd: cost };
      return (await settle({ operation: { case: "capture", value } }, CAPTURED)) === OutcomeCode.DONE;
    },
    release: async (holdId, reason, cost = 0n) => {
      await settle(
        { operation: { case: "release", value: { holdId, reason, costPicoUsd: cost } } },
        RELEASED,
      );
    },
    keepAnswer: async ({ holdId, credits, cost }, { contentType, body }) => {
      if (body.byteLength > MOST_KEPT_BYTES) return true;
      const request = { holdId, credits, costPicoUsd: cost, contentType, body };
      return insist(() => client.keepAnswer(request).then(() => true, falseIfResolved));
    },
    findEarlier: async ({ accountId, spenderId, claim }) => {
      const { outcome } = await client.judgeClaim({ accountId, spenderId, claim }).catch((error) => {
        throw unavailable(error);
      });
      return outcome && earlierHoldOf(outcome);
    },
    readAnswer: async (accountId, holdId) => {
      const { answer } = await client.readAnswer({ accountId, holdId }).catch((cause) => {
        const message = "The answer to this Idempotency-Key cannot be read at the moment; try again shortly.";
        throw new ServiceError("service_unavailable", message, { retryAfterMs: CLAIM_RETRY_MS, cause });
      });
      return answer;
    },
  };
}

/** The charged hold that a claim belongs to; undefined when nothing is in the way. @throws ServiceError */
function earlierHoldOf(outcome: Outcome): string | undefined {
  if (outcome.code === OutcomeCode.CLAIM_FINISHED) return outcome.earlierHoldId;
  if (outcome.code !== OutcomeCode.DONE) throw refusal(outcome);
  return undefined;
}

/** After dispatch, what must be recorded is tried for a while. @throws ServiceError outcome_unknown */
async function insist<T>(attemptOnce: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptOnce();
    } catch (error) {
      if (attempt === ATTEMPTS) throw notSettled(error);
      await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** (attempt - 1)));
    }
  }
}

/** Billing keeps no answer of a hold that is somebody else's to resolve, however often it is asked. */
function falseIfResolved(error: unknown): false {
  if (error instanceof ServiceError && error.reason === "invalid_value") return false;
  throw error;
}

function unavailable(cause: unknown): ServiceError {
  const message = "Billing cannot be reached, so nothing was started and nothing charged; try again shortly.";
  return new ServiceError("billing_unavailable", message, { retryAfterMs: 1_000, cause });
}

/** After dispatch the request must not be sent again: it may be charged yet. */
function notSettled(cause: unknown): ServiceError {
  const message =
    "The request was carried out, but what it costs could not be recorded in time, so its result is withheld. " +
    "It may still be charged; do not send it again before you have looked at your credits.";
  return new ServiceError("outcome_unknown", message, { cause });
}

/** The caller's error for a refused place. */
function refusal(outcome: Outcome): ServiceError {
  switch (outcome.code) {
    case OutcomeCode.INSUFFICIENT_CREDITS:
      return outcome.inFlight
        ? new ServiceError(
            "credits_in_flight",
            "The remaining credits are reserved by requests that are still running; try again when they have finished.",
            { retryAfterMs: IN_FLIGHT_RETRY_MS },
          )
        : new ServiceError(
            "insufficient_credits",
            `This request may cost more than the ${formatCredits(outcome.availableCredits)} USD of credit that are left.`,
          );
    case OutcomeCode.SPEND_LIMIT_EXCEEDED:
      return spendLimit(outcome);
    case OutcomeCode.SPENDER_EXPIRED:
      return new ServiceError(
        "api_key_expired",
        `This API key expired at ${new Date(Number(outcome.expiresAt)).toISOString()}.`,
      );
    case OutcomeCode.SPENDER_INACTIVE:
      return new ServiceError("invalid_api_key", "The API key is not valid.");
    case OutcomeCode.FREE_LIMIT_EXCEEDED:
      return freeLimit(outcome);
    case OutcomeCode.CLAIM_IN_PROGRESS:
      return new ServiceError(
        "idempotency_in_progress",
        "A request with this Idempotency-Key is still running; send it again with the same key when it has ended.",
        { retryAfterMs: CLAIM_RETRY_MS },
      );
    case OutcomeCode.CLAIM_MISMATCH:
      return new ServiceError(
        "idempotency_mismatch",
        "This Idempotency-Key was used for another request; use a new key for each request.",
        { param: "Idempotency-Key" },
      );
    default:
      return unavailable(new Error(`place was answered with outcome ${outcome.code}`));
  }
}

function freeLimit({ resetsAt }: Outcome): ServiceError {
  const message =
    "This account has made as many requests to free models as a day allows. " +
    `It may make more from ${new Date(Number(resetsAt)).toISOString()}.`;
  const retryAfterMs = Math.max(0, Number(resetsAt) - Date.now());
  return new ServiceError("free_limit_exceeded", message, { retryAfterMs });
}

function spendLimit(outcome: Outcome): ServiceError {
  const limit = `This API key's spend limit of ${formatCredits(outcome.capCredits)} USD${periodWord(outcome.period)}`;
  if (outcome.inFlight) {
    const message = `${limit} is reserved by requests that are still running; try again when they have finished.`;
    return new ServiceError("spend_limit_in_flight", message, { retryAfterMs: IN_FLIGHT_RETRY_MS });
  }
  const resets =
    outcome.resetsAt === 0n
      ? "It does not reset."
      : `It resets at ${new Date(Number(outcome.resetsAt)).toISOString()}.`;
  return new ServiceError("spend_limit_exceeded", `${limit} does not allow this request. ${resets}`);
}

function periodWord(period: SpendPeriod): string {
  switch (period) {
    case SpendPeriod.DAY:
      return " a day";
    case SpendPeriod.WEEK:
      return " a week";
    case SpendPeriod.MONTH:
      return " a month";
    default:
      return "";
  }
}
