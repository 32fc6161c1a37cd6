// Reads OpenRouter's answers to media requests. The schemas name only the fields that we
// use, so additions break nothing.
import { parsePicoUsd } from "@gr/money";
import { z } from "zod";
import { decodedPieces } from "../../storage/base64-text.ts";
import type { Phase } from "../answer-failure.ts";
import { deliveredPictures } from "../delivered-pictures.ts";
import type { OutboundAnswer } from "../outbound.ts";
import type { Artifact, Progress, ReportedUsage } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import type { ProviderHttp } from "../provider-http.ts";

const imagesSchema = z.object({
  data: z.array(z.object({ b64_json: z.string().min(1), media_type: z.string().nullish() })),
});
const videoSchema = z.object({
  id: z.string().min(1),
  status: z.string(),
  /** Signed links, which open without a key. Some answers lack them. */
  urls: z.array(z.string()).nullish(),
  /** Links to the same files, which need the key. */
  unsigned_urls: z.array(z.string()).nullish(),
});
const usageSchema = z.object({ usage: z.object({ cost: z.number() }) });
const errorSchema = z.object({
  error: z.object({
    message: z.string(),
    metadata: z
      .object({ error_type: z.string().nullish(), reasons: z.array(z.unknown()).nullish() })
      .nullish(),
  }),
});

const POLL_AFTER_MS = 1_000;
/** Final statuses without a video. Any other status may still be a running job. */
const ENDED = new Set(["failed", "cancelled", "expired"]);
const MODERATION = "content_policy_violation";
/** Message of an unknown model, with status 400. The model's name is from our catalogue and not from the client. */
const UNKNOWN_MODEL = / is not a valid model ID$/;

/** @throws ProviderError failed, if there is no picture, or more than requested */
export function readImages(answer: OutboundAnswer, wanted: number): Progress {
  const body = answer.json();
  const images = imagesSchema.safeParse(body);
  const pictures = deliveredPictures("openrouter", images.data?.data, wanted, usageOf(body));
  const artifacts = pictures.map(({ b64_json: base64, media_type: type }) => ({
    stream: decodedPieces(base64),
    type: type ?? "image/png",
  }));
  return { state: "succeeded", artifacts, ...usageOf(body) };
}

/** @param content the video of a job, behind our key. @throws ProviderError, the job was accepted */
export function readVideo(
  answer: OutboundAnswer,
  content: (id: string) => Extract<Artifact, { stream: unknown }>["stream"],
): Progress {
  const body = answer.json();
  const end = { accepted: true, ...usageOf(body) };
  const parsed = videoSchema.safeParse(body);
  if (!parsed.success) throw new ProviderError("failed", "openrouter: the answer is no video", end);
  const { id, status, urls, unsigned_urls: keyed } = parsed.data;
  if (ENDED.has(status)) throw new ProviderError("failed", `openrouter: ${status}`, end);
  if (status !== "completed") {
    return { state: "pending", operation: { video: id }, pollAfterMs: POLL_AFTER_MS };
  }
  const [url] = urls ?? [];
  if (url === undefined && !keyed?.length)
    throw new ProviderError("failed", "openrouter: completed without a video", end);
  const type = "video/mp4";
  const artifact = url === undefined ? { stream: content(id), type } : { url, type };
  return { state: "succeeded", artifacts: [artifact], ...usageOf(body) };
}

/** Maps an unsuccessful answer to a ProviderError. Of the many causes of a 403, only moderation lists its reasons. */
export function readFailure(phase: Phase, answer: OutboundAnswer, http: ProviderHttp): ProviderError {
  const parsed = errorSchema.safeParse(answer.json());
  const { message, metadata } = parsed.data?.error ?? {};
  const moderated =
    metadata?.error_type === MODERATION || (answer.status === 403 && metadata?.reasons != null);
  if (moderated) return http.failureAs("blocked", phase, answer, "refused by moderation");
  if (answer.status === 400 && UNKNOWN_MODEL.test(message ?? "")) {
    return http.failureAs("misconfigured", phase, answer, "our name of the model is unknown");
  }
  return http.failure(phase, answer, message);
}

/** Undefined for usage that is missing or invalid: the output is valid all the same. */
function usageOf(body: unknown): { usage?: ReportedUsage } {
  const usage = readUsage(body);
  return usage === undefined ? {} : { usage };
}

export function readUsage(body: unknown): ReportedUsage | undefined {
  const parsed = usageSchema.safeParse(body);
  const billed = parsed.success ? parsePicoUsd(parsed.data.usage.cost) : undefined;
  return billed === undefined ? undefined : { billed };
}
