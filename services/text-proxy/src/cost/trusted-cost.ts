// Trusted cost is the limit of an upstream's bill that the customer pays: the listed price of the reported tokens, at
// most the tokens that the request could have, and a surplus for unlisted prices. A higher bill is our loss.
import { dearestRates, type TokenMeters } from "@gr/models";
import { type Credits, larger, PICO_PER_CREDIT, type PicoUsd, smaller } from "@gr/money";
import type { TokenPrice } from "@gr/proto/catalog";
import { dearestInput, dearestOutput } from "../request/hold-size.ts";
import type { TextOrder } from "../request/text-order.ts";
import { ratesAsked, termsAsked } from "./charged-meters.ts";

/** Rounding, request fees and similar amounts: 0.005 USD. */
const LEAST_SURPLUS: PicoUsd = 5_000_000_000n;
/** Length of inputs above which providers charge up to twice as much, without listing it, in tokens. */
const LONG_INPUT_TOKENS = 128_000;

export interface TrustTerms {
  readonly held: Credits;
  /** Output limit of each answer as sent: the client's or ours. */
  readonly limit: bigint | undefined;
  /** Surplus in percent of the listed price. */
  readonly surplus: number;
}

/** @param meters undefined if the upstream does not report them: then the hold counts as the listed price */
export function mostTrusted(order: TextOrder, terms: TrustTerms, meters: TokenMeters | undefined): PicoUsd {
  const { request, size } = order;
  const price = dearestRatesOf(order, meters);
  const extras = size.hasExtras ? size.extrasCost : 0n;
  if (dearestInput(request, price) + size.tokenCost + price.requestPicoUsd === 0n) return extras;
  const listed = meters === undefined ? terms.held * PICO_PER_CREDIT : listedCost(order, terms, meters);
  const percent = (listed * BigInt(terms.surplus)) / 100n;
  // The upstream received a limit that ends its work at the hold.
  const bounded = termsAsked(order)?.bounds.has("server_tool_cost") === true;
  const covered = bounded ? terms.held * PICO_PER_CREDIT : 0n;
  const long = meters !== undefined && meters.inputTokens > LONG_INPUT_TOKENS ? listed : 0n;
  return larger(covered, listed + larger(larger(percent, long), larger(extras, LEAST_SURPLUS)));
}

/** Uses the highest price of each token, because a report does not contain all facts about each. */
function listedCost(order: TextOrder, terms: TrustTerms, meters: TokenMeters): PicoUsd {
  const { inputTokens, outputTokens } = meters;
  const { request, size } = order;
  const price = dearestRatesOf(order, meters);
  const input = BigInt(inputTokens);
  const { images, audio, remote } = request.input;
  const bounded = images === 0 && !audio && !remote;
  return (
    (bounded ? smaller(input, size.inputTokens) : input) * dearestInput(request, price) +
    smaller(BigInt(outputTokens), mostOutput(order, terms)) * dearestOutput(price) +
    price.requestPicoUsd
  );
}

/** The highest rates that can apply to the request. */
function dearestRatesOf(order: TextOrder, meters: TokenMeters | undefined): TokenPrice {
  return dearestRates(order.price, ratesAsked(order, meters && BigInt(meters.inputTokens)));
}

/**
 * Tokens in all answers, at most: the requested limit, the model's maximum, or the size that the hold has grown to.
 */
function mostOutput({ request, size }: TextOrder, { held, limit }: TrustTerms): bigint {
  const answers = BigInt(request.choices);
  const predicted = request.predicts ? BigInt(request.bytes.length) * answers : 0n;
  if (limit !== undefined) return limit * answers + predicted;
  const covered = size.tokenCost === 0n ? 0n : (held * PICO_PER_CREDIT - size.inputCost) / size.tokenCost;
  return larger(size.mostTokens * answers, covered) + predicted;
}
