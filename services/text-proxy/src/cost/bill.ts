// Bill is a request's cost: by its answer, else by the upstream's look-up, else as metered. A metered cost is an
// estimate for the rare answer without a usage in either. It is never above the request's hold. A reported cost above
// the trusted cost is our loss and not the customer's.
import { priceOfTokens, type TokenMeters } from "@gr/models";
import { chargeOf, PICO_PER_CREDIT, type PicoUsd, smaller } from "@gr/money";
import { chargeOfParts } from "@gr/paid-request";
import type { StreamMeter } from "../stream/stream-meter.ts";
import type { TextBill } from "../text-kinds.ts";
import type { Generation } from "../upstream/generation.ts";
import type { Usage } from "../upstream/usage.ts";
import { metersOf, sumOf } from "./carried-part.ts";
import { chargedMeters, costIn } from "./charged-meters.ts";
import type { Attempt } from "./failed-attempt.ts";
import { mostTrusted } from "./trusted-cost.ts";

/** Average for English text. */
const BYTES_PER_TOKEN = 4;
const USUAL_TOKENS_PER_MESSAGE = 4;
const USUAL_TOKENS_PER_IMAGE = 1_024;

/** Returns the bill within the trusted cost; the hold may not cover it yet. */
export function billOfUsage(attempt: Attempt, usage: Usage): TextBill {
  const cost = costIn(attempt.order, usage);
  const meters = chargedMeters(attempt.order, usage.meters);
  return withCarried(attempt, cost, trusted(attempt, cost, meters), meters);
}

/** The customer also pays for the earlier parts, and their cost is already booked. */
function withCarried({ carried }: Attempt, cost: PicoUsd, paid: PicoUsd, meters: TokenMeters): TextBill {
  const parts = carried?.parts ?? [];
  const all = parts.length === 0 ? meters : sumOf(meters, metersOf(parts));
  return { cost, charge: chargeOfParts(paid, parts), meters: all };
}

/**
 * @param found undefined if the upstream does not report a generation
 * @param outputTokens as metered
 */
export function billOfFound(attempt: Attempt, found: Generation | undefined, outputTokens: number): TextBill {
  const metered = meteredBill(attempt, outputTokens);
  if (found === undefined) return withCarried(attempt, metered.cost, metered.cost, metered.meters);
  const { cost, meters } = found;
  return withCarried(attempt, cost, trusted(attempt, cost, meters), meters ?? metered.meters);
}

export function meteredBill({ order, terms }: Attempt, outputTokens: number): TextBill {
  const { request, price } = order;
  const { textBytes, messages, images } = request.input;
  const inputTokens =
    tokensOf(textBytes) + USUAL_TOKENS_PER_MESSAGE * messages + USUAL_TOKENS_PER_IMAGE * images;
  const meters = chargedMeters(order, { inputTokens, outputTokens });
  const cost = smaller(priceOfTokens(price, meters), terms().held * PICO_PER_CREDIT);
  return { cost, charge: chargeOf(cost), meters };
}

function trusted({ order, terms, events }: Attempt, cost: PicoUsd, meters: TokenMeters | undefined): PicoUsd {
  const most = mostTrusted(order, terms(), meters);
  if (cost <= most) return cost;
  events.notTrusted(order, cost, most);
  return most;
}

/** Tokens of a text with this number of bytes. */
export function tokensOf(bytes: number): number {
  return Math.ceil(Math.max(0, bytes) / BYTES_PER_TOKEN);
}

/** Tokens of a stream: at least one an event, and the text of large events by its length. */
export function tokensOfStream(meter: StreamMeter): number {
  return Math.max(meter.events, meter.tokens(BYTES_PER_TOKEN));
}
