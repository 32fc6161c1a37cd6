// Tokens as OpenAI counts them, and everybody who serves its models.
import { z } from "zod";
import type { ReportedUsage } from "./provider.ts";

const count = z.number().int().min(0).max(1_000_000_000);

const usageSchema = z.object({
  input_tokens: count,
  output_tokens: count,
  input_tokens_details: z.object({ image_tokens: count.nullish() }).nullish(),
});

/** Of an answer with `usage`. Undefined when it is missing or nonsense: what was made is good all the same. */
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
