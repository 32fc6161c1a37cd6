// How far an upstream is believed: up to what the listed prices make of the tokens that it reports, no more tokens than
// the request could have, and a surplus for what lists do not say. What it bills beyond that is not the customer's.
import { dearestRates, type TokenMeters } from "@gr/models";
import { type Credits, larger, PICO_PER_CREDIT, type PicoUsd, smaller } from "@gr/money";
import type { TokenPrice } from "@gr/proto/catalog";
import { dearestInput, dearestOutput } from "../request/hold-size.ts";
import type { TextOrder } from "../request/text-order.ts";
import { ratesAsked, termsAsked } from "./charged-meters.ts";

/** Rounding, fees for a request and the like: 0.005 USD. */
const LEAST_SURPLUS: PicoUsd = 5_000_000_000n;
/** Where providers begin to charge up to twice as much for long inputs, which lists do not say. */
const LONG_INPUT_TOKENS = 128_000;

export interface Belief {
  readonly held: Credits;
  /** The limit on the output of each answer that was sent, the client's or ours. */
  readonly limit: bigint | undefined;
  /** In percent of what is listed. */
  readonly surplus: number;
}

/** @param meters undefined where the upstream does not say: then as much as was held counts as listed */
export function mostBelievable(order: TextOrder, belief: Belief, meters: TokenMeters | undefined): PicoUsd {
  const { request, size } = order;
  const price = ratesBelieved(order, meters);
  const extras = size.extras ? size.extrasCost : 0n;
  if (dearestInput(request, price) + size.tokenCost + price.requestPicoUsd === 0n) return extras;
  const listed = meters === undefined ? belief.held * PICO_PER_CREDIT : listedCost(order, belief, meters);
  const percent = (listed * BigInt(belief.surplus)) / 100n;
  // The upstream was told to end where the hold does.
  const bounded = termsAsked(order)?.bounds.has("server_tool_cost") === true;
  const covered = bounded ? belief.held * PICO_PER_CREDIT : 0n;
  const long = meters !== undefined && meters.inputTokens > LONG_INPUT_TOKENS ? listed : 0n;
  return larger(covered, listed + larger(larger(percent, long), larger(extras, LEAST_SURPLUS)));
}

/** At the dearest price that each token can have: a report does not say everything of each. */
function listedCost(order: TextOrder, belief: Belief, meters: TokenMeters): PicoUsd {
  const { inputTokens, outputTokens } = meters;
  const { request, size } = order;
  const price = ratesBelieved(order, meters);
  const input = BigInt(inputTokens);
  const { images, audio, remote } = request.input;
  const bounded = images === 0 && !audio && !remote;
  return (
    (bounded ? smaller(input, size.inputTokens) : input) * dearestInput(request, price) +
    smaller(BigInt(outputTokens), mostOutput(order, belief)) * dearestOutput(price) +
    price.requestPicoUsd
  );
}

/** The dearest rates that the request can have had. */
function ratesBelieved(order: TextOrder, meters: TokenMeters | undefined): TokenPrice {
  return dearestRates(order.price, ratesAsked(order, meters && BigInt(meters.inputTokens)));
}

/** Tokens in all answers: nobody pays for more than was asked for, nor for more than a model has or a hold has grown to. */
function mostOutput({ request, size }: TextOrder, { held, limit }: Belief): bigint {
  const answers = BigInt(request.choices);
  const predicted = request.predicts ? BigInt(request.bytes.length) * answers : 0n;
  if (limit !== undefined) return limit * answers + predicted;
  const covered = size.tokenCost === 0n ? 0n : (held * PICO_PER_CREDIT - size.inputCost) / size.tokenCost;
  return larger(size.mostTokens * answers, covered) + predicted;
}
