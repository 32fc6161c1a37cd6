// Price lines are the parts of a price: units of each sort, and the price of one unit.
// Every exact price is the sum of its lines, so the lines explain the charge.
import { ceilDiv, larger, type PicoUsd } from "@gr/money";
import type {
  ClipPrice,
  ClipTier,
  ImagePrice,
  ImageTier,
  InputCounting,
  MegapixelPrice,
  MeteredTier,
  SecondPrice,
  SecondTier,
  TokenPrice,
} from "@gr/proto/catalog";
import { meterRatesOf } from "./meter-rates.ts";
import { ratesOfUse } from "./price-cases.ts";
import { parseSize } from "./size.ts";

/** Parameters of a request, every "auto" resolved. */
export interface Asked {
  /** Validated: a named quality and WIDTHxHEIGHT, or "auto" if the model ignores the parameter. */
  readonly quality: string;
  readonly size: string;
  /** Images in the request; absent = 0. */
  readonly inputImages?: number;
  /** Pixels of each input image; an image of unknown size counts as the largest. */
  readonly inputPixels?: readonly number[];
  /** Bytes of the prompt in UTF-8; absent = 0. */
  readonly promptBytes?: number;
}

export interface ImageMeters extends Asked {
  readonly images: number;
  /** Partial images of each image in a stream; absent = 0. */
  readonly partialImages?: number;
}

export interface VideoMeters extends Asked {
  readonly seconds: number;
  /** True if the request wants sound; absent = false. */
  readonly audio?: boolean;
}

export interface TokenMeters {
  /** All input tokens; cached, cache-written, image and audio tokens included. */
  readonly inputTokens: number;
  /** All output tokens; reasoning, images and audio included. */
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Part of the cache writes that is kept for longer than usual. */
  readonly longCacheWriteTokens?: number;
  readonly imageInputTokens?: number;
  readonly audioInputTokens?: number;
  readonly reasoningTokens?: number;
  readonly imageOutputTokens?: number;
  readonly audioOutputTokens?: number;
  /** Calls of tools that the provider ran, by their type in the output. */
  readonly toolCalls?: Readonly<Record<string, number>>;
  /** The service tier that the answer names; absent or without a price of its own = the standard tier. */
  readonly tier?: string;
  /** Unix milliseconds of the answer, by the provider's clock; absent = unknown, so that no off-peak rates apply. */
  readonly createdAt?: number | undefined;
}

export interface PriceLine {
  /** Unit that is counted: "image", "second", "input_tokens", or the type of a tool's calls. */
  readonly unit: string;
  readonly count: bigint;
  /** Price of one unit. */
  readonly picoUsd: PicoUsd;
}
export type PriceLines = readonly PriceLine[];

export function sumOf(lines: PriceLines): PicoUsd;
export function sumOf(lines: PriceLines | undefined): PicoUsd | undefined;
export function sumOf(lines: PriceLines | undefined): PicoUsd | undefined {
  return lines?.reduce((sum, line) => sum + line.count * line.picoUsd, 0n);
}

/** Multiplies the price of the first tier that holds by the number of images, and adds the input images. */
export function linesOfImages(price: ImagePrice, meters: ImageMeters): PriceLines | undefined {
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  if (tier === undefined) return undefined;
  const images = count(meters.images);
  return [{ unit: "image", count: images, picoUsd: tier.picoUsd }, ...linesOfInputs(price, meters, images)];
}

/** Counts each started unit of area; the first has its own price. Undefined if the size is unknown. */
export function linesOfMegapixels(price: MegapixelPrice, meters: ImageMeters): PriceLines | undefined {
  const pixels = pixelsOf(meters.size);
  if (pixels === undefined || price.unitPixels <= 0n) return undefined;
  const images = count(meters.images);
  const further = (ceilDiv(pixels, price.unitPixels) - 1n) * images;
  return [
    { unit: "first_area", count: images, picoUsd: price.firstPicoUsd },
    ...(further === 0n ? [] : [{ unit: "further_area", count: further, picoUsd: price.furtherPicoUsd }]),
    ...linesOfInputs(price, meters, images),
  ];
}

/** Multiplies the price of the first tier that holds by the seconds, and adds the input images. */
export function linesOfSeconds(price: SecondPrice, meters: VideoMeters): PriceLines | undefined {
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  if (tier === undefined) return undefined;
  const seconds = count(meters.seconds);
  return [{ unit: "second", count: seconds, picoUsd: tier.picoUsd }, ...linesOfInputs(price, meters, 1n)];
}

/** Returns the price of the first tier that holds, plus the input images. */
export function linesOfClip(price: ClipPrice, meters: VideoMeters): PriceLines | undefined {
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  if (tier === undefined) return undefined;
  return [{ unit: "video", count: 1n, picoUsd: tier.picoUsd }, ...linesOfInputs(price, meters, 1n)];
}

