// Failed attempts delivered nothing to charge for. Each function returns the client's error and the cost so far.
// The account pays nothing, and an upstream's bill is our loss.

import type { PicoUsd } from "@gr/money";
import type { Failed, Unknown } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import type { TextEvents } from "../events.ts";
import type { TextOrder } from "../request/text-order.ts";
import type { CollectedAnswer } from "../upstream/collected-answer.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { UpstreamLoss } from "../upstream/upstream-call.ts";
import { isAboutAccount, KEY_COOL_DOWN_MS, refusalOf } from "../upstream/upstream-refusal.ts";
import { costOf } from "../upstream/usage.ts";
import type { CarriedPart } from "./carried-part.ts";
import type { TrustTerms } from "./trusted-cost.ts";
import { readWholeAnswer, type WholeAnswer } from "./whole-answer.ts";

export interface Attempt {
  readonly order: TextOrder;
  readonly upstream: Upstream;
  readonly events: TextEvents;
  /** Earlier parts of the answer, from other upstreams. */
  readonly carried?: CarriedPart | undefined;
  /** Returns the present hold and the largest usage. */
  readonly terms: () => TrustTerms;
  /** The upstream stops within the hold, because of a limit on its output. */
  readonly stopsWithinHold: boolean;
  /** Starts a cool-down of this many milliseconds, at the upstream's wish. */
  readonly coolDown: (ms: number) => void;
}

const NOT_REACHED = "The provider of this model cannot be reached; nothing was charged.";
const TOO_LATE = "The provider of this model did not answer in time; nothing was charged.";
const BROKEN = "The provider of this model broke off its answer; nothing was charged.";
const GIVEN_UP = "The router ended this answer early; nothing was charged.";
const UNUSABLE = "The provider of this model sent no usable answer.";
const RETRY_MS = 1_000;

/**
 * Ends an attempt without a complete answer. @param billId of the generation; empty if the upstream has not named it
 */
export function lostAttempt({ order, events }: Attempt, loss: UpstreamLoss, billId = ""): Failed | Unknown {
  events.lost(order, loss);
  const why = loss.kind.replace(" ", "_");
  const message = loss.code;
  if (loss.kind !== "not sent") return { kind: "unknown", error: lossError(loss), billId, why, message };
  const error = new ServiceError("provider_unavailable", NOT_REACHED, {
    retryAfterMs: RETRY_MS,
    cause: loss,
  });
  return { kind: "failed", error, cost: 0n, billId, isUnsent: true, mayFallBack: true, why, message };
}

/** @param loss undefined if the upstream itself reported the failure */
export function lossError(loss: UpstreamLoss | undefined): ServiceError {
  if (loss?.kind === "given up") {
    return new ServiceError("service_unavailable", GIVEN_UP, { retryAfterMs: RETRY_MS, cause: loss });
  }
  const late = loss?.kind === "timeout" || loss?.kind === "total time";
  return late
    ? new ServiceError("provider_timeout", TOO_LATE, { cause: loss })
    : new ServiceError("provider_error", BROKEN, { cause: loss });
}

/** Ends an attempt with an error answer. A bill within the error is its cost, at any status. */
export function refusedAttempt(
  { order, upstream, events, coolDown }: Attempt,
  answer: CollectedAnswer,
): Failed | Unknown {
  const refusal = refusalOf(answer, (text) => upstream.redact(text));
  events.refused(order, upstream.name, answer.status, refusal);
  const { error, outcome, mayServeElsewhere, isOurFault } = refusal;
  if (isOurFault) coolDown(KEY_COOL_DOWN_MS);
  const report = { error, billId: answer.generationId, why: outcome, message: `status ${answer.status}` };
  if (outcome === "unknown") return { kind: "unknown", ...report };
  const usage = answer.isCut
    ? undefined
    : readWholeAnswer(order.request.api, upstream.kind, answer.body)?.usage;
  const unbilled = outcome === "refused" ? 0n : undefined;
  const cost = usage === undefined ? unbilled : costOf(usage, order.price);
  return {
    kind: "failed",
    ...report,
    cost,
    isUnsent: false,
    mayFallBack: outcome === "refused" && mayServeElsewhere,
  };
}

/** @param error body of a failed answer with status 200, or data of an error event */
export function reportRefusedAccount({ order, upstream, events, coolDown }: Attempt, error: Buffer): void {
  if (!isAboutAccount(error)) return;
  events.accountRefused(order, upstream.name);
  coolDown(KEY_COOL_DOWN_MS);
}

/** Returns the end of an attempt with status 200 and an error in its body. */
export function failedAnswer(attempt: Attempt, { usage, id, bytes }: WholeAnswer, failure: string): Failed {
  reportRefusedAccount(attempt, bytes);
  const cost = usage === undefined ? undefined : costOf(usage, attempt.order.price);
  return failedAttempt(attempt, failure, { cost, billId: id, error: unusable() });
}

/** @param message in words of this module. @param cost undefined: a later look-up is needed */
export function failedAttempt(
  { order, events }: Attempt,
  message: string,
  { cost, billId, error }: { cost: PicoUsd | undefined; billId: string; error: ServiceError },
): Failed {
  events.failed(order, message);
  return { kind: "failed", error, cost, billId, isUnsent: false, mayFallBack: false, why: "failed", message };
}

/** Ends an attempt with an unreadable answer. Its bill can only be looked up. */
export function nonsenseAttempt(attempt: Attempt, problem: string, billId: string): Unknown {
  return unknownAttempt(attempt, problem, billId, unusable());
}

export function unknownAttempt(
  { order, events }: Attempt,
  message: string,
  billId: string,
  error: ServiceError,
): Unknown {
  events.failed(order, message);
  return { kind: "unknown", error, billId, why: "no_answer", message };
}

function unusable(): ServiceError {
  return new ServiceError("provider_error", UNUSABLE);
}
