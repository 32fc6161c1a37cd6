// A metered guess at what a request used, for the rare answer whose usage is neither sent nor to be looked up:
// four bytes of text a token, as English has it. It is never more than the request's hold.
import { priceOfTokens, type TokenMeters } from "@gr/models";
import { type Credits, PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import type { TokenPrice } from "@gr/proto/catalog";
import type { TextRequest } from "./text-request.ts";

const BYTES_PER_TOKEN = 4;
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_IMAGE = 1_024;

export interface Estimate {
  readonly meters: TokenMeters;
  readonly cost: PicoUsd;
}

/** Tokens that so many bytes of text amount to. */
export function tokensOf(bytes: number): number {
  return Math.ceil(Math.max(0, bytes) / BYTES_PER_TOKEN);
}

export function estimate(
  { input }: TextRequest,
  outputTokens: number,
  price: TokenPrice,
  held: Credits,
): Estimate {
  const inputTokens =
    tokensOf(input.textBytes) + TOKENS_PER_MESSAGE * input.messages + TOKENS_PER_IMAGE * input.images;
  const meters = { inputTokens, outputTokens };
  const cost = priceOfTokens(price, meters);
  return { meters, cost: atMost(cost, held * PICO_PER_CREDIT) };
}

function atMost(value: PicoUsd, limit: PicoUsd): PicoUsd {
  return value > limit ? limit : value;
}
