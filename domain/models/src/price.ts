// The one price function: a price rule and what was asked for give an exact amount, or a bound. The list, the hold and the
// charge all come from here, so they cannot differ.
import { ceilDiv, type PicoUsd } from "@gr/money";
import type {
  ClipPrice,
  ClipTier,
  ImagePrice,
  ImageTier,
  InputCounting,
  MegapixelPrice,
  MeteredPrice,
  MeteredTier,
  Model,
  Price,
  SecondPrice,
  SecondTier,
  TokenPrice,
} from "@gr/proto/catalog";
import { parseSize } from "./size.ts";

/** What a request asks for, every "auto" resolved. */
interface Asked {
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
  readonly imageInputTokens?: number;
  readonly audioInputTokens?: number;
  readonly reasoningTokens?: number;
  readonly imageOutputTokens?: number;
  readonly audioOutputTokens?: number;
  /** Calls of tools that the provider ran, by their type in the output. */
  readonly toolCalls?: Readonly<Record<string, number>>;
}

/** What a provider says that it used or billed; absent parts were not reported. */
export interface Reported {
  readonly tokens?: TokenMeters;
  readonly billed?: PicoUsd;
}

export interface Quote {
  /** What the request costs; when it is not exact, the most that it can cost, which is held before. */
  readonly most: PicoUsd;
  readonly isExact: boolean;
}

/** What a request to a model costs; undefined when the model has no price for it. */
export function priceOf(model: Pick<Model, "price">, request: ImageMeters | VideoMeters): Quote | undefined {
  const { price } = model;
  if (price === undefined) return undefined;
  const most =
    "seconds" in request ? priceOfVideoRequest(price, request) : priceOfImageRequest(price, request);
  return most === undefined ? undefined : { most, isExact: isExact(price) };
}

/** Whether what a request costs is known before it is sent. */
export function isExact({ rule }: Price): boolean {
  return rule.case !== "metered" && rule.case !== "reported" && rule.case !== "token";
}

/**
 * What is charged for what was delivered: what a metered or reported price makes of the report, and never more than was
 * held for it. Without a report it is what was held. Not rounded: the caller rounds up once, over all parts of a request.
 */
export function priceOfUse({ rule }: Price, most: PicoUsd, reported: Reported | undefined): PicoUsd {
  if (rule.case !== "metered" && rule.case !== "reported") return most;
  const { tokens, billed } = reported ?? {};
  const byMeter =
    rule.case === "metered" && rule.value.tokens !== undefined && tokens !== undefined
      ? priceOfTokens(rule.value.tokens, tokens)
      : undefined;
  const used = byMeter ?? billed ?? most;
  return used >= 0n && used < most ? used : most;
}

/** What an image request costs at most, by whichever rule; undefined when the rule has no price for it. */
export function priceOfImageRequest({ rule }: Price, meters: ImageMeters): PicoUsd | undefined {
  switch (rule.case) {
    case "image":
      return priceOfImages(rule.value, meters);
    case "megapixel":
      return priceOfMegapixels(rule.value, meters);
    case "metered":
      return mostOfTokens(rule.value, meters, meters.images);
    case "reported":
      return rule.value.most === undefined ? undefined : priceOfImageRequest(rule.value.most, meters);
    default:
      return undefined;
  }
}

/** What a video request costs at most, by whichever rule; undefined when the rule has no price for it. */
export function priceOfVideoRequest({ rule }: Price, meters: VideoMeters): PicoUsd | undefined {
  switch (rule.case) {
    case "second":
      return priceOfSeconds(rule.value, meters);
    case "clip":
      return priceOfClip(rule.value, meters);
    case "metered":
      return mostOfTokens(rule.value, meters, 1, meters.seconds);
    case "reported":
      return rule.value.most === undefined ? undefined : priceOfVideoRequest(rule.value.most, meters);
    default:
      return undefined;
  }
}

/** The first tier whose conditions all hold, times the number of images, plus the input images. */
export function priceOfImages(price: ImagePrice, meters: ImageMeters): PicoUsd | undefined {
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  if (tier === undefined) return undefined;
  return tier.picoUsd * count(meters.images) + inputsOf(price, meters, meters.images);
}

/** Each started unit of area costs; the first has its own price. Undefined when the size is not known. */
export function priceOfMegapixels(price: MegapixelPrice, meters: ImageMeters): PicoUsd | undefined {
  const pixels = pixelsOf(meters.size);
  if (pixels === undefined || price.unitPixels <= 0n) return undefined;
  const further = ceilDiv(pixels, price.unitPixels) - 1n;
  const each = price.firstPicoUsd + further * price.furtherPicoUsd;
  return each * count(meters.images) + inputsOf(price, meters, meters.images);
}

/** Seconds times the price of the first tier whose conditions all hold, plus the input images. */
export function priceOfSeconds(price: SecondPrice, meters: VideoMeters): PicoUsd | undefined {
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  if (tier === undefined) return undefined;
  return tier.picoUsd * count(meters.seconds) + inputsOf(price, meters, 1);
}

