// Reads OpenRouter's answers to requests for media. Schemas name only what we use, so that additions break nothing.
import { parsePicoUsd } from "@gr/money";
import { z } from "zod";
import { decodedPieces } from "../../storage/base64-text.ts";
import type { Phase } from "../answer-failure.ts";
import { madePictures } from "../made-pictures.ts";
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
  /** Signed: they open without a key. Not all answers have them. */
  urls: z.array(z.string()).nullish(),
  /** The same behind the key. */
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
/** Ends without a video; all that is not listed here may still go on. */
const ENDED = new Set(["failed", "cancelled", "expired"]);
const MODERATION = "content_policy_violation";
/** With status 400. The name is ours and not the client's. */
const UNKNOWN_MODEL = / is not a valid model ID$/;

/** @throws ProviderError failed, when there is no picture, or more than were asked for */
export function readImages(answer: OutboundAnswer, wanted: number): Progress {
  const body = answer.json();
  const images = imagesSchema.safeParse(body);
  const pictures = madePictures("openrouter", images.data?.data, wanted, usageOf(body));
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

/** What an answer that is no success means. Of the many reasons for 403 one is moderation, which gives its reasons. */
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

/** Nothing when it is missing or nonsense: what was made is good all the same. */
function usageOf(body: unknown): { usage?: ReportedUsage } {
  const usage = readUsage(body);
  return usage === undefined ? {} : { usage };
}

export function readUsage(body: unknown): ReportedUsage | undefined {
  const parsed = usageSchema.safeParse(body);
  const billed = parsed.success ? parsePicoUsd(parsed.data.usage.cost) : undefined;
  return billed === undefined ? undefined : { billed };
}
