// What a request costs: as its answer says, else as the upstream's look-up says, else as metered. Metered is a guess
// for the rare answer whose usage is neither sent nor found; it is never more than the request's hold. What is reported
// beyond belief is our cost, and not the customer's.
import { priceOfTokens, type TokenMeters } from "@gr/models";
import { chargeOf, PICO_PER_CREDIT, type PicoUsd, smaller } from "@gr/money";
import type { Generation } from "../upstream/generation.ts";
import type { Usage } from "../upstream/usage.ts";
import { mostBelievable } from "./believed-cost.ts";
import { chargeOfParts, sumOf } from "./carried-part.ts";
import { chargedMeters, costIn } from "./charged-meters.ts";
import { chargeWithin } from "./covered-bill.ts";
import type { Attempt } from "./failed-attempt.ts";
import type { StreamMeter } from "./stream-meter.ts";
import type { TextBill } from "./text-kinds.ts";

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
  const charge = chargeOfParts(paid, carried);
  return { cost, charge, meters: carried === undefined ? meters : sumOf(meters, carried.meters) };
}

/**
 * @param found undefined when the upstream does not say
 * @param outputTokens as metered
 */
export function billOfFound(attempt: Attempt, found: Generation | undefined, outputTokens: number): TextBill {
  const metered = meteredBill(attempt, outputTokens);
  const { held } = attempt.terms();
  if (found === undefined) {
    const bill = withCarried(attempt, metered.cost, metered.cost, metered.meters);
    return chargeWithin(attempt, held, bill);
  }
  const { cost, meters } = found;
  const paid = believed(attempt, cost, meters);
  return chargeWithin(attempt, held, withCarried(attempt, cost, paid, meters ?? metered.meters));
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