/** The first tier whose conditions all hold, plus the input images. */
export function priceOfClip(price: ClipPrice, meters: VideoMeters): PicoUsd | undefined {
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  return tier === undefined ? undefined : tier.picoUsd + inputsOf(price, meters, 1);
}

/**
 * The most that a request by the token can cost. Each byte of the prompt counts as a token, and prompt and inputs count
 * once for each image made, since a request for several may be as many calls.
 */
function mostOfTokens(price: MeteredPrice, meters: Asked, images: number, seconds = 1): PicoUsd | undefined {
  const { tokens } = price;
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  if (tokens === undefined || tier === undefined) return undefined;
  const text = count(meters.promptBytes ?? 0) + price.otherInputTokens;
  const inputs = count(meters.inputImages ?? 0) * price.inputImageTokens;
  const each =
    text * largest(tokens.inputPicoUsd, tokens.cacheWritePicoUsd) +
    inputs * largest(tokens.inputPicoUsd, tokens.imageInputPicoUsd, tokens.cacheWritePicoUsd) +
    tier.outputTokens * count(seconds) * (tokens.imageOutputPicoUsd ?? tokens.outputPicoUsd) +
    price.otherOutputTokens * largest(tokens.outputPicoUsd, tokens.reasoningPicoUsd);
  return each * count(images) + tokens.requestPicoUsd * count(images);
}

/** What the input images cost beyond the free ones. @param images how many are made */
function inputsOf(
  price: { inputImagePicoUsd: PicoUsd; freeInputImages: number; inputs?: InputCounting | undefined },
  meters: Asked,
  images: number,
): PicoUsd {
  const { inputImagePicoUsd: each, freeInputImages: free, inputs } = price;
  const number = Number(count(meters.inputImages ?? 0));
  let units = 0n;
  for (let index = free; index < number; index += 1) units += unitsOf(meters.inputPixels?.[index], inputs);
  return units * each * (inputs?.once === true ? 1n : count(images));
}

function unitsOf(pixels: number | undefined, counting: InputCounting | undefined): bigint {
  if (counting === undefined || counting.unitPixels <= 0n) return 1n;
  const most = counting.maxPixels;
  const known = pixels === undefined ? most : count(pixels);
  const counted = most > 0n && known > most ? most : known;
  return counted === 0n ? 1n : ceilDiv(counted, counting.unitPixels);
}

/** Tokens of each meter times its price; a meter without a price of its own is billed as its parent. */
export function priceOfTokens(price: TokenPrice, meters: TokenMeters): PicoUsd {
  const cached = count(meters.cachedInputTokens ?? 0);
  const written = count(meters.cacheWriteTokens ?? 0);
  const image = count(meters.imageInputTokens ?? 0);
  const audio = count(meters.audioInputTokens ?? 0);
  const reasoning = count(meters.reasoningTokens ?? 0);
  const made = count(meters.imageOutputTokens ?? 0);
  const spoken = count(meters.audioOutputTokens ?? 0);
  // When a part is larger than its whole, the provider has miscounted the whole. The parts are billed then.
  const plainInput = atLeastZero(count(meters.inputTokens) - cached - written - image - audio);
  const plainOutput = atLeastZero(count(meters.outputTokens) - reasoning - made - spoken);
  return (
    plainInput * price.inputPicoUsd +
    cached * (price.cachedInputPicoUsd ?? price.inputPicoUsd) +
    written * (price.cacheWritePicoUsd ?? price.inputPicoUsd) +
    image * (price.imageInputPicoUsd ?? price.inputPicoUsd) +
    audio * (price.audioInputPicoUsd ?? price.inputPicoUsd) +
    plainOutput * price.outputPicoUsd +
    reasoning * (price.reasoningPicoUsd ?? price.outputPicoUsd) +
    made * (price.imageOutputPicoUsd ?? price.outputPicoUsd) +
    spoken * (price.audioOutputPicoUsd ?? price.outputPicoUsd) +
    feesOf(price, meters) +
    price.requestPicoUsd
  );
}

function feesOf({ toolFees }: TokenPrice, { toolCalls = {} }: TokenMeters): PicoUsd {
  return toolFees.reduce((sum, { call, picoUsd }) => sum + count(toolCalls[call] ?? 0) * picoUsd, 0n);
}

type Tier = ImageTier | SecondTier | ClipTier | MeteredTier;

/** Whether all conditions of a tier hold; one that it leaves out always does. */
function holds(tier: Tier, asked: Asked & { seconds?: number; audio?: boolean }): boolean {
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

function largest(first: PicoUsd, ...others: readonly (PicoUsd | undefined)[]): PicoUsd {
  return others.reduce<PicoUsd>((most, other) => (other !== undefined && other > most ? other : most), first);
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
