// Reads xAI's answers. Moderation answers 403 to a prompt and 400 to a result, or removes the address of a result.
// xAI bills results that it refuses. A wrong key is 400, an account without credit 403 or 429.
import { z } from "zod";
import { decodedPieces } from "../../storage/base64-text.ts";
import type { Phase } from "../answer-failure.ts";
import { deliveredPictures } from "../delivered-pictures.ts";
import type { OutboundAnswer } from "../outbound.ts";
import { percentOf } from "../percent.ts";
import type { Operation, Progress, ReportedUsage } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import type { ProviderHttp } from "../provider-http.ts";

const tokens = z.object({
  url: z.string().nullish(),
  b64_json: z.string().nullish(),
  mime_type: z.string().nullish(),
  respect_moderation: z.boolean().nullish(),
});
type Output = z.infer<typeof tokens>;

const imagesSchema = z.object({ data: z.array(tokens) });
const requestSchema = z.object({ request_id: z.string().min(1) });
const videoSchema = z
  .object({ status: z.string().nullish(), video: tokens.nullish(), error: z.object({}).nullish() })
  // A finished video may arrive without a status.
  .refine(({ status, video }) => status != null || video != null);
const progressSchema = z.object({ progress: z.number() });
const usageSchema = z.object({
  usage: z.object({ cost_in_usd_ticks: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER) }),
});
/** Two shapes; the code of the flat one is a sentence. */
const errorSchema = z.union([
  z
    .object({ code: z.string().nullish(), error: z.string() })
    .transform(({ code, error }) => ({ code, message: error })),
  z
    .object({ error: z.object({ code: z.string().nullish(), message: z.string() }) })
    .transform(({ error: { code, message } }) => ({ code, message })),
]);
const MODERATION_CODE = "imagine:content-moderated";
/** Codes distinguish moderation, credit, key and load only in part. */
const MODERATION = /\brejected by content moderation\b|\bContent violates usage guidelines\b/i;
const ACCOUNT = /\bIncorrect API key\b|\bused all available credits\b|\bmonthly spending limit\b/i;
const OVERLOAD = /\btemporarily at capacity\b/i;

/** A tick is 1e-10 USD. */
const PICO_PER_TICK = 100n;
const POLL_AFTER_MS = 2_000;

/** @throws ProviderError blocked, or failed if there is no picture, or more than requested */
export function readImages(answer: OutboundAnswer, wanted: number): Progress {
  const body = answer.json();
  const reported = usageOf(body);
  const images = imagesSchema.safeParse(body).data?.data;
  if (images?.some(isRemoved)) {
    const message = "xai: moderation removed a picture";
    throw new ProviderError("blocked", message, { accepted: true, ...reported });
  }
  const pictures = deliveredPictures("xai", images, wanted, reported);
  const artifacts = pictures.map((picture) => artifactOf(picture, "image/jpeg"));
  return { state: "succeeded", artifacts, ...reported };
}

/** Returns the request id of a submitted video, for polling. */
export function readRequestId(answer: OutboundAnswer): Progress {
  const request = requestSchema.safeParse(answer.json());
  if (request.success) return pending({ video: request.data.request_id });
  throw new ProviderError("failed", "xai: the answer has no request id", { accepted: true });
}

/** @throws ProviderError, the job was accepted */
export function readVideo(answer: OutboundAnswer, operation: Operation): Progress {
  // The body of a 202 may be empty.
  if (answer.status === 202) return pending(operation, answer.json());
  const body = answer.json();
  const end = { accepted: true, ...usageOf(body) };
  const parsed = videoSchema.safeParse(body);
  if (!parsed.success) throw new ProviderError("failed", "xai: the answer is no state of a video", end);
  const { status, video } = parsed.data;
  if (status === "failed" || status === "expired") throw new ProviderError("failed", `xai: ${status}`, end);
  if (status != null && status !== "done") return pending(operation, body);
  if (video == null) throw new ProviderError("failed", "xai: done without a video", end);
  if (isRemoved(video)) throw new ProviderError("blocked", "xai: moderation removed the video", end);
  return { state: "succeeded", artifacts: [artifactOf(video, "video/mp4")], ...usageOf(body) };
}

/** Maps an answer other than 200 and 202 to a ProviderError. */
export function readFailure(phase: Phase, answer: OutboundAnswer, http: ProviderHttp): ProviderError {
  const { code, message = "" } = errorSchema.safeParse(answer.json()).data ?? {};
  if (code === MODERATION_CODE || MODERATION.test(message)) {
    return http.failureAs("blocked", phase, answer, "refused by moderation");
  }
  if (ACCOUNT.test(message))
    return http.failureAs("misconfigured", phase, answer, "our key or credit is refused");
  if (OVERLOAD.test(message)) return http.failureAs("unavailable", phase, answer, "at capacity");
  return http.failure(phase, answer, message || undefined);
}

const pending = (operation: Operation, body?: unknown): Progress => ({
  state: "pending",
  operation,
  pollAfterMs: POLL_AFTER_MS,
  percent: percentOf(progressSchema.safeParse(body).data?.progress, 100),
});

function isRemoved({ url, b64_json, respect_moderation }: Output): boolean {
  return respect_moderation === false || (!url && !b64_json);
}

function artifactOf({ url, b64_json, mime_type }: Output, usual: string) {
  const type = mime_type ?? usual;
  return b64_json ? { stream: decodedPieces(b64_json), type } : { url: url ?? "", type };
}

/** Undefined for usage that is missing or invalid: the output is valid all the same. */
function usageOf(body: unknown): { usage?: ReportedUsage } {
  const usage = readUsage(body);
  return usage === undefined ? {} : { usage };
}

export function readUsage(body: unknown): ReportedUsage | undefined {
  const parsed = usageSchema.safeParse(body);
  if (!parsed.success) return undefined;
  return { billed: BigInt(parsed.data.usage.cost_in_usd_ticks) * PICO_PER_TICK };
}
