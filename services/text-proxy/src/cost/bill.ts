// What a request costs: as its answer says, else as the upstream's look-up says, else as metered. Metered is a guess
// for the rare answer whose usage is neither sent nor found; it is never more than the request's hold. What is reported
// beyond belief is our cost, and not the customer's.
import { priceOfTokens, type TokenMeters } from "@gr/models";
import { chargeOf, PICO_PER_CREDIT, type PicoUsd, smaller } from "@gr/money";
import { chargeOfParts } from "@gr/paid-request";
import type { StreamMeter } from "../stream/stream-meter.ts";
import type { TextBill } from "../text-kinds.ts";
import type { Generation } from "../upstream/generation.ts";
import type { Usage } from "../upstream/usage.ts";
import { mostBelievable } from "./believed-cost.ts";
import { metersOf, sumOf } from "./carried-part.ts";
import { chargedMeters, costIn } from "./charged-meters.ts";
import type { Attempt } from "./failed-attempt.ts";

/** As English has it. */
const BYTES_PER_TOKEN = 4;
const USUAL_TOKENS_PER_MESSAGE = 4;
const USUAL_TOKENS_PER_IMAGE = 1_024;

/** What is believed of it; the hold may not cover that yet. */
export function billOfUsage(attempt: Attempt, usage: Usage): TextBill {
  const cost = costIn(attempt.order, usage);
  const meters = chargedMeters(attempt.order, usage.meters);
  return withCarried(attempt, cost, believed(attempt, cost, meters), meters);
}

/** The customer pays for what came before, too; its cost is booked already. */
function withCarried({ carried }: Attempt, cost: PicoUsd, paid: PicoUsd, meters: TokenMeters): TextBill {
  const parts = carried?.parts ?? [];
  const all = parts.length === 0 ? meters : sumOf(meters, metersOf(parts));
  return { cost, charge: chargeOfParts(paid, parts), meters: all };
}

/**
 * @param found undefined when the upstream does not say
 * @param outputTokens as metered
 */
export function billOfFound(attempt: Attempt, found: Generation | undefined, outputTokens: number): TextBill {
  const metered = meteredBill(attempt, outputTokens);
  if (found === undefined) return withCarried(attempt, metered.cost, metered.cost, metered.meters);
  const { cost, meters } = found;
  return withCarried(attempt, cost, believed(attempt, cost, meters), meters ?? metered.meters);
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

function believed(
  { order, terms, events }: Attempt,
  cost: PicoUsd,
  meters: TokenMeters | undefined,
): PicoUsd {
  const most = mostBelievable(order, terms(), meters);
  if (cost <= most) return cost;
  events.notBelieved(order, cost, most);
  return most;
}

/** Tokens that so many bytes of text amount to. */
export function tokensOf(bytes: number): number {
  return Math.ceil(Math.max(0, bytes) / BYTES_PER_TOKEN);
}

/** Tokens of a stream: at least one an event, and the text of large events by its length. */
export function tokensOfStream(meter: StreamMeter): number {
  return Math.max(meter.events, meter.tokens(BYTES_PER_TOKEN));
}
