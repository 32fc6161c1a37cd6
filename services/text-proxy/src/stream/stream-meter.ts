// StreamMeter counts the UTF-8 bytes of the text in a stream's parsed deltas. Other bytes (log probabilities,
// obfuscation, usage in each chunk) do not count. Bytes replace tokens with an error that is alike in both APIs
// (decision 0047): English and code count 1.9-fold, JSON 1.7-fold, base64 and random CJK down to 0.7-fold, the rarest
// scripts 0.5-fold. If each token is an event or has a probability, the count is never too small.
import { dataOf, endOfEvent } from "@gr/runtime";
import { isObject, type JsonObject } from "../json/json-object.ts";
import type { TextRequest } from "../request/text-request.ts";
import { parseData } from "./event-data.ts";

/** Bytes that an event of another form has beside its text, at most. */
const LONGEST_ENVELOPE = 1_024;
/** Characters of base64 in which sound has a token, at least: 24 kHz, 16 bits, mono has 3,200. */
const SOUND_PER_TOKEN = 512;
/** Members of a delta that are no tokens. */
const LABELS: ReadonlySet<string> = new Set(["role", "id", "type", "format", "signature", "obfuscation"]);
/** Members with the same thoughts. */
const THOUGHTS = ["reasoning", "reasoning_content", "reasoning_details"] as const;
const DEEPEST = 8;
const DATA = Buffer.from("data:");
/** The last part of the names of those events of a response that have new text. */
const DELTA_EVENT = Buffer.from('.delta"');
const OPEN_BRACE = 0x7b;

export class StreamMeter {
  readonly #responses: boolean;
  #events = 0;
  #textBytes = 0;
  #soundTokens = 0;
  /** Tokens with a probability of their own, which are counted one by one. */
  #likelyTokens = 0;

  constructor({ api }: Pick<TextRequest, "api">) {
    this.#responses = api === "responses";
  }

  /** True if any output was delivered. */
  get any(): boolean {
    return this.#events > 0;
  }

  get events(): number {
    return this.#events;
  }

  /** @param block whole events */
  add(block: Buffer): void {
    for (let at = 0; at < block.length; ) {
      const end = endOfEvent(block, at);
      this.#addEvent(block.subarray(at, end));
      at = end;
    }
  }

  tokens(bytesPerToken: number): number {
    return Math.max(Math.ceil(this.#textBytes / bytesPerToken), this.#likelyTokens) + this.#soundTokens;
  }

  #addEvent(event: Buffer): void {
    if (!event.includes(DATA)) return;
    this.#events += 1;
    // A response repeats its whole text at its end.
    if (this.#responses && !event.includes(DELTA_EVENT)) return;
    const data = dataOf(event);
    const payload = data && event[data.start] === OPEN_BRACE ? parseData(event, data) : undefined;
    if (payload === undefined) this.#addOther(event);
    else if (this.#responses) this.#addDelta(payload);
    else if (!this.#addChoices(payload)) this.#addOther(event);
  }

  #addDelta({ type, delta, logprobs }: JsonObject): void {
    if (typeof type !== "string" || !type.endsWith(".delta")) return;
    if (type.endsWith("audio.delta") && typeof delta === "string") this.#addSound(delta);
    else this.#textBytes += bytesOf(delta);
    if (Array.isArray(logprobs)) this.#likelyTokens += logprobs.length;
  }

  /** @returns false for a chunk with its text outside of deltas */
  #addChoices({ choices }: JsonObject): boolean {
    if (!Array.isArray(choices)) return false;
    let known = true;
    for (const choice of choices) {
      const { delta, logprobs } = isObject(choice) ? choice : {};
      if (isObject(delta)) this.#addMessage(delta);
      else known = false;
      if (isObject(logprobs))
        this.#likelyTokens += lengthOf(logprobs["content"]) + lengthOf(logprobs["refusal"]);
    }
    return known;
  }

  #addMessage({ audio, ...delta }: JsonObject): void {
    const thoughts = THOUGHTS.map((name) => bytesOf(delta[name]));
    this.#textBytes += bytesOf(delta) - sumOf(thoughts) + Math.max(...thoughts);
    if (!isObject(audio)) return;
    const { data, transcript } = audio;
    this.#textBytes += bytesOf(transcript);
    if (typeof data === "string") this.#addSound(data);
  }

  #addSound(base64: string): void {
    this.#soundTokens += Math.ceil(base64.length / SOUND_PER_TOKEN);
  }

  #addOther(event: Buffer): void {
    this.#textBytes += Math.max(0, event.length - LONGEST_ENVELOPE);
  }
}

/** Bytes of all text in a value, without labels. */
function bytesOf(value: unknown, depth = 0): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value !== "object" || value === null) return 0;
  if (depth === DEEPEST) return Buffer.byteLength(JSON.stringify(value));
  if (Array.isArray(value)) return sumOf(value.map((item) => bytesOf(item, depth + 1)));
  let bytes = 0;
  for (const [name, member] of Object.entries(value)) {
    if (!LABELS.has(name)) bytes += bytesOf(member, depth + 1);
  }
  return bytes;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function lengthOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0;
}
