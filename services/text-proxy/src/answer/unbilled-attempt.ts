// Attempts that surely cost nothing: those that were not made, and those at an upstream that nobody bills us for.
import type { AttemptEnd, Failed } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import type { TextKinds } from "./text-kinds.ts";

const FAILING = "The provider of this model is failing; nothing was charged.";

/** The upstream's breaker opened since the route was chosen. */
export function notAsked(retryAfterMs: number): Failed {
  return {
    kind: "failed",
    error: new ServiceError("provider_unavailable", FAILING, { retryAfterMs }),
    cost: 0n,
    billId: "",
    notSent: true,
    fallBack: true,
    why: "not_asked",
    message: "its breaker is open",
  };
}

/**
 * Of an upstream that nobody bills us for: whatever became of the request there has cost nothing. So another one may be
 * asked, as long as the client has got nothing, unless the request itself was refused.
 */
export function unbilled(end: AttemptEnd<TextKinds>, mayFallBack: boolean): AttemptEnd<TextKinds> {
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
