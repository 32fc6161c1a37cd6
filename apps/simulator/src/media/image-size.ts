// Sizes of OpenAI's pictures and their costs in output tokens.
import { Refusal } from "../request/refusal.ts";

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

export type ImageQuality = "low" | "medium" | "high";

/** Output tokens of one image. Throws a `Refusal` when there is no such size. */
export type CountTokens = (size: ImageSize, quality: ImageQuality) => number;

/** Patches along the longer edge of an image, by quality. */
type ImageGrid = Readonly<Record<ImageQuality, number>>;

const GPT_IMAGE_2_GRID: ImageGrid = { low: 16, medium: 48, high: 96 };
/** 196, 439 and 1,756 tokens at 1024x1024 (cellcog.ai/blog/gpt-image-2-5-release-date). */
const GPT_IMAGE_2_5_GRID: ImageGrid = { low: 16, medium: 24, high: 48 };

/** Models before gpt-image-2 (developers.openai.com/api/docs/guides/image-generation, 2026-11). */
const GPT_IMAGE_1_TOKENS: Readonly<Record<string, Readonly<Record<ImageQuality, number>>>> = {
  "1024x1024": { low: 272, medium: 1_056, high: 4_160 },
  "1024x1536": { low: 408, medium: 1_584, high: 6_240 },
  "1536x1024": { low: 400, medium: 1_568, high: 6_208 },
};

/** Limits of gpt-image-2 in OpenAI's reference. */
const STEP = 16;
const LONGEST_EDGE = 3840;
const STEEPEST_RATIO = 3;
const FEWEST_PIXELS = 655_360;
const MOST_PIXELS = 8_294_400;

/** Reads `WIDTHxHEIGHT`. Throws a `Refusal`. */
export function readImageSize(text: string): ImageSize {
  const match = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(text);
  if (match === null) throw badSize(`Invalid value: '${text}'. Expected 'auto' or a size like '1024x1024'.`);
  const width = Number(match[1]);
  const height = Number(match[2]);
  const longer = Math.max(width, height);
  const pixels = width * height;
  if (width % STEP !== 0 || height % STEP !== 0) {
    throw badSize(`Invalid size '${text}'. Width and height must both be divisible by ${STEP}.`);
  }
  if (longer > LONGEST_EDGE)
    throw badSize(`Invalid size '${text}'. No edge may exceed ${LONGEST_EDGE} pixels.`);
  if (longer > Math.min(width, height) * STEEPEST_RATIO) {
    throw badSize(`Invalid size '${text}'. The aspect ratio must be between 1:3 and 3:1.`);
  }
  if (pixels < FEWEST_PIXELS || pixels > MOST_PIXELS) {
    throw badSize(`Invalid size '${text}'. The image must have ${FEWEST_PIXELS} to ${MOST_PIXELS} pixels.`);
  }
  return { width, height };
}

function badSize(message: string): Refusal {
  return new Refusal("invalid", message, "size", "invalid_value");
}

/**
 * Output tokens of one gpt-image-2 image; of the models after it, with fewer patches.
 * Source: the formula behind the calculator in OpenAI's image guide, published at
 * community.openai.com/t/1382699 (2026-06-05):
 *
 *     tokens = ceil(long × short × (2,000,000 + pixels) / 4,000,000)
 *     long = 16 | 48 | 96 by quality, short = round(long × shorter edge / longer edge)
 *
 *                 low          medium          high          (at 30 USD per million tokens)
 *     1024x1024   196 $0.006   1,756 $0.053   7,024 $0.211
 *     1536x1024   158 $0.005   1,372 $0.041   5,488 $0.165
 */
function tokensByGrid(grid: ImageGrid): CountTokens {
  return (size, quality) => {
    const long = grid[quality];
    const longer = Math.max(size.width, size.height);
    const short = Math.round((long * Math.min(size.width, size.height)) / longer);
    return Math.ceil((long * short * (2_000_000 + size.width * size.height)) / 4_000_000);
  };
}

export const gptImage2Tokens = tokensByGrid(GPT_IMAGE_2_GRID);
export const gptImage25Tokens = tokensByGrid(GPT_IMAGE_2_5_GRID);
export const gptImage1Tokens: CountTokens = ({ width, height }, quality) => {
  const tokens = GPT_IMAGE_1_TOKENS[`${width}x${height}`]?.[quality];
  if (tokens !== undefined) return tokens;
  const sizes = Object.keys(GPT_IMAGE_1_TOKENS).map((size) => `'${size}'`);
  throw badSize(
    `Invalid value: '${width}x${height}'. Supported values are: ${sizes.join(", ")}, and 'auto'.`,
  );
};

const PATCH = 32;
const MOST_PATCHES = 1_536;

/**
 * Input tokens of an input picture: patches of 32 pixels, at most 1,536 (community.openai.com/t/1382940, 2026-06-25).
 */
export function inputImageTokens({ width, height }: ImageSize): number {
  return Math.min(MOST_PATCHES, Math.ceil(width / PATCH) * Math.ceil(height / PATCH));
}
