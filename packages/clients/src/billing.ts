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
import { createBatcher, currentSpan, inSpan, type ServiceClient, type Timer } from "@gr/runtime";
import { BillingShards, shardOf } from "./billing-shards.ts";
import { HeldWhere } from "./held-where.ts";

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
const CLOSED: ReadonlySet<OutcomeCode> = new Set([OutcomeCode.ALREADY_RESOLVED, OutcomeCode.UNKNOWN_HOLD]);
/** An extension is refused as a place would be. */
const EXTENDED: ReadonlySet<OutcomeCode> = new Set([
  ...RELEASED,
  OutcomeCode.INSUFFICIENT_CREDITS,
  OutcomeCode.SPEND_LIMIT_EXCEEDED,
  OutcomeCode.SPENDER_INACTIVE,
  OutcomeCode.SPENDER_EXPIRED,
]);

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
  /** Upper bound of the charge; with `mostCredits` the least that is worth beginning with. */
  readonly credits: Credits;
  /** As much is reserved where that is at most a quarter of what is free, else that quarter. */
  readonly mostCredits?: Credits | undefined;
  /** Module that resolves the hold. */
  readonly service: string;
  /** Whom the first attempt goes to, and the model's name there. */
  readonly provider: string;
  readonly upstreamModel: string;
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

