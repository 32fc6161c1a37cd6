// Reads token usage in OpenAI's format, which every host of its models uses.
import { z } from "zod";
import type { ReportedUsage } from "./provider.ts";

const count = z.number().int().min(0).max(1_000_000_000);

const usageSchema = z.object({
  input_tokens: count,
  output_tokens: count,
  input_tokens_details: z.object({ image_tokens: count.nullish() }).nullish(),
});

/**
 * Returns the usage of an answer's `usage` field. Undefined if it is missing or invalid:
 * the output is valid all the same.
 */
export function readTokenUsage(body: unknown): ReportedUsage | undefined {
  const parsed = z.object({ usage: usageSchema }).safeParse(body);
  if (!parsed.success) return undefined;
  const { input_tokens, output_tokens, input_tokens_details } = parsed.data.usage;
  return {
    tokens: {
      inputTokens: input_tokens,
      outputTokens: output_tokens,
      imageInputTokens: input_tokens_details?.image_tokens ?? 0,
    },
  };
}
