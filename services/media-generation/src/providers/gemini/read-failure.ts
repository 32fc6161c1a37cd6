// Google's errors: an object, or a list with one when they come from its front end.
import { z } from "zod";
import type { Phase } from "../answer-failure.ts";
import type { OutboundAnswer } from "../outbound.ts";
import { ProviderError } from "../provider-error.ts";
import type { ProviderHttp } from "../provider-http.ts";

const errorSchema = z.object({
  error: z.object({
    message: z.string().nullish(),
    /** A number, but a word where interactions answer. */
    code: z.union([z.number(), z.string()]).nullish(),
    status: z.string().nullish(),
    details: z.array(z.object({ reason: z.string().nullish(), retryDelay: z.string().nullish() })).nullish(),
  }),
});

const BLOCKED = new Set([
  "SAFETY",
  "PROHIBITED_CONTENT",
  "BLOCKLIST",
  "SPII",
  "RECITATION",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
]);
/** With status 400. */
const WRONG_KEY = new Set(["API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED"]);
const DELAY = /^(\d{1,4})(?:\.\d+)?s$/;
const MAX_RETRY_AFTER_MS = 60_000;

/** Whether a reason, a code or a status says that moderation refused a prompt, a picture or a result. */
export function isBlocked(reason: unknown): boolean {
  return typeof reason === "string" && BLOCKED.has(reason.toUpperCase());
}

/** What an answer other than 200 means. */
export function readFailure(phase: Phase, answer: OutboundAnswer, http: ProviderHttp): ProviderError {
  const body = answer.json();
  const parsed = errorSchema.safeParse(Array.isArray(body) ? body[0] : body);
  const { message, code, status, details } = parsed.success ? parsed.data.error : {};
  const accepted = phase === "follow";
  if (isBlocked(status) || isBlocked(code)) {
    return new ProviderError("blocked", `gemini: ${status ?? code}`, { accepted });
  }
  if (details?.some(({ reason }) => WRONG_KEY.has(reason ?? ""))) {
    return new ProviderError("misconfigured", "gemini does not know the key", { accepted });
  }
  // Running jobs have been seen to be answered so: it says nothing about them.
  if (accepted && answer.status === 400) {
    return new ProviderError("unavailable", "gemini answered 400", { accepted });
  }
  const failure = http.failure(phase, answer, message);
  const retryAfterMs = failure.retryAfterMs ?? delayOf(details?.map(({ retryDelay }) => retryDelay ?? ""));
  if (retryAfterMs === undefined || failure.kind !== "rate_limited") return failure;
  return new ProviderError(failure.kind, failure.message, { accepted: failure.accepted, retryAfterMs });
}

/** Google has no header for it. */
function delayOf(delays: readonly string[] = []): number | undefined {
  const seconds = delays.flatMap((delay) => DELAY.exec(delay)?.[1] ?? []).map(Number);
  return seconds.length === 0
    ? undefined
    : Math.min(Math.max(...seconds) * 1_000 + 1_000, MAX_RETRY_AFTER_MS);
}
