// What a stream uses of its hold while it passes. The hold grows in good time; while it is used up the upstream waits, and
// when it may not grow the stream ends. What is used is guessed high, so that the hold covers what the upstream bills.
import { type Credits, chargeOf, larger, type PicoUsd } from "@gr/money";
import { type AttemptContext, GrowingHold } from "@gr/paid-request";
import type { ServiceError } from "@gr/proto";
import type { HoldSize } from "../request/hold-size.ts";
import type { TextOrder } from "../request/text-order.ts";
import type { StreamMeter } from "../stream/stream-meter.ts";

/** Hardly any text has more tokens than a half of its bytes. */
const FEWEST_BYTES_PER_TOKEN = 2;
/**
 * Hardly any text has fewer tokens, nor do its repetitions as words and as parts of a message. Where the upstream has a
 * limit that the hold covers, only an upstream that ignores it is to be noticed.
 */
const MOST_BYTES_PER_TOKEN = 16;

/** What of an order decides how much its stream may use. */
export interface SpendingOrder extends Pick<TextOrder, "credits" | "mostCredits"> {
  readonly size: Pick<HoldSize, "inputCost" | "tokenCost" | "stepCredits">;
}

export interface StreamSpendingParts {
  readonly order: SpendingOrder;
  readonly context: Pick<AttemptContext, "held" | "extend">;
  /** Whether the upstream was told to end where the hold does. */
  readonly limited: boolean;
  readonly meter: Pick<StreamMeter, "events" | "tokens">;
  readonly upstream: { pause(): void; resume(): void };
  /** No more may be spent. */
  readonly refused: (why: ServiceError) => void;
}

export class StreamSpending {
  readonly #order: SpendingOrder;
  readonly #meter: StreamSpendingParts["meter"];
  readonly #upstream: StreamSpendingParts["upstream"];
  readonly #hold: GrowingHold;
  /** As large a hold covers all that the upstream may give. */
  readonly #enough: Credits;

  constructor({ order, context, limited, meter, upstream, refused }: StreamSpendingParts) {
    this.#order = order;
    this.#meter = meter;
    this.#upstream = upstream;
    this.#enough = limited ? context.held : (order.mostCredits ?? order.credits);
    this.#hold = new GrowingHold({
      context,
      step: order.size.stepCredits,
      most: this.#enough,
      wait: () => upstream.pause(),
      goOn: () => upstream.resume(),
      refused,
    });
  }

  get held(): Credits {
    return this.#hold.held;
  }

  /** More has come. @param said what it costs up to now by the upstream's own word, if it says so as it goes */
  look(said: PicoUsd = 0n): void {
    const { tokenCost, inputCost } = this.#order.size;
    if (tokenCost === 0n) return;
    const metered = inputCost + BigInt(this.#tokens()) * tokenCost;
    // Some say it once, at the beginning, and not again before the end.
    this.#hold.use(chargeOf(larger(said, metered)));
  }

  /** Nothing more is to come. */
  stop(): void {
    this.#hold.stop();
    this.#upstream.resume();
  }

  #tokens(): number {
    if (this.#hold.held >= this.#enough) return this.#meter.tokens(MOST_BYTES_PER_TOKEN);
    return Math.max(this.#meter.events, this.#meter.tokens(FEWEST_BYTES_PER_TOKEN));
  }
}
