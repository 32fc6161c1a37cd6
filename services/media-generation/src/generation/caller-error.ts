// CallerError builds the client's error for a request without a result. The error follows from a code and a message,
// so the log can answer the same later. No account pays for any of these requests.
import { BILLED_WITHOUT_ANSWER, UNRESOLVED } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import type { ProviderError, ProviderFailure } from "../providers/provider-error.ts";

/** Ending of a generation that was never sent to a provider. */
export const NOT_SENT = "not_sent";
export const NOT_STORED = "not_stored";
/** Ending of a success that billing refused to charge. */
export const REFUSED = "refused";
export const BLOCKED = "blocked" satisfies ProviderFailure;

type Known = ProviderFailure | typeof NOT_SENT | typeof NOT_STORED | typeof REFUSED;

const TOO_LATE_RETRY_MS = 1_000;
const PROVIDER_RETRY_MS = 2_000;
/** An operator must act first. */
const OPERATOR_RETRY_MS = 30_000;
/** Failures after which another provider may do better. */
const ELSEWHERE = new Set<ProviderFailure>(["rate_limited", "unavailable", "failed", "misconfigured"]);
const FREE = "You are not charged.";

export interface CallerErrorOptions {
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * Returns true if the next provider may be called: the job has certainly not started,
 * and the request is not the cause.
 */
export function fallsBack({ kind, accepted }: Pick<ProviderError, "kind" | "accepted">): boolean {
  return !accepted && ELSEWHERE.has(kind);
}

/**
 * @param why the code of attempts and endings
 * @param message for the log; the client receives it only if the provider refused the request
 */
export function callerError(
  why: string,
  message: string,
  { retryAfterMs, cause }: CallerErrorOptions = {},
): ServiceError {
  switch (why as Known | typeof BILLED_WITHOUT_ANSWER | typeof UNRESOLVED) {
    case "rejected":
      return new ServiceError("rejected_by_provider", `The provider refused the request: ${message}`, {
        cause,
      });
    case "blocked": {
      const text = `The provider's moderation refused the prompt or its result. ${FREE}`;
      return new ServiceError("content_policy_violation", text, { cause });
    }
    case "rate_limited":
    case "unavailable": {
      const text = `The provider of this model accepts no requests at the moment; try again shortly. ${FREE}`;
      return new ServiceError("provider_unavailable", text, {
        cause,
        retryAfterMs: retryAfterMs ?? PROVIDER_RETRY_MS,
      });
    }
    case "timeout":
      return new ServiceError("provider_timeout", `The provider did not answer in time. ${FREE}`, { cause });
    case "unknown_outcome": {
      const text = `The connection to the provider was lost before it answered. ${FREE}`;
      return new ServiceError("provider_error", text, { cause });
    }
    case "cancelled":
      return new ServiceError("generation_cancelled", `The client cancelled the request. ${FREE}`, { cause });
    // The operator's account, key or catalogue is the cause. The client cannot repair it, and other
    // providers were already called.
    case "misconfigured": {
      const text = `No provider of this model accepts requests at the moment; try again later. ${FREE}`;
      return new ServiceError("provider_unavailable", text, { cause, retryAfterMs: OPERATOR_RETRY_MS });
    }
    case "failed":
      return new ServiceError("provider_error", `The provider failed to generate the result. ${FREE}`, {
        cause,
      });
    case NOT_SENT: {
      const text = `The time for this request was over before it was sent; try again. ${FREE}`;
      return new ServiceError("provider_unavailable", text, { retryAfterMs: TOO_LATE_RETRY_MS });
    }
    case NOT_STORED:
      return new ServiceError("internal_error", `The result could not be stored. ${FREE}`, { cause });
    case REFUSED:
      return new ServiceError("provider_timeout", `The answer arrived too late, so it is withheld. ${FREE}`);
    case BILLED_WITHOUT_ANSWER:
    case UNRESOLVED: {
      const text = `The process that carried this out was lost before it had an answer. ${FREE}`;
      return new ServiceError("internal_error", text);
    }
    default:
      return new ServiceError("internal_error", `The request could not be carried out. ${FREE}`, { cause });
  }
}
