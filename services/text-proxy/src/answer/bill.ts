// What a request costs: as its answer says, else as the upstream's look-up says, else as metered. Metered is a guess
// for the rare answer whose usage is neither sent nor found; it is never more than the request's hold.
import { priceOfTokens } from "@gr/models";
import { chargeOf, PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import type { TextOrder } from "../request/text-order.ts";
import type { Generation } from "../upstream/upstream-kind.ts";
import { costOf, type Usage } from "../upstream/usage.ts";
import type { TextBill } from "./text-kinds.ts";

/** As English has it. */
const BYTES_PER_TOKEN = 4;
const USUAL_TOKENS_PER_MESSAGE = 4;
const USUAL_TOKENS_PER_IMAGE = 1_024;
/** Bytes that an event of a stream has beside its text, at most. */
const LARGEST_ENVELOPE = 1_024;
const DATA = Buffer.from("data:");

export function billOfUsage({ price }: TextOrder, usage: Usage): TextBill {
  const cost = costOf(usage, price);
  return { cost, charge: chargeOf(cost), meters: usage.meters };
}

/**
 * @param found undefined when the upstream does not say
 * @param outputTokens as metered
 */
export function billOfFound(order: TextOrder, found: Generation | undefined, outputTokens: number): TextBill {
  const metered = meteredBill(order, outputTokens);
  if (found === undefined) return metered;
  return { cost: found.cost, charge: chargeOf(found.cost), meters: found.meters ?? metered.meters };
}

export function meteredBill({ request, price, credits }: TextOrder, outputTokens: number): TextBill {
  const { textBytes, messages, images } = request.input;
  const inputTokens =
    tokensOf(textBytes) + USUAL_TOKENS_PER_MESSAGE * messages + USUAL_TOKENS_PER_IMAGE * images;
  const meters = { inputTokens, outputTokens };
  const cost = atMost(priceOfTokens(price, meters), credits * PICO_PER_CREDIT);
  return { cost, charge: chargeOf(cost), meters };
}

function atMost(cost: PicoUsd, limit: PicoUsd): PicoUsd {
  return cost > limit ? limit : cost;
}

/** Tokens that so many bytes of text amount to. */
export function tokensOf(bytes: number): number {
  return Math.ceil(Math.max(0, bytes) / BYTES_PER_TOKEN);
}

/** Meters a stream while it passes: its events, and the bytes that they have beyond what each of them repeats. */
export class StreamMeter {
  #events = 0;
  #bytes = 0;
  /** Bytes of the first event, which has little text or none yet. */
  #envelope = 0;

  /** Whether anything was delivered. */
  get any(): boolean {
    return this.#events > 0;
  }

  add(block: Buffer): void {
    const before = this.#events;
    for (let at = block.indexOf(DATA); at >= 0; at = block.indexOf(DATA, at + DATA.length)) this.#events += 1;
    if (before === 0 && this.#events > 0) {
      this.#envelope = Math.min(Math.floor(block.length / this.#events), LARGEST_ENVELOPE);
    }
    this.#bytes += block.length;
  }

  /** At least one token an event, and the text of large events by its length. */
  outputTokens(): number {
    return Math.max(this.#events, tokensOf(this.#bytes - this.#events * this.#envelope));
  }
}