/** Whose request is about to be taken in. */
export interface SpendingRequest {
  readonly accountId: string;
  readonly spenderId: string;
  /** Of the claim that its place will have, if any. */
  readonly claimKey?: Uint8Array | undefined;
  /** Least size of the hold that its place will have; the smallest when absent. */
  readonly credits?: Credits;
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

/** What its hold is to be captured with. */
export interface KeepRequest extends CaptureRequest {
  readonly accountId: string;
}

export interface ExtendRequest {
  readonly holdId: string;
  /** The hold's new size in all. */
  readonly credits: Credits;
  /** As large it may become, as of a place. */
  readonly mostCredits?: Credits | undefined;
  /** Unix milliseconds; the hold keeps the later one. */
  readonly deadlineAt: number;
}

/** Either the id of an earlier request that has the claim, or the size of the hold. */
export type Placed = { readonly earlier: string } | { readonly held: Credits };

export type Extended =
  | { readonly kind: "extended"; readonly held: Credits }
  /** The money does not allow it, for the reason that a place would get: the hold is as it was. */
  | { readonly kind: "refused"; readonly error: ServiceError }
  /** It is not open any more. */
  | { readonly kind: "resolved" };

export interface NextAttemptRequest {
  readonly holdId: string;
  /** Number of the attempt that begins, from 2. */
  readonly attempt: number;
  readonly provider: string;
  readonly upstreamModel: string;
  /** What the provider of the attempt before billed for it; our loss. */
  readonly cost: PicoUsd;
  /** Who made the attempt before; for whoever finds out afterwards that it has cost more. */
  readonly billedBy?: string | undefined;
  /** Unix milliseconds; the hold keeps the later one. */
  readonly deadlineAt: number;
}

/** An open hold past its deadline, which its service must resolve now. */
export interface LeasedHold {
  readonly holdId: string;
  /** Of the current attempt. */
  readonly provider: string;
  readonly upstreamModel: string;
  /** Unix milliseconds. */
  readonly deadlineAt: number;
  /** What it is to be captured with, when its answer was kept. */
  readonly kept: { readonly credits: Credits; readonly cost: PicoUsd } | undefined;
}

export interface Billing {
  /**
   * Reserves credits before anything is sent upstream.
   * @returns how much is reserved; or, when the claim belongs to a request that was charged, that request's id: then
   *   nothing was reserved, nothing must be sent upstream, and its answer is to be given again.
   * @throws ServiceError insufficient_credits, spend_limit_exceeded, credits_in_flight, spend_limit_in_flight,
   *   free_limit_exceeded, invalid_api_key, account_suspended, api_key_expired, idempotency_in_progress, idempotency_mismatch;
   *   billing_unavailable when it is not known whether the hold exists.
   */
  place(request: PlaceRequest): Promise<Placed>;
  /**
   * Keeps the answer of a claimed request before its capture. An answer that is too large is not kept.
   * @returns false when the hold is past its deadline and somebody resolves it, or has: then it must not be captured,
   *   and nobody may get the answer.
   * @throws ServiceError outcome_unknown when it is not known whether it was kept.
   */
  keepAnswer(capture: KeepRequest, answer: KeptAnswer): Promise<boolean>;
  /**
   * For a request that would be refused: whether it repeats one that was not, whatever has changed since.
   * @returns the id of the earlier request. @throws ServiceError as place does because of its claim
   */
  findEarlier(request: ClaimingRequest): Promise<string | undefined>;
  /**
   * For a request that is costly to take in: resolves when its spender can pay for a hold of this size, or when it may repeat
   * a request that was paid for. Reserves nothing: a place may be refused all the same.
   * @throws ServiceError as place does when the money does not cover it, were no other hold open
   */
  maySpend(request: SpendingRequest): Promise<void>;
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
  /**
   * Frees a hold, if there is one; `cost` is what the upstream billed all the same.
   * @returns false when the hold was captured before: its customer is charged. @throws as capture
   */
  release(holdId: string, reason: ReleaseReason, cost?: PicoUsd, provider?: string): Promise<boolean>;
  /**
   * Makes an open hold larger, or last longer.
   * @throws as capture
   */
  extend(request: ExtendRequest): Promise<Extended>;
  /**
   * Ends one attempt and names the next, before that is sent. Again with `billedBy` and a higher cost, it books the difference.
   * @returns false when the hold is not open any more: then nothing may be sent. @throws as capture
   */
  nextAttempt(request: NextAttemptRequest): Promise<boolean>;
  /**
   * Takes holds of this service that are past their deadline. They are nobody else's for `leaseMs`.
   * @param limit most holds, 1 to 1,000. @throws ServiceError
   */
  leaseExpired(service: string, limit: number, leaseMs: number): Promise<LeasedHold[]>;
}

type OperationInit = MessageInitShape<typeof OperationSchema>;

/**
 * @param ledger one, or several of which each has its accounts
 * @param clock waits between two tries of what must be recorded
 */
export function createBilling(
  ledger: ServiceClient<typeof BillingService> | BillingShards,
  clock: Timer,
): Billing {
  const shards = ledger instanceof BillingShards ? ledger : new BillingShards([ledger]);
  // Each has batches of its own: one that is silent keeps nobody else's accounts waiting.
  const batches = shards.all.map((client) => batchesOf(client));
  const heldWhere = new HeldWhere(batches.length);
  const route = (operation: OperationInit): Promise<Outcome> => {
    const { operation: one } = operation;
    const ask = (shard: number) => (batches[shard] as (of: OperationInit) => Promise<Outcome>)(operation);
    if (batches.length === 1) return ask(0);
    if (one?.case !== "place") return heldWhere.find(one?.value?.holdId ?? "", ask);
    const { holdId = "", accountId = "" } = one.value;
    const shard = shardOf(accountId, batches.length);
    heldWhere.remember(holdId, shard);
    return ask(shard);
  };

  const post = (operation: OperationInit) =>
    currentSpan() === undefined
      ? route(operation)
      : inSpan(
          `billing ${operation.operation?.case}`,
          () => ({}),
          () => route(operation),
        );

  /** After dispatch, what must be recorded is tried for a while. @throws ServiceError outcome_unknown */
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
    place: async ({ mostCredits, ...request }) => {
      const value = { ...request, ...upTo(mostCredits), deadlineAt: BigInt(request.deadlineAt) };
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
    capture: async ({ holdId, credits, cost }) => {
      const value = { holdId, credits, costPicoUsd: cost };
      const { code } = await record({ operation: { case: "capture", value } }, CAPTURED);
      return code === OutcomeCode.DONE;
    },
    release: async (holdId, reason, cost = 0n, provider = "") => {
      const value = { holdId, reason, costPicoUsd: cost, provider };
      const { code } = await record({ operation: { case: "release", value } }, RELEASED);
      return code !== OutcomeCode.ALREADY_RESOLVED;
    },
    extend: async ({ holdId, credits, mostCredits, deadlineAt }) => {
      const value = { holdId, credits, ...upTo(mostCredits), deadlineAt: BigInt(deadlineAt) };
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
      const request = { service, limit: Math.ceil(limit / shards.all.length), leaseMs: BigInt(leaseMs) };
      const answers = await Promise.allSettled(shards.all.map((client) => client.leaseExpiredHolds(request)));
      const [failure, ...failures] = answers.filter((answer) => answer.status === "rejected");
      // What one ledger has leased is not kept waiting for another.
      if (failure !== undefined && failures.length + 1 === answers.length) throw failure.reason;
      return answers.flatMap((answer, shard) => {
        if (answer.status === "rejected") return [];
        return answer.value.holds.map(({ holdId, provider, upstreamModel, deadlineAt, kept }) => {
          heldWhere.remember(holdId, shard);
          return {
            holdId,
            provider,
            upstreamModel,
            deadlineAt: Number(deadlineAt),
            kept: kept && { credits: kept.credits, cost: kept.costPicoUsd },
          };
        });
      });
    },
    keepAnswer: async ({ accountId, holdId, credits, cost }, { contentType, body }) => {
      if (body.byteLength > MOST_KEPT_BYTES) return true;
      const request = { holdId, credits, costPicoUsd: cost, contentType, body };
      return insist(() =>
        shards
          .of(accountId)
          .keepAnswer(request)
          .then(() => true, falseIfResolved),
      );
    },
    findEarlier: async ({ accountId, spenderId, claim }) => {
      const { outcome } = await shards
        .of(accountId)
        .judgeClaim({ accountId, spenderId, claim })
        .catch((error) => {
          throw unavailable(error);
        });
      return outcome && earlierHoldOf(outcome, clock.now());
    },
    maySpend: async ({ accountId, spenderId, claimKey, credits }) => {
      const request = { accountId, spenderId, ...(claimKey && { claimKey }), ...(credits && { credits }) };
      const { outcome } = await shards
        .of(accountId)
        .checkSpender(request)
        .catch((error) => {
          throw unavailable(error);
        });
      if (outcome !== undefined && outcome.code !== OutcomeCode.DONE) throw refusal(outcome, clock.now());
    },
    readAnswer: async (accountId, holdId) => {
      const { answer } = await shards
        .of(accountId)
        .readAnswer({ accountId, holdId })
        .catch((cause) => {
          const message =
            "The answer to this Idempotency-Key cannot be read at the moment; try again shortly.";
          throw new ServiceError("service_unavailable", message, { retryAfterMs: CLAIM_RETRY_MS, cause });
        });
      return answer;
    },
  };
}

function batchesOf(client: ServiceClient<typeof BillingService>) {
  return createBatcher<OperationInit, Outcome>(
    async (operations) => (await client.post({ operations })).outcomes,
    {
      maxBatch: MAX_BATCH,
      maxQueue: MAX_QUEUE,
      overflow: () => unavailable(undefined),
      mayBeOfOne: (error) => !isSilence(error),
    },
  );
}

function upTo(mostCredits: Credits | undefined): { readonly mostCredits?: Credits } {
  return mostCredits === undefined ? {} : { mostCredits };
}

/** The charged hold that a claim belongs to; undefined when nothing is in the way. @throws ServiceError */
function earlierHoldOf(outcome: Outcome, now: number): string | undefined {
  if (outcome.code === OutcomeCode.CLAIM_FINISHED) return outcome.earlierHoldId;
  if (outcome.code !== OutcomeCode.DONE) throw refusal(outcome, now);
  return undefined;
}

/** Billing did not answer: then nothing is known of any operation of a batch. */
function isSilence(error: unknown): boolean {
  return (
    error instanceof ServiceError &&
    (error.reason === "service_unavailable" || error.reason === "billing_unavailable")
  );
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
function notRecorded(cause: unknown): ServiceError {
  const message =
    "The request was carried out, but what it costs could not be recorded in time, so its result is withheld. " +
    "It may still be charged; do not send it again before you have looked at your credits.";
  return new ServiceError("outcome_unknown", message, { cause });
}

/** The caller's error for a refused place. @param now Unix milliseconds */
function refusal(outcome: Outcome, now: number): ServiceError {
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
      return outcome.suspended
        ? new ServiceError(
            "account_suspended",
            "The operator has suspended this account, so it may spend nothing. Requests that run go on; ask the operator to lift it.",
          )
        : new ServiceError("invalid_api_key", "The API key is not valid.");
    case OutcomeCode.FREE_LIMIT_EXCEEDED:
      return freeLimit(outcome, now);
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

function freeLimit({ resetsAt }: Outcome, now: number): ServiceError {
  const message =
    "This account has made as many requests to free models as a day allows. " +
    `It may make more from ${new Date(Number(resetsAt)).toISOString()}.`;
  const retryAfterMs = Math.max(0, Number(resetsAt) - now);
  return new ServiceError("free_limit_exceeded", message, { retryAfterMs });
}

function spendLimit(outcome: Outcome): ServiceError {
  const limit = `This key's spend limit of ${formatCredits(outcome.capCredits)} USD${periodWord(outcome.period)}`;
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
