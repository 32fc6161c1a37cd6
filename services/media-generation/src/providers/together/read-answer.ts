// Reads Together's answers.
import { parsePicoUsd } from "@gr/money";
import { z } from "zod";
import type { Phase } from "../answer-failure.ts";
import { deliveredPictures } from "../delivered-pictures.ts";
import type { OutboundAnswer } from "../outbound.ts";
import type { Progress, ReportedUsage } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import type { ProviderHttp } from "../provider-http.ts";

const imagesSchema = z.object({
  data: z.array(z.object({ url: z.string().min(1) })),
});
const videoSchema = z.object({
  id: z.string().min(1),
  /** The answer to a submission need not have one. */
  status: z.string().nullish(),
  outputs: z.object({ video_url: z.string().nullish() }).nullish(),
});
const usageSchema = z.object({ outputs: z.object({ cost: z.number() }) });
const errorSchema = z.object({ error: z.object({ message: z.string() }) });

const POLL_AFTER_MS = 2_000;
/** Final statuses without a video. Any other status may still be a running job. */
const ENDED = new Set(["failed", "cancelled"]);

/** @throws ProviderError failed, if there is no picture, or more than requested */
export function readImages(answer: OutboundAnswer, wanted: number): Progress {
  const images = imagesSchema.safeParse(answer.json());
  const pictures = deliveredPictures("together", images.data?.data, wanted);
  return { state: "succeeded", artifacts: pictures.map(({ url }) => ({ url, type: "image/jpeg" })) };
}

/** @throws ProviderError, the job was accepted */
export function readVideo(answer: OutboundAnswer): Progress {
  const body = answer.json();
  const end = { accepted: true, ...usageOf(body) };
  const parsed = videoSchema.safeParse(body);
  if (!parsed.success) throw new ProviderError("failed", "together: the answer is no video", end);
  const { id, status, outputs } = parsed.data;
  if (status != null && ENDED.has(status)) throw new ProviderError("failed", `together: ${status}`, end);
  if (status !== "completed") {
    return { state: "pending", operation: { video: id }, pollAfterMs: POLL_AFTER_MS };
  }
  const url = outputs?.video_url;
  if (!url) throw new ProviderError("failed", "together: completed without a video", end);
  return { state: "succeeded", artifacts: [{ url, type: "video/mp4" }], ...usageOf(body) };
}

/** Maps an answer other than 200 to a ProviderError. */
export function readFailure(phase: Phase, answer: OutboundAnswer, http: ProviderHttp): ProviderError {
  const parsed = errorSchema.safeParse(answer.json());
  return http.failure(phase, answer, parsed.success ? parsed.data.error.message : undefined);
}

/** Undefined for usage that is missing or invalid: the video is valid all the same. */
function usageOf(body: unknown): { usage?: ReportedUsage } {
  const usage = readUsage(body);
  return usage === undefined ? {} : { usage };
}

export function readUsage(body: unknown): ReportedUsage | undefined {
  const parsed = usageSchema.safeParse(body);
  const billed = parsed.success ? parsePicoUsd(parsed.data.outputs.cost) : undefined;
  return billed === undefined ? undefined : { billed };
}
