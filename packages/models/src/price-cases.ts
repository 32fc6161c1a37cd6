// Price cases select the rates of a token price: by service tier, and by length of the input.
// Rates are written out and never multiplied, since providers round each of them for itself.
import type { TokenPrice } from "@gr/proto/catalog";
import { offPeakRates } from "./off-peak.ts";

/** Terms that decide the rates of a request. */
export interface RateTerms {
  /** The service tier; empty = the standard tier. */
  readonly tier: string;
  readonly inputTokens: bigint;
  /** Unix milliseconds of the answer, by the provider's clock. Absent before there is one: then no off-peak rates apply. */
  readonly createdAt?: number | undefined;
}

/** Words for the standard tier in requests and answers. */
const STANDARD: ReadonlySet<string> = new Set(["", "auto", "default", "standard", "standard_only"]);

/** Returns the tier that a word of a request or an answer names; empty = the standard tier. */
export function tierOf(word: string): string {
  // OpenAI's newer word for the same tier.
  if (word === "fast") return "priority";
  return STANDARD.has(word) ? "" : word;
}

/** Nearly all prices have one set of rates, for all tiers, lengths and times. */
export function hasOneRate({ cases, offPeak }: TokenPrice): boolean {
  return (cases?.length ?? 0) + (offPeak?.length ?? 0) === 0;
}

/** @returns undefined when the price has no rates for this tier, or none for so long an input in this tier */
export function ratesAt(
  price: TokenPrice,
  { tier, inputTokens, createdAt }: RateTerms,
): TokenPrice | undefined {
  const step = stepOf(price, "", inputTokens);
  if (tier === "") return step?.price ?? offPeakRates(price, createdAt) ?? price;
  const own = stepOf(price, tier, inputTokens);
  return own !== undefined && own.aboveInputTokens >= (step?.aboveInputTokens ?? 0n) ? own.price : undefined;
}

/** Returns the rates of a finished request. Tiers without their own rates are billed as the standard tier. */
export function ratesOfUse(
  price: TokenPrice,
  {
    tier = "",
    inputTokens,
    createdAt,
  }: { readonly tier?: string; readonly inputTokens: number; readonly createdAt?: number | undefined },
): TokenPrice {
  if (hasOneRate(price)) return price;
  const used = BigInt(Math.max(0, inputTokens));
  const terms = { tier: tierOf(tier), inputTokens: used, createdAt };
  return ratesAt(price, terms) ?? ratesAt(price, { ...terms, tier: "" }) ?? price;
}

/**
 * Returns all rates that a request for this tier and up to this input can get: upstreams may serve it in the standard
 * tier.
 */
export function possibleRates(price: TokenPrice, { tier, inputTokens }: RateTerms): TokenPrice[] {
  const tiers = new Set(["", tier]);
  const stepped = price.cases
    .filter((each) => tiers.has(each.tier) && each.aboveInputTokens < inputTokens)
    .flatMap((each) => each.price ?? []);
  return [price, ...price.offPeak.flatMap((each) => each.price ?? []), ...stepped];
}

function stepOf(price: TokenPrice, tier: string, inputTokens: bigint) {
  let found: TokenPrice["cases"][number] | undefined;
  for (const each of price.cases) {
    const applies =
      each.tier === tier && (each.aboveInputTokens === 0n || inputTokens > each.aboveInputTokens);
    if (applies && each.aboveInputTokens >= (found?.aboveInputTokens ?? 0n)) found = each;
  }
  return found;
}
