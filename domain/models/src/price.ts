// The one price function: a price rule and what was used give an exact cost. The list, the hold and the charge
// all come from here, so they cannot differ.
import { ceilDiv, type PicoUsd } from "@gr/money";
import type {
  ClipPrice,
  ImagePrice,
  ImageTier,
  MegapixelPrice,
  Price,
  SecondPrice,
  TokenPrice,
} from "@gr/proto/catalog";
import { parseSize } from "./size.ts";

export interface ImageMeters {
  readonly images: number;
  /** As validated: a named quality and WIDTHxHEIGHT, or "auto" where the model takes none. */
  readonly quality: string;
  readonly size: string;
  /** Images that the request brings along; none when absent. */
  readonly inputImages?: number;
}

export interface VideoMeters {
  readonly seconds: number;
  /** As for images. */
  readonly quality: string;
  readonly size: string;
  readonly inputImages?: number;
  /** Whether the video is asked for with sound; false when absent. */
  readonly audio?: boolean;
}

export interface TokenMeters {
  /** All input tokens; cached, cache-written, image and audio tokens included. */
  readonly inputTokens: number;
  /** All output tokens, reasoning and images included. */
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly imageInputTokens?: number;
  readonly audioInputTokens?: number;
  readonly reasoningTokens?: number;
  readonly imageOutputTokens?: number;
}

/** What an image request costs by whichever rule; undefined when the rule has no price for it. */
export function priceOfImageRequest(price: Price, meters: ImageMeters): PicoUsd | undefined {
  switch (price.rule.case) {
    case "image":
      return priceOfImages(price.rule.value, meters);
    case "megapixel":
      return priceOfMegapixels(price.rule.value, meters);
    default:
      return undefined;
  }
}

/** What a video request costs by whichever rule; undefined when the rule has no price for it. */
export function priceOfVideoRequest(price: Price, meters: VideoMeters): PicoUsd | undefined {
  switch (price.rule.case) {
    case "second":
      return priceOfSeconds(price.rule.value, meters);
    case "clip":
      return priceOfClip(price.rule.value, meters);
    default:
      return undefined;
  }
}

/** The first tier whose quality and size both match, plus the input images, times the number of images. */
export function priceOfImages(price: ImagePrice, meters: ImageMeters): PicoUsd | undefined {
  const tier = price.tiers.find((candidate) => matches(candidate, meters) && fits(candidate, meters.size));
  if (tier === undefined) return undefined;
  const paidInputs = atLeastZero(count(meters.inputImages ?? 0) - BigInt(price.freeInputImages));
  return (tier.picoUsd + price.inputImagePicoUsd * paidInputs) * count(meters.images);
}

/** Each started unit of area costs; the first has its own price. Undefined when the size is not known. */
export function priceOfMegapixels(price: MegapixelPrice, meters: ImageMeters): PicoUsd | undefined {
  const pixels = pixelsOf(meters.size);
  if (pixels === undefined || price.unitPixels <= 0n) return undefined;
  const further = ceilDiv(pixels, price.unitPixels) - 1n;
  const inputs = count(meters.inputImages ?? 0) * price.inputImagePicoUsd;
  return (price.firstPicoUsd + further * price.furtherPicoUsd + inputs) * count(meters.images);
}

/** Seconds times the price of the first tier whose quality, size and sound all match, plus the input images. */
export function priceOfSeconds(price: SecondPrice, meters: VideoMeters): PicoUsd | undefined {
  const audio = meters.audio ?? false;
  const tier = price.tiers.find(
    (candidate) => matches(candidate, meters) && (candidate.audio ?? audio) === audio,
  );
  if (tier === undefined) return undefined;
  return tier.picoUsd * count(meters.seconds) + price.inputImagePicoUsd * count(meters.inputImages ?? 0);
}

/** The first tier whose quality, size and length all match. */
export function priceOfClip(price: ClipPrice, meters: VideoMeters): PicoUsd | undefined {
  return price.tiers.find(
    (tier) => matches(tier, meters) && (tier.seconds.length === 0 || tier.seconds.includes(meters.seconds)),
  )?.picoUsd;
}

/** Tokens of each meter times its price; a meter without a price of its own is billed as its parent. */
export function priceOfTokens(price: TokenPrice, meters: TokenMeters): PicoUsd {
  const cached = count(meters.cachedInputTokens ?? 0);
  const written = count(meters.cacheWriteTokens ?? 0);
  const image = count(meters.imageInputTokens ?? 0);
  const audio = count(meters.audioInputTokens ?? 0);
  const reasoning = count(meters.reasoningTokens ?? 0);
  const made = count(meters.imageOutputTokens ?? 0);
  // When a part is larger than its whole, the provider has miscounted the whole. The parts are billed then.
  const plainInput = atLeastZero(count(meters.inputTokens) - cached - written - image - audio);
  const plainOutput = atLeastZero(count(meters.outputTokens) - reasoning - made);
  return (
    plainInput * price.inputPicoUsd +
    cached * (price.cachedInputPicoUsd ?? price.inputPicoUsd) +
    written * (price.cacheWritePicoUsd ?? price.inputPicoUsd) +
    image * (price.imageInputPicoUsd ?? price.inputPicoUsd) +
    audio * (price.audioInputPicoUsd ?? price.inputPicoUsd) +
    plainOutput * price.outputPicoUsd +
    reasoning * (price.reasoningPicoUsd ?? price.outputPicoUsd) +
    made * (price.imageOutputPicoUsd ?? price.outputPicoUsd) +
    price.requestPicoUsd
  );
}

/** An empty quality or list of sizes matches everything. */
function matches(
  tier: { quality: string; sizes: readonly string[] },
  asked: { quality: string; size: string },
): boolean {
  return (
    (tier.quality === "" || tier.quality === asked.quality) &&
    (tier.sizes.length === 0 || tier.sizes.includes(asked.size))
  );
}

/** A tier bounded in pixels never holds for a size that is not known. */
function fits({ maxPixels }: ImageTier, size: string): boolean {
  if (maxPixels === 0n) return true;
  const pixels = pixelsOf(size);
  return pixels !== undefined && pixels <= maxPixels;
}

function pixelsOf(text: string): bigint | undefined {
  const size = parseSize(text);
  return size === undefined ? undefined : BigInt(size.width) * BigInt(size.height);
}

/** Counts come from JSON. The caller checks them: anything but a whole number from 0 is its mistake. */
function count(value: number): bigint {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not a count`);
  return BigInt(value);
}

function atLeastZero(value: bigint): bigint {
  return value < 0n ? 0n : value;
}
