// Converts Google's token counts to meters. Thoughts are counted apart from the output and billed at its price.
import { z } from "zod";
import type { ReportedUsage } from "../provider.ts";

export const tokenCount = z.number().int().min(0).max(1_000_000_000);

/** Returns the tokens of one modality; undefined without details. */
export function modalityTokens(
  counts: readonly { readonly modality: string; readonly tokens: number }[] | null | undefined,
  modality: "image" | "video",
): number | undefined {
  const own = counts?.filter((count) => count.modality.toLowerCase() === modality);
  return own?.reduce((sum, { tokens }) => sum + tokens, 0);
}

interface Counts {
  readonly input: number;
  readonly imageInput: number;
  /** Tokens of the pictures or videos within the output. */
  readonly media: number;
  readonly output: number;
  readonly thoughts: number;
}

export function tokensUsed({ input, imageInput, media, output, thoughts }: Counts): ReportedUsage {
  return {
    tokens: {
      inputTokens: input,
      outputTokens: output + thoughts,
      imageInputTokens: imageInput,
      imageOutputTokens: media,
      reasoningTokens: thoughts,
    },
  };
}
