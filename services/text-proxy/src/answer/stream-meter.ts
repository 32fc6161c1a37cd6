// Meters a stream while it passes: its events, and the bytes of text in them, which is what follows the key of the delta
// beyond the least that ever follows it.
import type { TextRequest } from "../request/text-request.ts";

/** Bytes that follow the key of a delta beside its text, at most. */
const LONGEST_TAIL = 256;
/** Bytes that an event without a delta has beside its text, at most. */
const LONGEST_ENVELOPE = 1_024;
/** With the probability of each token come its text, its bytes and its neighbours. */
const LOGPROBS_GROW = 16;
const DATA = Buffer.from("data:");
const DELTA = Buffer.from('"delta"');
/** The last part of the names of those events of a response that have new text. */
const DELTA_EVENT = Buffer.from('.delta"');
const SPACE = 0x20;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

export class StreamMeter {
  readonly #responses: boolean;
  readonly #growth: number;
  #events = 0;
  #deltas = 0;
  /** From the keys of deltas on. */
  #tailBytes = 0;
  #shortestTail = LONGEST_TAIL;
  #otherBytes = 0;

  constructor({ api, logprobs }: Pick<TextRequest, "api" | "logprobs">) {
    this.#responses = api === "responses";
    this.#growth = logprobs ? LOGPROBS_GROW : 1;
  }

  /** Whether anything was delivered. */
  get any(): boolean {
    return this.#events > 0;
  }

  get events(): number {
    return this.#events;
  }

  add(block: Buffer): void {
    for (let at = block.indexOf(DATA); at >= 0; ) {
      const next = block.indexOf(DATA, at + DATA.length);
      this.#addEvent(block.subarray(at, next < 0 ? block.length : next));
      at = next;
    }
  }

  /** @param bytesPerToken without probabilities of tokens */
  tokens(bytesPerToken: number): number {
    const textBytes = this.#tailBytes - this.#deltas * this.#shortestTail + this.#otherBytes;
    return Math.ceil(Math.max(0, textBytes) / (bytesPerToken * this.#growth));
  }

  #addEvent(event: Buffer): void {
    this.#events += 1;
    if (event[skipSpaces(event, DATA.length)] !== OPEN_BRACE) return;
    // A response says all of its text again at its end.
    if (this.#responses && !event.includes(DELTA_EVENT)) return;
    const delta = event.indexOf(DELTA);
    if (delta < 0) {
      this.#otherBytes += Math.max(0, event.length - LONGEST_ENVELOPE);
      return;
    }
    if (isEmpty(event, delta + DELTA.length)) return;
    const tail = event.length - delta;
    this.#deltas += 1;
    this.#tailBytes += tail;
    this.#shortestTail = Math.min(this.#shortestTail, tail);
  }
}

/** The last chunk has an empty delta, by which others cannot be measured. */
function isEmpty(event: Buffer, afterKey: number): boolean {
  const colon = skipSpaces(event, afterKey);
  const brace = skipSpaces(event, colon + 1);
  if (event[colon] !== COLON || event[brace] !== OPEN_BRACE) return false;
  return event[skipSpaces(event, brace + 1)] === CLOSE_BRACE;
}

function skipSpaces(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === SPACE) at += 1;
  return at;
}
