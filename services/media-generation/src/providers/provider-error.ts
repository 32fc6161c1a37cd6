// ProviderError classifies a provider's failure by its effect on the money and on the
// client, not by the provider's words.
import type { ReportedUsage } from "./provider.ts";

/**
 * `rejected`: refused as invalid. The provider's message is sent to the client.
 * `blocked`: refused by moderation, before or after generation.
 * `rate_limited`, `unavailable`: a later retry may succeed.
 * `failed`: the provider ended the job without a result, or its answer was invalid.
 * `timeout`, `unknown_outcome`: no answer, or only part of an answer. The job may be billed.
 * `cancelled`: cancelled for its client. The job may be billed.
 * `misconfigured`: our key, our URL or our catalogue is wrong. An operator must act.
 */
export type ProviderFailure =
  | "rejected"
  | "blocked"
  | "rate_limited"
  | "unavailable"
  | "failed"
  | "timeout"
  | "unknown_outcome"
  | "cancelled"
  | "misconfigured";

export interface ProviderErrorOptions {
  /** True if the provider may have started, and billed, the job. */
  readonly accepted: boolean;
  readonly retryAfterMs?: number;
  /** HTTP status of the provider's answer. */
  readonly status?: number;
  /** Usage and bill that the provider reported before the failure. */
  readonly usage?: ReportedUsage;
  readonly cause?: unknown;
}

export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly kind: ProviderFailure;
  readonly accepted: boolean;
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;
  readonly usage: ReportedUsage | undefined;

  /**
   * @param message for the row of the generation, and for the client if rejected. It never contains a secret. It may
   * quote the provider, and so the prompt: it must not be logged.
   */
  constructor(kind: ProviderFailure, message: string, options: ProviderErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.accepted = options.accepted;
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
    this.usage = options.usage;
  }

  /** Returns the same failure for an accepted job, which may be billed. */
  ofAcceptedJob(): ProviderError {
    return this.accepted ? this : this.#with({ accepted: true });
  }

  /** Returns the same failure with the bill of its answer. A provider that bills has begun the job. */
  billedAs(usage: ReportedUsage): ProviderError {
    const isBilled = usage.tokens !== undefined || (usage.billed ?? 0n) > 0n;
    return this.#with({ accepted: this.accepted || isBilled, usage });
  }

  #with(changed: Pick<ProviderErrorOptions, "accepted" | "usage">): ProviderError {
    const { retryAfterMs, status, usage } = this;
    return new ProviderError(this.kind, this.message, {
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(status === undefined ? {} : { status }),
      ...(usage === undefined ? {} : { usage }),
      ...changed,
      cause: this,
    });
  }
}
