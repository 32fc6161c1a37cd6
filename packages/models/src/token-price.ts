// Token prices of a model that several upstreams serve: each bills by its own rates, and a hold must cover them all.
import { larger } from "@gr/money";
import type { TokenPrice } from "@gr/proto/catalog";
import { type MeterRates, meterRatesOf } from "./meter-rates.ts";
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
  const [rates, others] = [meterRatesOf(one), meterRatesOf(other)];
  /** @returns no member if neither price has one of its own */
  const part = <Name extends Exclude<keyof MeterRates, "input" | "output">>(name: Name) => {
    const field = `${name}PicoUsd` as const;
    if (one[field] === undefined && other[field] === undefined) return {};
    return { [field]: larger(rates[name], others[name]) };
  };
  return {
    ...one,
    inputPicoUsd: larger(rates.input, others.input),
    outputPicoUsd: larger(rates.output, others.output),
    requestPicoUsd: larger(one.requestPicoUsd, other.requestPicoUsd),
    ...part("cachedInput"),
    ...part("cacheWrite"),
    ...part("longCacheWrite"),
    ...part("imageInput"),
    ...part("audioInput"),
    ...part("reasoning"),
    ...part("imageOutput"),
    ...part("audioOutput"),
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
