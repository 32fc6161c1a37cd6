// Answer failures map a failed exchange or an HTTP status to a ProviderError, for all providers alike.
// Adapters check their provider's documented error codes first and use these functions for the remaining answers.
import type { OutboundAnswer, OutboundError } from "./outbound.ts";
import { ProviderError } from "./provider-error.ts";

/** Purpose of an exchange: submit starts a job; follow polls an accepted job, which may be billed in any case. */
export type Phase = "submit" | "follow";

type Answered = Pick<OutboundAnswer, "status" | "header">;

const MAX_RETRY_AFTER_MS = 60_000;
const MAX_MESSAGE_CHARACTERS = 500;

/** Returns the failure of an exchange without a usable answer. */
export function exchangeFailure(provider: string, error: OutboundError, phase: Phase): ProviderError {
  const message = `${provider}: ${error.message}`;
  switch (error.kind) {
    case "not_sent":
      return new ProviderError("unavailable", message, { accepted: phase === "follow", cause: error });
    case "timeout":
      return new ProviderError("timeout", message, { accepted: true, cause: error });
    case "lost":
      return new ProviderError("unknown_outcome", message, { accepted: true, cause: error });
    case "unreadable":
    case "refused":
      return new ProviderError("failed", message, { accepted: true, cause: error });
  }
}

export interface ReportedFailure {
  /** Message in the provider's words. */
  readonly message?: string | undefined;
  /** Pause in milliseconds from the body. A `retry-after` header has priority. */
  readonly retryAfterMs?: number | undefined;
}

/** Returns the failure of an answer that is none of the provider's documented errors. */
export function statusFailure(
  provider: string,
  answer: Answered,
  reported: ReportedFailure,
  phase: Phase,
): ProviderError {
  const failure = failureToSubmit(provider, answer, reported);
  if (phase === "submit") return failure;
  // A 5xx status reports a server problem and not the job's outcome, so the job is polled again.
  return answer.status >= 500 && failure.kind === "failed"
    ? new ProviderError("unavailable", failure.message, { accepted: true, status: answer.status })
    : failure.ofAcceptedJob();
}

function failureToSubmit(
  provider: string,
  answer: Answered,
  { message, retryAfterMs: hint }: ReportedFailure,
): ProviderError {
  const { status } = answer;
  const what = `${provider} answered ${status}`;
  if (status === 429 || status === 503) {
    const retryAfterMs = readRetryAfter(answer) ?? (hint && Math.min(hint, MAX_RETRY_AFTER_MS));
    const kind = status === 429 ? "rate_limited" : "unavailable";
    return new ProviderError(kind, what, {
      accepted: false,
      status,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
  // A proxy in front of the provider timed out. The job behind the proxy may be finished.
  if (status === 408 || status === 502 || status === 504 || (status >= 520 && status <= 527)) {
    return new ProviderError("unknown_outcome", what, { accepted: true, status });
  }
  if (status >= 500) return new ProviderError("failed", what, { accepted: false, status });
  if (status === 400 || status === 413 || status === 415 || status === 422) {
    return new ProviderError("rejected", message ?? what, { accepted: false, status });
  }
  // Redirects, our key, our account, our model names: faults that only an operator can repair.
  return new ProviderError("misconfigured", what, { accepted: false, status });
}

/** Returns the provider's sentence in a form for clients: one line, of limited length, without our secret. */
export function safeMessage(text: string, secret: string): string {
  const line = text
    .replaceAll(secret, "[redacted]")
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  return line.length > MAX_MESSAGE_CHARACTERS ? `${line.slice(0, MAX_MESSAGE_CHARACTERS)}…` : line;
}

/** Milliseconds, at most a minute. Dates are ignored: none of our providers sends them. */
function readRetryAfter(answer: Answered): number | undefined {
  const ms = Number(answer.header("retry-after-ms") ?? Number.NaN);
  const seconds = Number(answer.header("retry-after") ?? Number.NaN);
  const wait = Number.isFinite(ms) ? ms : seconds * 1_000;
  return Number.isFinite(wait) && wait > 0 ? Math.min(Math.ceil(wait), MAX_RETRY_AFTER_MS) : undefined;
}
