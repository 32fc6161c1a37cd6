// Google's simulated models: their prices, the tokens of their pictures, and their pixels.
// Prices and tokens: ai.google.dev/gemini-api/docs/pricing. The seed of the catalogue has the dates.

import type { PicoUsd } from "../../bill/prices.ts";
import type { Billed } from "../../media/media-order.ts";
import { promptTokens } from "../../text/tokens.ts";

interface GeminiPrice {
  /** Price of a token each. */
  readonly input: PicoUsd;
  readonly media: PicoUsd;
}

export interface GeminiImageModel extends GeminiPrice {
  /** Tokens of a picture by its class. */
  readonly tokens: Readonly<Partial<Record<ImageClass, number>>>;
  /** True if it also generates pictures of 1:4 and 1:8. */
  readonly hasStrips: boolean;
}

export type ImageClass = "512" | "1K" | "2K" | "4K";

/** Tokens of an input picture. */
export const INPUT_PICTURE_TOKENS = 1_120;

export const IMAGE_MODELS: ReadonlyMap<string, GeminiImageModel> = new Map<string, GeminiImageModel>([
  [
    "gemini-3-pro-image",
    {
      input: 2_000_000n,
      media: 120_000_000n,
      tokens: { "1K": 1_120, "2K": 1_120, "4K": 2_000 },
      hasStrips: false,
    },
  ],
  [
    "gemini-3.1-flash-image",
    {
      input: 500_000n,
      media: 60_000_000n,
      tokens: { "512": 747, "1K": 1_120, "2K": 1_680, "4K": 2_520 },
      hasStrips: true,
    },
  ],
  [
    "gemini-3.1-flash-lite-image",
    { input: 250_000n, media: 30_000_000n, tokens: { "1K": 1_120 }, hasStrips: false },
  ],
]);

/**
 * Returns the cost of one picture, at Google and at resellers with its prices. Undefined
 * if the model has no such class.
 */
export function billOfPicture(
  model: GeminiImageModel,
  imageClass: ImageClass,
  prompt: string,
  inputs: number,
): Required<Billed> | undefined {
  const outputTokens = model.tokens[imageClass];
  if (outputTokens === undefined) return undefined;
  const inputTokens = promptTokens(prompt) + inputs * INPUT_PICTURE_TOKENS;
  const picoUsd = BigInt(inputTokens) * model.input + BigInt(outputTokens) * model.media;
  return { picoUsd, inputTokens, outputTokens };
}

export interface GeminiVideoModel extends GeminiPrice {
  /** At 720p: no source has the number for other resolutions. */
  readonly tokensPerSecond: number;
}

export const VIDEO_MODELS: ReadonlyMap<string, GeminiVideoModel> = new Map<string, GeminiVideoModel>([
  ["gemini-omni-1.1-flash", { input: 1_500_000n, media: 17_500_000n, tokensPerSecond: 5_792 }],
]);

/** At 1K; the other classes are half, twice and four times as wide. */
export const IMAGE_SHAPES: Readonly<Record<string, readonly [number, number]>> = {
  "1:1": [1_024, 1_024],
  "3:2": [1_264, 848],
  "4:3": [1_200, 896],
  "5:4": [1_152, 928],
  "16:9": [1_376, 768],
  "21:9": [1_584, 672],
};
export const STRIP_SHAPES: typeof IMAGE_SHAPES = { "4:1": [2_048, 512], "8:1": [3_072, 384] };
export const CLASS_FACTORS: Readonly<Record<ImageClass, number>> = { "512": 0.5, "1K": 1, "2K": 2, "4K": 4 };

export const VIDEO_SHAPES: typeof IMAGE_SHAPES = { "16:9": [1_280, 720] };
