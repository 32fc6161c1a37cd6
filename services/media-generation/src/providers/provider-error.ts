// How a provider can fail, told apart by what it means for the money and for the caller, not by the provider's words.
import type { ReportedUsage } from "./provider.ts";

/**
 * - rejected: refused as invalid; the message is the provider's and goes to the caller
 * - blocked: refused by moderation, before or after generating
 * - rate_limited, unavailable: try again later
 * - failed: the provider gave up, or answered nonsense
 * - timeout, unknown_outcome: no answer, or only part of one; it may have been billed
 * - cancelled: given up for its caller; it may have been billed
 * - misconfigured: our key, our URL or our catalogue is wrong; an operator must act
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
  /** Whether the provider may have begun, and billed, the job. */
  readonly accepted: boolean;
  readonly retryAfterMs?: number;
  /** HTTP status of the provider's answer. */
  readonly status?: number;
  /** What the provider reported before it failed. */
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
   * @param message for the row of the generation, and for the caller when rejected; never holds a secret. It may have the
   *   provider's words, and so the prompt: it is for no log.
   */
  constructor(kind: ProviderFailure, message: string, options: ProviderErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.accepted = options.accepted;
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
    this.usage = options.usage;
  }

  /** The same failure after the job was accepted: it may have been billed. */
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