/** Returns the tokens of each meter. A meter without a price of its own is billed as its parent. */
export function linesOfTokens(whole: TokenPrice, meters: TokenMeters): PriceLines {
  const price = ratesOfUse(whole, meters);
  const rates = meterRatesOf(price);
  const cached = count(meters.cachedInputTokens ?? 0);
  const kept = count(meters.longCacheWriteTokens ?? 0);
  const written = larger(count(meters.cacheWriteTokens ?? 0) - kept, 0n);
  const image = count(meters.imageInputTokens ?? 0);
  const audio = count(meters.audioInputTokens ?? 0);
  const reasoning = count(meters.reasoningTokens ?? 0);
  const drawn = count(meters.imageOutputTokens ?? 0);
  const spoken = count(meters.audioOutputTokens ?? 0);
  // If a part is larger than its whole, the provider has miscounted the whole. The parts are billed then.
  const plainInput = larger(count(meters.inputTokens) - cached - written - kept - image - audio, 0n);
  const plainOutput = larger(count(meters.outputTokens) - reasoning - drawn - spoken, 0n);
  const { toolCalls = {} } = meters;
  const lines = [
    { unit: "input_tokens", count: plainInput, picoUsd: rates.input },
    { unit: "cached_input_tokens", count: cached, picoUsd: rates.cachedInput },
    { unit: "cache_write_tokens", count: written, picoUsd: rates.cacheWrite },
    { unit: "long_cache_write_tokens", count: kept, picoUsd: rates.longCacheWrite },
    { unit: "image_input_tokens", count: image, picoUsd: rates.imageInput },
    { unit: "audio_input_tokens", count: audio, picoUsd: rates.audioInput },
    { unit: "output_tokens", count: plainOutput, picoUsd: rates.output },
    { unit: "reasoning_tokens", count: reasoning, picoUsd: rates.reasoning },
    { unit: "image_output_tokens", count: drawn, picoUsd: rates.imageOutput },
    { unit: "audio_output_tokens", count: spoken, picoUsd: rates.audioOutput },
    ...price.toolFees.map(({ call, picoUsd }) => ({
      unit: call,
      count: count(toolCalls[call] ?? 0),
      picoUsd,
    })),
    { unit: "request", count: price.requestPicoUsd === 0n ? 0n : 1n, picoUsd: price.requestPicoUsd },
  ];
  return lines.filter((line) => line.count !== 0n);
}

/** Returns the price of the input images beyond the free ones. @param images number of created images */
function linesOfInputs(
  price: { inputImagePicoUsd: PicoUsd; freeInputImages: number; inputs?: InputCounting | undefined },
  meters: Asked,
  images: bigint,
): PriceLines {
  const { inputImagePicoUsd: picoUsd, freeInputImages: free, inputs } = price;
  const number = Number(count(meters.inputImages ?? 0));
  let units = 0n;
  for (let index = free; index < number; index += 1) units += unitsOf(meters.inputPixels?.[index], inputs);
  const counted = units * (inputs?.once === true ? 1n : images);
  return counted === 0n
    ? []
    : [{ unit: inputs?.unitPixels ? "input_area" : "input_image", count: counted, picoUsd }];
}

function unitsOf(pixels: number | undefined, counting: InputCounting | undefined): bigint {
  if (counting === undefined || counting.unitPixels <= 0n) return 1n;
  const most = counting.maxPixels;
  const known = pixels === undefined ? most : count(pixels);
  const counted = most > 0n && known > most ? most : known;
  return counted === 0n ? 1n : ceilDiv(counted, counting.unitPixels);
}

type Tier = ImageTier | SecondTier | ClipTier | MeteredTier;

/** Returns true if all conditions of a tier hold; an absent condition always holds. */
export function holds(tier: Tier, asked: Asked & { seconds?: number; audio?: boolean }): boolean {
  return (
    (tier.quality === "" || tier.quality === asked.quality) &&
    (tier.sizes.length === 0 || tier.sizes.includes(asked.size)) &&
    (!("maxPixels" in tier) || fits(tier.maxPixels, asked.size)) &&
    (!("seconds" in tier) || tier.seconds.length === 0 || tier.seconds.includes(asked.seconds ?? 0)) &&
    (!("audio" in tier) || (tier.audio ?? asked.audio ?? false) === (asked.audio ?? false)) &&
    (!("inputImages" in tier) || (tier.inputImages ?? hasInputs(asked)) === hasInputs(asked))
  );
}

function hasInputs({ inputImages = 0 }: Asked): boolean {
  return inputImages > 0;
}

/** Returns true if the size fits; an unknown size never fits a tier bounded in pixels. */
function fits(maxPixels: bigint, size: string): boolean {
  if (maxPixels === 0n) return true;
  const pixels = pixelsOf(size);
  return pixels !== undefined && pixels <= maxPixels;
}

function pixelsOf(text: string): bigint | undefined {
  const size = parseSize(text);
  return size === undefined ? undefined : BigInt(size.width) * BigInt(size.height);
}

/** Converts a count from JSON. The caller checks it: anything but a whole number from 0 is the caller's fault. */
export function count(value: number): bigint {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not a count`);
  return BigInt(value);
}
