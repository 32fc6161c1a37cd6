// Ends a request that failed its client: the customer pays nothing. A hold is freed at once when it is known what
// the upstream billed, and left to the resolver when it is not; what was billed all the same is our loss.
import { ReleaseReason } from "@gr/clients";
import type { PicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import type { CollectedAnswer } from "./collected-answer.ts";
import { estimate } from "./estimate.ts";
import type { Exchange, TextDeps } from "./exchange.ts";
import { canLookUp } from "./look-up.ts";
import type { Used } from "./settle.ts";
import type { UpstreamLoss } from "./upstream-call.ts";
import { refusalOf } from "./upstream-refusal.ts";
import { costOf, type Usage } from "./usage.ts";

const NOT_REACHED = "The provider of this model cannot be reached; nothing was charged.";
const TOO_LATE = "The provider of this model did not answer in time; nothing was charged.";
const BROKEN = "The provider of this model broke off its answer; nothing was charged.";
const RETRY_MS = 1_000;
/** Characters of the upstream's words in a log line. */
const LONGEST_PROBLEM = 200;

/** The upstream gave no whole answer. @returns what the client is told */
export async function giveUpLost(
  deps: TextDeps,
  exchange: Exchange,
  loss: UpstreamLoss,
  generationId = "",
): Promise<ServiceError> {
  deps.events.lost(exchange, loss);
  if (loss.kind === "not sent") {
    await free(deps, exchange, ReleaseReason.NOT_SENT, 0n);
    return new ServiceError("provider_unavailable", NOT_REACHED, { retryAfterMs: RETRY_MS, cause: loss });
  }
  deps.resolver.resolveSoon(exchange.id, generationId);
  return loss.kind === "timeout"
    ? new ServiceError("provider_timeout", TOO_LATE, { cause: loss })
    : new ServiceError("provider_error", BROKEN, { cause: loss });
}

/** The upstream answered with an error. */
export async function giveUpRefused(
  deps: TextDeps,
  exchange: Exchange,
  answer: CollectedAnswer,
): Promise<ServiceError> {
  const refusal = refusalOf(answer, (text) => exchange.upstream.redact(text));
  deps.events.refused(exchange, answer.status, refusal);
  if (refusal.definite) await free(deps, exchange, ReleaseReason.FAILED, 0n);
  else deps.resolver.resolveSoon(exchange.id, "");
  return refusal.error;
}

/** The upstream answered with status 200 and nothing usable. @param cost what it billed, when it says so */
export async function giveUpFailed(
  deps: TextDeps,
  exchange: Exchange,
  problem: string,
  cost: PicoUsd,
): Promise<ServiceError> {
  deps.events.failed(exchange, exchange.upstream.redact(problem).slice(0, LONGEST_PROBLEM));
  await free(deps, exchange, ReleaseReason.FAILED, cost);
  return new ServiceError("provider_error", "The provider of this model gave no usable answer.");
}

/** The upstream answered with something that is no answer; what it billed can only be looked up. */
export function giveUpNonsense(
  deps: TextDeps,
  exchange: Exchange,
  problem: string,
  generationId: string,
): ServiceError {
  deps.events.failed(exchange, exchange.upstream.redact(problem).slice(0, LONGEST_PROBLEM));
  deps.resolver.resolveSoon(exchange.id, generationId);
  return new ServiceError("provider_error", "The provider of this model gave no usable answer.");
}

export interface MidStreamFailure {
  readonly problem: string;
  readonly loss?: UpstreamLoss;
  /** What the upstream says that the failed request used. */
  readonly usage?: Usage | undefined;
}

/** A stream broke off after it had begun. */
export async function giveUpMidStream(
  deps: TextDeps,
  exchange: Exchange,
  { problem, loss, usage }: MidStreamFailure,
  used: Used,
): Promise<ServiceError> {
  const { id, upstream, request, price, held } = exchange;
  if (loss === undefined) deps.events.failed(exchange, upstream.redact(problem).slice(0, LONGEST_PROBLEM));
  else deps.events.lost(exchange, loss);
  if (usage !== undefined) await free(deps, exchange, ReleaseReason.FAILED, costOf(usage, price));
  else if (canLookUp(upstream)) deps.resolver.resolveSoon(id, used.generationId);
  else {
    const metered = estimate(request, used.meteredOutput, price, held).cost;
    const cost = used.usage === undefined ? metered : costOf(used.usage, price);
    await free(deps, exchange, ReleaseReason.FAILED, cost);
  }
  return loss?.kind === "timeout"
    ? new ServiceError("provider_timeout", TOO_LATE, { cause: loss })
    : new ServiceError("provider_error", BROKEN, { cause: loss });
}

/** Frees the hold; when billing is away, the resolver will. */
export async function free(
  deps: TextDeps,
  exchange: Exchange,
  reason: ReleaseReason,
  cost: PicoUsd,
): Promise<void> {
  try {
    await deps.billing.release(exchange.id, reason, cost);
  } catch (error) {
    deps.events.notResolved(exchange.id, error);
  }
}
