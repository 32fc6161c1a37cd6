// Attempts that surely cost nothing: those that were not made, and those at an upstream that nobody bills us for.
import type { AttemptEnd, Failed, Kinds } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";

const BROKEN = "The provider of this model broke off its answer; nothing was charged.";
const FAILING = "The provider of this model is failing; nothing was charged.";
const RETRY_MS = 1_000;

/** The upstream cannot be given the beginning of an answer. */
export function cannotGoOn(): Failed {
  return {
    kind: "failed",
    error: new ServiceError("provider_error", BROKEN),
    cost: 0n,
    billId: "",
    notSent: true,
    fallBack: true,
    why: "not_asked",
    message: "it cannot go on with an answer",
  };
}

/** The upstream's breaker opened since the route was chosen, and a later route is asked instead. */
export function notAsked(): Failed {
  return {
    kind: "failed",
    error: new ServiceError("provider_unavailable", FAILING, { retryAfterMs: RETRY_MS }),
    cost: 0n,
    billId: "",
    notSent: true,
    fallBack: true,
    why: "not_asked",
    message: "its breaker is open",
  };
}

/** How an attempt ended, as it counts for us. @param hasGiven whether the client has got something of an answer */
export function asBilled<K extends Kinds>(
  { billed }: { readonly billed: boolean },
  end: AttemptEnd<K>,
  hasGiven: boolean,
): AttemptEnd<K> {
  return billed ? end : unbilled(end, !hasGiven);
}

/**
 * Of an upstream that nobody bills us for: whatever became of the request there has cost nothing. So another one may be
 * asked, as long as the client has got nothing, unless the request itself was refused.
 */
function unbilled<K extends Kinds>(end: AttemptEnd<K>, mayFallBack: boolean): AttemptEnd<K> {
  if (end.kind === "delivered") return end;
  const { error, billId, why, message } = end;
  const isRefusal = end.kind === "failed" && end.cost === 0n;
  return {
    kind: "failed",
    ...{ error, billId, why, message },
    cost: 0n,
    notSent: end.kind === "failed" && end.notSent,
    fallBack: mayFallBack && (isRefusal ? end.fallBack : true),
  };
}
