// Refusals and failures of a paid request that do not depend on its service.
import { ServiceError } from "@gr/proto";

const OVERLOADED_RETRY_MS = 1_000;

export function overloaded(): ServiceError {
  const message = "Too many requests are running; try again shortly.";
  return new ServiceError("provider_unavailable", message, { retryAfterMs: OVERLOADED_RETRY_MS });
}

/** @param owner that has its share; other owners still get places */
export function shareOfPlacesUsed(owner: "account" | "key"): ServiceError {
  const message =
    `The requests of this ${owner} that are running have its share of the places of this process; ` +
    "try again when some have ended. You are not charged.";
  return new ServiceError("rate_limit_exceeded", message, { retryAfterMs: OVERLOADED_RETRY_MS });
}

export function tooLate(): ServiceError {
  return new ServiceError(
    "provider_timeout",
    "The answer arrived too late, so it is withheld; nothing was charged.",
  );
}

export function overtaken(): ServiceError {
  return unknownOutcome("Another process continued this request while it ran.");
}

/** @param what a sentence that states the event */
export function unknownOutcome(what: string, cause?: unknown): ServiceError {
  const message = `${what} It may still be charged; do not send it again before you have looked at your credits.`;
  return new ServiceError("outcome_unknown", message, { cause });
}
