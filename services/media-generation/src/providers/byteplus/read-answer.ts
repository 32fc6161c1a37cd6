// Reads ModelArk's answers. An error can belong to the request, to a single picture within a
// successful answer, or to a task.
import { z } from "zod";
import type { Phase } from "../answer-failure.ts";
import type { OutboundAnswer } from "../outbound.ts";
import type { Operation, Progress, ReportedUsage } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import type { ProviderHttp } from "../provider-http.ts";

const error = z.object({ code: z.string().nullish(), message: z.string().nullish() });

const imagesSchema = z.object({
  data: z.array(z.object({ url: z.string().nullish(), error: error.nullish() })),
});
const taskIdSchema = z.object({ id: z.string().min(1) });
const taskSchema = z.object({
  status: z.string(),
  content: z.object({ video_url: z.string().nullish() }).nullish(),
  error: error.nullish(),
});
const errorSchema = z.object({ error });

const tokens = z.number().int().min(0).max(1_000_000_000);
const usageSchema = z.object({
  usage: z
    .object({ output_tokens: tokens.nullish(), completion_tokens: tokens.nullish() })
    .transform(({ output_tokens, completion_tokens }) => output_tokens ?? completion_tokens ?? undefined),
});

/** Moderation codes. Each has the disliked input before these words, and sometimes the reason after them. */
const BLOCKED = /SensitiveContentDetected|RiskDetection/;
/** Codes about our account. Their HTTP status is irrelevant. */
const ACCOUNT: ReadonlySet<string> = new Set(["AccountOverdueError", "QuotaExceeded"]);
const POLL_AFTER_MS = 2_000;
/** Final statuses without a video. Any other status may still be a running task. */
const ENDED = new Set(["failed", "cancelled", "expired"]);

/** @throws ProviderError blocked, or failed for an answer without a picture */
export function readImage(answer: OutboundAnswer): Progress {
  const body = answer.json();
  const end = { accepted: true, ...usageOf(body) };
  const images = imagesSchema.safeParse(body);
  if (!images.success)
    throw new ProviderError("failed", "byteplus: the answer is not a list of pictures", end);
  const refused = images.data.data.find((picture) => picture.error != null)?.error;
  if (refused != null) throw endedBy(refused.code, end);
  const [picture, ...more] = images.data.data;
  if (!picture?.url || more.length > 0) {
    throw new ProviderError("failed", "byteplus: not one picture with an address", end);
  }
  return { state: "succeeded", artifacts: [{ url: picture.url, type: "image/jpeg" }], ...usageOf(body) };
}

/** Returns the task id of a submitted video, for polling. */
export function readTaskId(answer: OutboundAnswer): Progress {
  const task = taskIdSchema.safeParse(answer.json());
  if (task.success) return pending({ task: task.data.id });
  throw new ProviderError("failed", "byteplus: the answer has no task id", { accepted: true });
}

/** @throws ProviderError, the job was accepted */
export function readTask(answer: OutboundAnswer, operation: Operation): Progress {
  const body = answer.json();
  const end = { accepted: true, ...usageOf(body) };
  const parsed = taskSchema.safeParse(body);
  if (!parsed.success) throw new ProviderError("failed", "byteplus: the answer is no task", end);
  const { status, content, error: failure } = parsed.data;
  if (ENDED.has(status)) throw endedBy(failure?.code ?? status, end);
  if (status !== "succeeded") return pending(operation);
  const url = content?.video_url;
  if (!url) throw new ProviderError("failed", "byteplus: succeeded without a video", end);
  return { state: "succeeded", artifacts: [{ url, type: "video/mp4" }], ...usageOf(body) };
}

/** Maps an answer other than 200 to a ProviderError. */
export function readFailure(phase: Phase, answer: OutboundAnswer, http: ProviderHttp): ProviderError {
  const parsed = errorSchema.safeParse(answer.json());
  const { code, message } = parsed.success ? parsed.data.error : {};
  if (code != null && BLOCKED.test(code)) return http.failureAs("blocked", phase, answer, code);
  if (code != null && ACCOUNT.has(code)) return http.failureAs("misconfigured", phase, answer, code);
  return http.failure(phase, answer, message);
}

function endedBy(
  code: string | null | undefined,
  end: ConstructorParameters<typeof ProviderError>[2],
): ProviderError {
  const kind = code != null && BLOCKED.test(code) ? "blocked" : "failed";
  return new ProviderError(kind, `byteplus: ${code ?? "an error without a code"}`, end);
}

const pending = (operation: Operation): Progress => ({
  state: "pending",
  operation,
  pollAfterMs: POLL_AFTER_MS,
});

/**
 * All tokens belong to the output. Undefined for usage that is missing or invalid: the output is valid all the same.
 */
export function readUsage(body: unknown): ReportedUsage | undefined {
  const billedTokens = usageSchema.safeParse(body).data?.usage;
  if (billedTokens === undefined) return undefined;
  return { tokens: { inputTokens: 0, outputTokens: billedTokens, imageOutputTokens: billedTokens } };
}

function usageOf(body: unknown): { usage?: ReportedUsage } {
  const usage = readUsage(body);
  return usage === undefined ? {} : { usage };
}
