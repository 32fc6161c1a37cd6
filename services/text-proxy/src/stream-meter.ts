// Meters a stream while it passes, for the case that no usage ever comes: how many events, and how many bytes they
// have beyond the envelope that each of them repeats.
import { tokensOf } from "./estimate.ts";

const DATA = Buffer.from("data:");

export class StreamMeter {
  #events = 0;
  #bytes = 0;
  /** Bytes of the first event, which has no text yet. */
  #envelope = 0;

  add(block: Buffer): void {
    const before = this.#events;
    for (let at = block.indexOf(DATA); at >= 0; at = block.indexOf(DATA, at + DATA.length)) this.#events += 1;
    if (before === 0 && this.#events > 0) this.#envelope = Math.floor(block.length / this.#events);
    this.#bytes += block.length;
  }

  /** At least one token an event, and the text of large events by its length. */
  outputTokens(): number {
    return Math.max(this.#events, tokensOf(this.#bytes - this.#events * this.#envelope));
  }
}
