// The price function turns a price rule and a request into an exact amount, or into an upper bound.
// The model list, the hold and the charge all use it, so they cannot differ.
import type { PicoUsd } from "@gr/money";
import type {
  ClipPrice,
  ImagePrice,
  MegapixelPrice,
  MeteredPrice,
  Model,
  Price,
  SecondPrice,
  TokenPrice,
} from "@gr/proto/catalog";
import {
  type Asked,
  count,
  holds,
  type ImageMeters,
  linesOfClip,
  linesOfImages,
  linesOfMegapixels,
  linesOfSeconds,
  linesOfTokens,
  type PriceLines,
  sumOf,
  type TokenMeters,
  type VideoMeters,
} from "./price-lines.ts";

/** Usage or bill that a provider reports; absent parts were not reported. */
export interface Reported {
  readonly tokens?: TokenMeters;
  readonly billed?: PicoUsd;
}

export interface Quote {
  /** Cost of the request; if inexact, its upper bound, which is held before. */
  readonly most: PicoUsd;
  readonly isExact: boolean;
}

/** Returns the cost of a request; undefined if the model has no price for it. */
export function priceOf(model: Pick<Model, "price">, request: ImageMeters | VideoMeters): Quote | undefined {
  const { price } = model;
  if (price === undefined) return undefined;
  const most =
    "seconds" in request ? priceOfVideoRequest(price, request) : priceOfImageRequest(price, request);
  return most === undefined ? undefined : { most, isExact: isExact(price) };
}

/** Returns true if the cost is certain before the request is sent. */
export function isExact({ rule }: Price): boolean {
  return rule.case !== "metered" && rule.case !== "reported" && rule.case !== "token";
}

/** Returns true if the price depends on the pixels of input images. */
export function dependsOnInputPixels(price: Price | undefined): boolean {
  const rule = price?.rule;
  if (rule?.case === "reported") return dependsOnInputPixels(rule.value.most);
  const counts =
    rule?.case === "image" || rule?.case === "megapixel" || rule?.case === "second" || rule?.case === "clip";
  return counts && (rule.value.inputs?.unitPixels ?? 0n) > 0n;
}

/**
 * Returns the cost of a delivered answer: for a metered or reported price, from the report, and never above the hold.
 * Without a report, the held amount. Not rounded: the caller rounds up once, over all parts of a request.
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

/** Returns the highest cost of an image request, by any rule; undefined if the rule has no price for it. */
export function priceOfImageRequest({ rule }: Price, meters: ImageMeters): PicoUsd | undefined {
  switch (rule.case) {
    case "image":
      return priceOfImages(rule.value, meters);
    case "megapixel":
      return priceOfMegapixels(rule.value, meters);
    case "metered":
      return mostOfTokens(rule.value, meters, meters);
    case "reported":
      return rule.value.most === undefined ? undefined : priceOfImageRequest(rule.value.most, meters);
    default:
      return undefined;
  }
}

/** Returns the highest cost of a video request, by any rule; undefined if the rule has no price for it. */
export function priceOfVideoRequest({ rule }: Price, meters: VideoMeters): PicoUsd | undefined {
  switch (rule.case) {
    case "second":
      return priceOfSeconds(rule.value, meters);
    case "clip":
      return priceOfClip(rule.value, meters);
    case "metered":
      return mostOfTokens(rule.value, meters, { images: 1, seconds: meters.seconds });
    case "reported":
      return rule.value.most === undefined ? undefined : priceOfVideoRequest(rule.value.most, meters);
    default:
      return undefined;
  }
}

export function priceOfImages(price: ImagePrice, meters: ImageMeters): PicoUsd | undefined {
  return sumOf(linesOfImages(price, meters));
}

export function priceOfMegapixels(price: MegapixelPrice, meters: ImageMeters): PicoUsd | undefined {
  return sumOf(linesOfMegapixels(price, meters));
}

export function priceOfSeconds(price: SecondPrice, meters: VideoMeters): PicoUsd | undefined {
  return sumOf(linesOfSeconds(price, meters));
}

export function priceOfClip(price: ClipPrice, meters: VideoMeters): PicoUsd | undefined {
  return sumOf(linesOfClip(price, meters));
}

/** Returns the lines of a request with units that are certain before it; undefined if the rule has no such price. */
export function linesOfRequest({ rule }: Price, meters: ImageMeters | VideoMeters): PriceLines | undefined {
  if (rule.case === "image" && "images" in meters) return linesOfImages(rule.value, meters);
  if (rule.case === "megapixel" && "images" in meters) return linesOfMegapixels(rule.value, meters);
  if (rule.case === "second" && "seconds" in meters) return linesOfSeconds(rule.value, meters);
  if (rule.case === "clip" && "seconds" in meters) return linesOfClip(rule.value, meters);
  return undefined;
}

/**
 * Returns the highest cost of a request that is billed by the token. Each byte of the prompt counts as a token. Prompt
 * and inputs count once for each created image, because a request for several may need as many calls.
 */
function mostOfTokens(
  price: MeteredPrice,
  meters: Asked,
  { images, seconds = 1, partialImages = 0 }: { images: number; seconds?: number; partialImages?: number },
): PicoUsd | undefined {
  const { tokens } = price;
  const tier = price.tiers.find((candidate) => holds(candidate, meters));
  if (tokens === undefined || tier === undefined) return undefined;
  const text = count(meters.promptBytes ?? 0) + price.otherInputTokens;
  const inputs = count(meters.inputImages ?? 0) * price.inputImageTokens;
  const each =
    text * largest(tokens.inputPicoUsd, tokens.cacheWritePicoUsd) +
    inputs * largest(tokens.inputPicoUsd, tokens.imageInputPicoUsd, tokens.cacheWritePicoUsd) +
    (tier.outputTokens * count(seconds) + price.partialImageTokens * count(partialImages)) *
      (tokens.imageOutputPicoUsd ?? tokens.outputPicoUsd) +
    price.otherOutputTokens * largest(tokens.outputPicoUsd, tokens.reasoningPicoUsd);
  return each * count(images) + tokens.requestPicoUsd * count(images);
}

/** Tokens of each meter times its price; a meter without a price of its own is billed as its parent. */
export function priceOfTokens(price: TokenPrice, meters: TokenMeters): PicoUsd {
  return sumOf(linesOfTokens(price, meters));
}

function largest(first: PicoUsd, ...others: readonly (PicoUsd | undefined)[]): PicoUsd {
  return others.reduce<PicoUsd>((most, other) => (other !== undefined && other > most ? other : most), first);
}
