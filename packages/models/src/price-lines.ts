// What a price is made up of: units of each sort, and what one of them costs. Every exact price is the sum of its lines, so
// whoever shows them shows how the charge came about.
import { ceilDiv, type PicoUsd } from "@gr/money";
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
import { ratesOfUse } from "./price-cases.ts";
import { parseSize } from "./size.ts";

/** What a request asks for, every "auto" resolved. */
export interface Asked {
  /** As validated: a named quality and WIDTHxHEIGHT, or "auto" where the model takes none. */
  readonly quality: string;
  readonly size: string;
  /** Images that the request brings along; none when absent. */
  readonly inputImages?: number;
  /** The pixels of each of them; one whose pixels are not known counts as the largest. */
  readonly inputPixels?: readonly number[];
  /** Of the prompt, in UTF-8; none when absent. */
  readonly promptBytes?: number;
}

export interface ImageMeters extends Asked {
  readonly images: number;
}

export interface VideoMeters extends Asked {
  readonly seconds: number;
  /** Whether the video is asked for with sound; false when absent. */
  readonly audio?: boolean;
}

export interface TokenMeters {
  /** All input tokens; cached, cache-written, image and audio tokens included. */
  readonly inputTokens: number;
  /** All output tokens; reasoning, images and audio included. */
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Of the cache writes: those that are kept for longer than usual. */
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
  /** What is counted: "image", "second", "input_tokens", or the type of a tool's calls. */
  readonly unit: string;
  readonly count: bigint;
  /** Of one. */
  readonly picoUsd: PicoUsd;
}
export type PriceLines = readonly PriceLine[];

export function sumOf(lines: PriceLines): PicoUsd;
export function sumOf(lines: PriceLines | undefined): PicoUsd | undefined;
export function sumOf(lines: PriceLines | undefined): PicoUsd | undefined {
  return lines?.reduce((sum, line) => sum + line.count * line.picoUsd, 0n);
}

/** The first tier whose conditions all hold, times the number of images, plus the input images. */
export function linesOfImages(price: ImagePrice, meters: ImageMeters): PriceLines | undefined {
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  if (tier === undefined) return undefined;
  const images = count(meters.images);
  return [{ unit: "image", count: images, picoUsd: tier.picoUsd }, ...linesOfInputs(price, meters, images)];
}

/** Each started unit of area costs; the first has its own price. Undefined when the size is not known. */
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

/** Seconds times the price of the first tier whose conditions all hold, plus the input images. */
export function linesOfSeconds(price: SecondPrice, meters: VideoMeters): PriceLines | undefined {
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  if (tier === undefined) return undefined;
  const seconds = count(meters.seconds);
  return [{ unit: "second", count: seconds, picoUsd: tier.picoUsd }, ...linesOfInputs(price, meters, 1n)];
}

/** The first tier whose conditions all hold, plus the input images. */
export function linesOfClip(price: ClipPrice, meters: VideoMeters): PriceLines | undefined {
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  if (tier === undefined) return undefined;
  return [{ unit: "video", count: 1n, picoUsd: tier.picoUsd }, ...linesOfInputs(price, meters, 1n)];
}

/** Returns the tokens of each meter. A meter without a price of its own is billed as its parent. */
export function linesOfTokens(whole: TokenPrice, meters: TokenMeters): PriceLines {
  const price = ratesOfUse(whole, meters);
  const { inputPicoUsd: input, outputPicoUsd: output } = price;
  const cached = count(meters.cachedInputTokens ?? 0);
  const kept = count(meters.longCacheWriteTokens ?? 0);
  const written = atLeastZero(count(meters.cacheWriteTokens ?? 0) - kept);
  const cacheWrite = price.cacheWritePicoUsd ?? input;
  const image = count(meters.imageInputTokens ?? 0);
  const audio = count(meters.audioInputTokens ?? 0);
  const reasoning = count(meters.reasoningTokens ?? 0);
  const made = count(meters.imageOutputTokens ?? 0);
  const spoken = count(meters.audioOutputTokens ?? 0);
  // When a part is larger than its whole, the provider has miscounted the whole. The parts are billed then.
  const plainInput = atLeastZero(count(meters.inputTokens) - cached - written - kept - image - audio);
  const plainOutput = atLeastZero(count(meters.outputTokens) - reasoning - made - spoken);
  const { toolCalls = {} } = meters;
  const lines = [
    { unit: "input_tokens", count: plainInput, picoUsd: input },
    { unit: "cached_input_tokens", count: cached, picoUsd: price.cachedInputPicoUsd ?? input },
    { unit: "cache_write_tokens", count: written, picoUsd: cacheWrite },
    { unit: "long_cache_write_tokens", count: kept, picoUsd: price.longCacheWritePicoUsd ?? cacheWrite },
    { unit: "image_input_tokens", count: image, picoUsd: price.imageInputPicoUsd ?? input },
    { unit: "audio_input_tokens", count: audio, picoUsd: price.audioInputPicoUsd ?? input },
    { unit: "output_tokens", count: plainOutput, picoUsd: output },
    { unit: "reasoning_tokens", count: reasoning, picoUsd: price.reasoningPicoUsd ?? output },
    { unit: "image_output_tokens", count: made, picoUsd: price.imageOutputPicoUsd ?? output },
    { unit: "audio_output_tokens", count: spoken, picoUsd: price.audioOutputPicoUsd ?? output },
    ...price.toolFees.map(({ call, picoUsd }) => ({
      unit: call,
      count: count(toolCalls[call] ?? 0),
      picoUsd,
    })),
    { unit: "request", count: price.requestPicoUsd === 0n ? 0n : 1n, picoUsd: price.requestPicoUsd },
  ];
  return lines.filter((line) => line.count !== 0n);
}

/** What the input images cost beyond the free ones. @param images how many are made */
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

/** Whether all conditions of a tier hold; one that it leaves out always does. */
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

/** A tier bounded in pixels never holds for a size that is not known. */
function fits(maxPixels: bigint, size: string): boolean {
  if (maxPixels === 0n) return true;
  const pixels = pixelsOf(size);
  return pixels !== undefined && pixels <= maxPixels;
}

function pixelsOf(text: string): bigint | undefined {
  const size = parseSize(text);
  return size === undefined ? undefined : BigInt(size.width) * BigInt(size.height);
}

/** Counts come from JSON. The caller checks them: anything but a whole number from 0 is its mistake. */
export function count(value: number): bigint {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not a count`);
  return BigInt(value);
}

function atLeastZero(value: bigint): bigint {
  return value < 0n ? 0n : value;
}
