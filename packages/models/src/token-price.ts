// Token prices of a model that several upstreams serve: each bills by its own rates, and a hold must cover them all.
import type { PicoUsd } from "@gr/money";
import type { TokenPrice } from "@gr/proto/catalog";
import { hasOneRate, possibleRates, type RateTerms, ratesOfUse } from "./price-cases.ts";
import type { TokenMeters } from "./price-lines.ts";

/** Returns the price that this upstream bills. */
export function tokenPriceAt(price: TokenPrice, provider: string): TokenPrice {
  for (const each of price.upstreams) if (each.provider === provider) return each.price ?? price;
  return price;
}

/**
 * Counts tokens of images and audio apart only if they have a price of their own. Some are also reported as cached, and
 * would be billed twice.
 */
export function withOwnPrice(meters: TokenMeters, whole: TokenPrice): TokenMeters {
  const { imageInputTokens, audioInputTokens, imageOutputTokens, audioOutputTokens } = meters;
  if (!(imageInputTokens || audioInputTokens || imageOutputTokens || audioOutputTokens)) return meters;
  const price = ratesOfUse(whole, meters);
  return {
    ...meters,
    ...(price.imageInputPicoUsd === undefined ? { imageInputTokens: 0 } : {}),
    ...(price.audioInputPicoUsd === undefined ? { audioInputTokens: 0 } : {}),
    ...(price.imageOutputPicoUsd === undefined ? { imageOutputTokens: 0 } : {}),
    ...(price.audioOutputPicoUsd === undefined ? { audioOutputTokens: 0 } : {}),
  };
}

/** Returns the highest price of each meter over these upstreams: no request costs more at any of them. */
export function dearestTokenPrice(
  price: TokenPrice,
  providers: readonly string[],
  terms: RateTerms = { tier: "", inputTokens: 0n },
): TokenPrice {
  let dearest: TokenPrice | undefined;
  for (const provider of providers) {
    const there = tokenPriceAt(price, provider);
    // Most models have one price at all their upstreams.
    if (there !== dearest) dearest = dearerRates(dearest, there, terms);
  }
  return dearest ?? dearestRates(price, terms);
}

/** Returns the highest price of each meter over the rates that a request with these terms can get. */
export function dearestRates(price: TokenPrice, terms: RateTerms): TokenPrice {
  return dearerRates(undefined, price, terms);
}

function dearerRates(dearest: TokenPrice | undefined, price: TokenPrice, terms: RateTerms): TokenPrice {
  const first = dearest === undefined ? price : dearerOf(dearest, price);
  return hasOneRate(price) ? first : possibleRates(price, terms).slice(1).reduce(dearerOf, first);
}

function dearerOf(one: TokenPrice, other: TokenPrice): TokenPrice {
  /** @param whole price that bills a meter without its own price */
  const part = (of: (price: TokenPrice) => PicoUsd | undefined, whole: (price: TokenPrice) => PicoUsd) =>
    of(one) === undefined && of(other) === undefined
      ? undefined
      : larger(of(one) ?? whole(one), of(other) ?? whole(other));
  const input = (price: TokenPrice) => price.inputPicoUsd;
  const output = (price: TokenPrice) => price.outputPicoUsd;
  const cacheWrite = (price: TokenPrice) => price.cacheWritePicoUsd ?? price.inputPicoUsd;
  return {
    ...one,
    inputPicoUsd: larger(one.inputPicoUsd, other.inputPicoUsd),
    outputPicoUsd: larger(one.outputPicoUsd, other.outputPicoUsd),
    requestPicoUsd: larger(one.requestPicoUsd, other.requestPicoUsd),
    ...defined({
      cachedInputPicoUsd: part((price) => price.cachedInputPicoUsd, input),
      cacheWritePicoUsd: part((price) => price.cacheWritePicoUsd, input),
      longCacheWritePicoUsd: part((price) => price.longCacheWritePicoUsd, cacheWrite),
      imageInputPicoUsd: part((price) => price.imageInputPicoUsd, input),
      audioInputPicoUsd: part((price) => price.audioInputPicoUsd, input),
      reasoningPicoUsd: part((price) => price.reasoningPicoUsd, output),
      imageOutputPicoUsd: part((price) => price.imageOutputPicoUsd, output),
      audioOutputPicoUsd: part((price) => price.audioOutputPicoUsd, output),
    }),
    toolFees: dearestFees(one, other),
  };
}

function dearestFees(one: TokenPrice, other: TokenPrice): TokenPrice["toolFees"] {
  const fees = new Map(one.toolFees.map((fee) => [fee.call, fee]));
  for (const fee of other.toolFees) {
    if (fee.picoUsd > (fees.get(fee.call)?.picoUsd ?? -1n)) fees.set(fee.call, fee);
  }
  return [...fees.values()];
}

function larger(one: PicoUsd, other: PicoUsd): PicoUsd {
  return one > other ? one : other;
}

/** Removes the undefined members. */
function defined<Part extends Record<string, PicoUsd | undefined>>(parts: Part) {
  const known = Object.entries(parts).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as { [Name in keyof Part]?: PicoUsd };
}
