// What a caller is told when a provider fails. Nobody pays for any of these.
import { ServiceError } from "@gr/proto";
import type { ProviderError } from "../providers/provider-error.ts";

const RETRY_AFTER_MS = 2_000;
const FREE = "You are not charged.";

export function callerError(error: ProviderError): ServiceError {
  const options = { cause: error };
  switch (error.kind) {
    case "rejected":
      return new ServiceError(
        "rejected_by_provider",
        `The provider refused the request: ${error.message}`,
        options,
      );
    case "blocked": {
      const message = `The provider's moderation refused the prompt or the picture made from it. ${FREE}`;
      return new ServiceError("content_policy_violation", message, options);
    }
    case "rate_limited":
    case "unavailable": {
      const message = `The provider of this model takes no requests at the moment; try again shortly. ${FREE}`;
      const retryAfterMs = error.retryAfterMs ?? RETRY_AFTER_MS;
      return new ServiceError("provider_unavailable", message, { ...options, retryAfterMs });
    }
    case "timeout":
      return new ServiceError("provider_timeout", `The provider did not answer in time. ${FREE}`, options);
    case "unknown_outcome":
      return new ServiceError(
        "provider_error",
        `The connection to the provider was lost before it answered. ${FREE}`,
        options,
      );
    case "failed":
    case "misconfigured":
      return new ServiceError("provider_error", `The provider failed to make this. ${FREE}`, options);
  }
}
