// Reads the answer of generateContent. A refusal is also an answer: status 200, and a reason instead of a picture.
import { z } from "zod";
import { decodedPieces } from "../../storage/base64-text.ts";
import type { OutboundAnswer } from "../outbound.ts";
import type { Progress, ReportedUsage } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import { isBlocked } from "./read-failure.ts";
import { modalityTokens, tokenCount, tokensUsed } from "./read-usage.ts";

const part = z.object({
  /** A draft that the model produced before its answer. */
  thought: z.boolean().nullish(),
  inlineData: z.object({ mimeType: z.string(), data: z.string().min(1) }).nullish(),
});

const contentSchema = z.object({
  candidates: z
    .array(
      z.object({
        content: z.object({ parts: z.array(part).nullish() }).nullish(),
        finishReason: z.string().nullish(),
      }),
    )
    .nullish(),
  promptFeedback: z.object({ blockReason: z.string().nullish() }).nullish(),
});

const details = z.array(z.object({ modality: z.string(), tokenCount })).nullish();
const usageSchema = z.object({
  usageMetadata: z.object({
    promptTokenCount: tokenCount,
    candidatesTokenCount: tokenCount.nullish(),
    thoughtsTokenCount: tokenCount.nullish(),
    promptTokensDetails: details,
    candidatesTokensDetails: details,
  }),
});

/** @throws ProviderError blocked, or failed for an answer without a picture */
export function readContent(answer: OutboundAnswer): Progress {
  const body = answer.json();
  const parsed = contentSchema.safeParse(body);
  const used = contentUsage(body);
  const usage = used === undefined ? {} : { usage: used };
  const end = { accepted: true, ...usage };
  if (!parsed.success) throw new ProviderError("failed", "gemini: the answer is no content", end);
  const { candidates, promptFeedback } = parsed.data;
  const parts = candidates?.flatMap(({ content }) => content?.parts ?? []) ?? [];
  // A later picture is the model's revision of the earlier ones.
  const picture = parts.findLast(({ inlineData, thought }) => inlineData != null && !thought)?.inlineData;
  if (picture != null) {
    const stream = decodedPieces(picture.data);
    return { state: "succeeded", artifacts: [{ stream, type: picture.mimeType }], ...usage };
  }
  const blockReason = promptFeedback?.blockReason;
  if (blockReason != null) throw new ProviderError("blocked", `gemini: prompt refused, ${blockReason}`, end);
  const reason = candidates?.[0]?.finishReason ?? "no candidate";
  throw new ProviderError(isBlocked(reason) ? "blocked" : "failed", `gemini: no picture, ${reason}`, end);
}

/** Undefined for usage that is missing or invalid: the picture is valid all the same. */
export function contentUsage(body: unknown): ReportedUsage | undefined {
  const parsed = usageSchema.safeParse(body);
  if (!parsed.success) return undefined;
  const { usageMetadata: used } = parsed.data;
  const count = ({ modality, tokenCount }: { modality: string; tokenCount: number }) => ({
    modality,
    tokens: tokenCount,
  });
  const output = used.candidatesTokenCount ?? 0;
  return tokensUsed({
    input: used.promptTokenCount,
    imageInput: modalityTokens(used.promptTokensDetails?.map(count), "image") ?? 0,
    // Without details, all output tokens count as the picture.
    media: modalityTokens(used.candidatesTokensDetails?.map(count), "image") ?? output,
    output,
    thoughts: used.thoughtsTokenCount ?? 0,
  });
}
