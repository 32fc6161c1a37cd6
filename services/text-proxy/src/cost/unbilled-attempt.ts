// Unbilled attempts certainly cost nothing: those that were never sent, and those at an
// upstream that sends us no bill.
import type { AttemptEnd, Failed, Kinds } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";

const BROKEN = "The provider of this model broke off its answer; nothing was charged.";
const FAILING = "The provider of this model is failing; nothing was charged.";
const RETRY_MS = 1_000;

/** Returns the end of an attempt at an upstream that does not accept the beginning of an answer. */
export function cannotContinue(): Failed {
  return {
    kind: "failed",
    error: new ServiceError("provider_error", BROKEN),
    cost: 0n,
    billId: "",
    isUnsent: true,
    mayFallBack: true,
    why: "not_asked",
    message: "it cannot continue an answer",
  };
}

/**
 * Returns the end of an attempt at an upstream with a breaker that opened after the choice of the route.
 * A later route is called instead.
 */
export function notAsked(): Failed {
  return {
    kind: "failed",
    error: new ServiceError("provider_unavailable", FAILING, { retryAfterMs: RETRY_MS }),
    cost: 0n,
    billId: "",
    isUnsent: true,
    mayFallBack: true,
    why: "not_asked",
    message: "its breaker is open",
  };
}

/**
 * Returns the end of an attempt in our accounts. @param hasGiven true if the client has received a part of an answer
 */
export function asBilled<K extends Kinds>(
  { billed }: { readonly billed: boolean },
  end: AttemptEnd<K>,
  hasDelivered: boolean,
): AttemptEnd<K> {
  return billed ? end : unbilled(end, !hasDelivered);
}

/**
 * An upstream without bills costs nothing, with any outcome. Another upstream may be called while the client has
 * received nothing, unless the request itself was refused.
 */
function unbilled<K extends Kinds>(end: AttemptEnd<K>, mayFallBack: boolean): AttemptEnd<K> {
  if (end.kind === "delivered") return end;
  const { error, billId, why, message } = end;
  const isRefusal = end.kind === "failed" && end.cost === 0n;
  return {
    kind: "failed",
    ...{ error, billId, why, message },
    cost: 0n,
    isUnsent: end.kind === "failed" && end.isUnsent,
    mayFallBack: mayFallBack && (isRefusal ? end.mayFallBack : true),
  };
}
