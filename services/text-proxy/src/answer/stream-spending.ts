// StreamSpending compares a stream's usage with its hold. The hold grows early; while it is used up, the
// upstream is paused, and if the hold cannot grow, the stream ends. Usage is overestimated, so that the
// hold covers the upstream's bill. `cost/bill.ts` computes the charge.
import { type Credits, chargeOf, larger, type PicoUsd } from "@gr/money";
import { type AttemptContext, GrowingHold } from "@gr/paid-request";
import type { ServiceError } from "@gr/proto";
import type { HoldSize } from "../request/hold-size.ts";
import type { TextOrder } from "../request/text-order.ts";
import type { StreamMeter } from "../stream/stream-meter.ts";

/** Hardly any text has more tokens than a half of its bytes. */
const FEWEST_BYTES_PER_TOKEN = 2;
/**
 * Hardly any text has fewer tokens, nor do its repetitions as words and as parts of a message. With an upstream limit
 * that the hold covers, only an upstream that ignores the limit is to be detected.
 */
const MOST_BYTES_PER_TOKEN = 16;

/** Fields of an order that decide its stream's limits. */
export interface SpendingOrder extends Pick<TextOrder, "credits" | "mostCredits"> {
  readonly size: Pick<HoldSize, "inputCost" | "tokenCost" | "stepCredits">;
}

export interface StreamSpendingParts {
  readonly order: SpendingOrder;
  readonly context: Pick<AttemptContext, "held" | "extend">;
  /** True if the upstream received a limit that ends its work at the hold. */
  readonly isLimited: boolean;
  readonly meter: Pick<StreamMeter, "events" | "tokens">;
  readonly upstream: { pause(): void; resume(): void };
  /** Called if no more may be spent. */
  readonly refused: (why: ServiceError) => void;
}

export class StreamSpending {
  readonly #order: SpendingOrder;
  readonly #meter: StreamSpendingParts["meter"];
  readonly #upstream: StreamSpendingParts["upstream"];
  readonly #hold: GrowingHold;
  /** A hold of this size covers the upstream's largest answer. */
  readonly #enough: Credits;

  constructor({ order, context, isLimited, meter, upstream, refused }: StreamSpendingParts) {
    this.#order = order;
    this.#meter = meter;
    this.#upstream = upstream;
    this.#enough = isLimited ? context.held : (order.mostCredits ?? order.credits);
    this.#hold = new GrowingHold({
      context,
      step: order.size.stepCredits,
      most: this.#enough,
      wait: () => upstream.pause(),
      resume: () => upstream.resume(),
      refused,
    });
  }

  get held(): Credits {
    return this.#hold.held;
  }

  /** Checks the usage after new data. @param said cost until now by the upstream's own report, if it sends one */
  look(reported: PicoUsd = 0n): void {
    const { tokenCost, inputCost } = this.#order.size;
    if (tokenCost === 0n) return;
    const metered = inputCost + BigInt(this.#tokens()) * tokenCost;
    // Some upstreams report it once at the beginning, and then not before the end.
    this.#hold.use(chargeOf(larger(reported, metered)));
  }

  /** Ends the checks: no more data follows. */
  stop(): void {
    this.#hold.stop();
    this.#upstream.resume();
  }

  #tokens(): number {
    if (this.#hold.held >= this.#enough) return this.#meter.tokens(MOST_BYTES_PER_TOKEN);
    return Math.max(this.#meter.events, this.#meter.tokens(FEWEST_BYTES_PER_TOKEN));
  }
}
