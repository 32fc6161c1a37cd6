// Reads an interaction, the job of a video, in any of its states. A refusal completes
// it, with text instead of a video.
import { z } from "zod";
import { decodedPieces } from "../../storage/base64-text.ts";
import type { OutboundAnswer } from "../outbound.ts";
import type { Artifact, Progress, ReportedUsage } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import { isBlocked } from "./read-failure.ts";
import { modalityTokens, tokenCount, tokensUsed } from "./read-usage.ts";

const content = z.object({
  type: z.string(),
  uri: z.string().nullish(),
  data: z.string().nullish(),
  mime_type: z.string().nullish(),
});

const interactionSchema = z.object({
  id: z.string().min(1),
  status: z.string(),
  steps: z.array(z.object({ type: z.string(), content: z.array(content).nullish() })).nullish(),
  error: z.object({ code: z.union([z.string(), z.number()]).nullish() }).nullish(),
});

const modalities = z.array(z.object({ modality: z.string(), tokens: tokenCount })).nullish();
const usageSchema = z.object({
  usage: z.object({
    total_input_tokens: tokenCount.nullish(),
    total_output_tokens: tokenCount.nullish(),
    total_thought_tokens: tokenCount.nullish(),
    input_tokens_by_modality: modalities,
    output_tokens_by_modality: modalities,
  }),
});

const POLL_AFTER_MS = 2_000;
/** Final statuses without a video. Any other status may still be a running interaction. */
const ENDED = new Set(["failed", "cancelled", "incomplete", "requires_action", "budget_exceeded"]);

/** @throws ProviderError, the job was accepted */
export function readInteraction(
  answer: OutboundAnswer,
  readFile: (uri: string) => Extract<Artifact, { stream: unknown }>["stream"],
): Progress {
  const body = answer.json();
  const parsed = interactionSchema.safeParse(body);
  const used = interactionUsage(body);
  const usage = used === undefined ? {} : { usage: used };
  const end = { accepted: true, ...usage };
  if (!parsed.success) throw new ProviderError("failed", "gemini: the answer is no interaction", end);
  const { id, status, steps, error } = parsed.data;
  if (ENDED.has(status)) {
    throw new ProviderError(isBlocked(error?.code) ? "blocked" : "failed", `gemini: ${status}`, end);
  }
  if (status !== "completed") {
    return { state: "pending", operation: { interaction: id }, pollAfterMs: POLL_AFTER_MS };
  }
  const content = steps?.filter(({ type }) => type === "model_output").flatMap((step) => step.content ?? []);
  const video = content?.findLast(({ type }) => type === "video");
  if (video === undefined) {
    // A counted video was generated, but the answer has it at a place that we do not read.
    const isLost = (used?.tokens?.imageOutputTokens ?? 0) > 0;
    throw new ProviderError(isLost ? "failed" : "blocked", "gemini: completed without a video", end);
  }
  const stream = video.data ? decodedPieces(video.data) : readFile(video.uri ?? "");
  return { state: "succeeded", artifacts: [{ stream, type: video.mime_type ?? "video/mp4" }], ...usage };
}

/** Undefined for usage that is missing or invalid: the video is valid all the same. */
export function interactionUsage(body: unknown): ReportedUsage | undefined {
  const parsed = usageSchema.safeParse(body);
  if (!parsed.success) return undefined;
  const { usage } = parsed.data;
  const { output_tokens_by_modality: output, total_output_tokens: total } = usage;
  if (total == null && output == null) return undefined;
  const written = total ?? output?.reduce((sum, { tokens }) => sum + tokens, 0) ?? 0;
  return tokensUsed({
    input: usage.total_input_tokens ?? 0,
    imageInput: modalityTokens(usage.input_tokens_by_modality, "image") ?? 0,
    // Without details, all output tokens count as the video.
    media: modalityTokens(output, "video") ?? written,
    output: written,
    thoughts: usage.total_thought_tokens ?? 0,
  });
}
