// Reads Google's errors: an object, or a list with one object if Google's front end sends it.
import { z } from "zod";
import type { Phase } from "../answer-failure.ts";
import type { OutboundAnswer } from "../outbound.ts";
import type { ProviderError } from "../provider-error.ts";
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
/** Reasons of a wrong key, with status 400. */
const WRONG_KEY = new Set(["API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED"]);
/** Status of a region that Google does not serve, and of a project without billing. */
const NOT_SERVED = "FAILED_PRECONDITION";
/** Google sends the same status for an account without credit and for too many requests. Only the message differs. */
const NO_CREDIT = /\bprepayment credits are depleted\b/i;
const DELAY = /^(\d{1,4})(?:\.\d+)?s$/;

/** Returns true if a reason, code or status reports that moderation refused a prompt, a picture or a result. */
export function isBlocked(reason: unknown): boolean {
  return typeof reason === "string" && BLOCKED.has(reason.toUpperCase());
}

/** Maps an answer other than 200 to a ProviderError. */
export function readFailure(phase: Phase, answer: OutboundAnswer, http: ProviderHttp): ProviderError {
  const body = answer.json();
  const parsed = errorSchema.safeParse(Array.isArray(body) ? body[0] : body);
  const { message, code, status, details } = parsed.success ? parsed.data.error : {};
  const accepted = phase === "follow";
  if (isBlocked(status) || isBlocked(code)) {
    return http.failureAs("blocked", phase, answer, String(status ?? code));
  }
  if (details?.some(({ reason }) => WRONG_KEY.has(reason ?? ""))) {
    return http.failureAs("misconfigured", phase, answer, "the key is refused");
  }
  if (NO_CREDIT.test(message ?? "") || (!accepted && status === NOT_SERVED)) {
    return http.failureAs("misconfigured", phase, answer, "our account or region is refused");
  }
  // Google has answered 400 for running jobs. The answer is no evidence about the job.
  if (accepted && answer.status === 400) {
    return http.failureAs("unavailable", phase, answer, "answered 400");
  }
  return http.failure(phase, answer, message, delayOf(details?.map(({ retryDelay }) => retryDelay ?? "")));
}

/** Google has no header for it. */
function delayOf(delays: readonly string[] = []): number | undefined {
  const seconds = delays.flatMap((delay) => DELAY.exec(delay)?.[1] ?? []).map(Number);
  return seconds.length === 0 ? undefined : Math.max(...seconds) * 1_000 + 1_000;
}
