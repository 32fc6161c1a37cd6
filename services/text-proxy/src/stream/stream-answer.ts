// StreamAnswer owns the answer of a stream for a key that saves texts, in the shape of an answer in one piece. Events are read in
// groups and at the end, so no event waits for it. Its memory has a bound.
import { MOST_SAVED_BYTES } from "@gr/clients";
import { dataOf, endOfEvent } from "@gr/runtime";
import { isObject, type JsonObject } from "../json/json-object.ts";
import type { TextApi } from "../request/text-request.ts";
import { parseData } from "./event-data.ts";

/** Answer of a request, for the saved texts. */
export interface AnswerToSave {
  /** JSON; undefined without an answer, or if it is too long. */
  readonly body: Uint8Array | undefined;
  /** Also of an answer that is too long; 0 = none. */
  readonly bytes: number;
}

export const NO_ANSWER: AnswerToSave = { body: undefined, bytes: 0 };

/** Events are read once they have this size. */
const READ_AT_BYTES = 64 * 1024;
/** Largest group of events that is read; it also has the last event of a response, which repeats the answer. */
const MOST_READ_BYTES = 2 * MOST_SAVED_BYTES;
/** More than any upstream sends. */
const MOST_PARTS = 128;

/** Parts of a message that arrive in pieces. */
const TEXTS = ["content", "refusal", "reasoning", "reasoning_content"] as const;

/** Pieces of a text are joined in groups: a string of a million pieces has 30 times the bytes of its text. */
const MOST_PIECES = 256;

class JoinedText {
  readonly #groups: string[] = [];
  #pieces: string[] = [];

  add(piece: string): void {
    this.#pieces.push(piece);
    if (this.#pieces.length === MOST_PIECES) this.#join();
  }

  toJSON(): string {
    this.#join();
    return this.#groups.join("");
  }

  #join(): void {
    this.#groups.push(this.#pieces.join(""));
    this.#pieces = [];
  }
}

interface ToolCall {
  id?: unknown;
  type: unknown;
  function: { name: unknown; readonly arguments: JoinedText };
}

interface Choice {
  readonly index: number;
  readonly message: { role: string; content: JoinedText | null; tool_calls?: ToolCall[] } & Partial<
    Record<(typeof TEXTS)[number], JoinedText | null>
  >;
  finish_reason: unknown;
}

export class StreamAnswer {
  readonly #api: TextApi;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Bytes of the text so far. */
  #bytes = 0;
  #isTooLong = false;
  /** Fields of the whole answer. */
  #head: JsonObject = {};
  readonly #choices: Choice[] = [];
  /** Text of a response without its last event. */
  #text: JoinedText | undefined;
  /** The response of the last event. */
  #response: JsonObject | undefined;

  constructor(api: TextApi) {
    this.#api = api;
  }

  /** @param bytes whole events, which do not change afterwards */
  add(bytes: Buffer): void {
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= READ_AT_BYTES) this.#read();
  }

  /** The answer so far. */
  whole(): AnswerToSave {
    this.#read();
    const answer = this.#response ?? this.#assembled();
    if (this.#isTooLong) return { body: undefined, bytes: this.#bytes };
    if (answer === undefined) return NO_ANSWER;
    const body = Buffer.from(JSON.stringify(answer));
    return { body, bytes: body.length };
  }

  #assembled(): JsonObject | undefined {
    if (this.#api === "chat") {
      if (this.#choices.length === 0) return undefined;
      return { ...this.#head, object: "chat.completion", choices: this.#choices };
    }
    if (this.#text === undefined) return undefined;
    const content = [{ type: "output_text", text: this.#text }];
    return { ...this.#head, output: [{ type: "message", role: "assistant", content }] };
  }

  #read(): void {
    const events = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    if (events.length > MOST_READ_BYTES) {
      this.#grow(events.length);
      return;
    }
    for (let at = 0; at < events.length && !this.#isTooLong; ) {
      const end = endOfEvent(events, at);
      const event = events.subarray(at, end);
      const data = dataOf(event);
      const payload = data && parseData(event, data);
      if (payload !== undefined && this.#api === "chat") this.#addChunk(payload);
      else if (payload !== undefined) this.#addEvent(payload);
      at = end;
    }
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= MOST_SAVED_BYTES) return;
    this.#isTooLong = true;
    this.#choices.length = 0;
    this.#text = undefined;
    this.#response = undefined;
  }

  #addChunk({ choices, id, created, model, usage, error }: JsonObject): void {
    this.#head = {
      ...{ id, created, model },
      ...this.#head,
      ...(usage != null && { usage }),
      ...(error != null && { error }),
    };
    for (const choice of Array.isArray(choices) ? choices : []) {
      if (isObject(choice)) this.#addDelta(choice);
    }
  }

  #addDelta({ index, delta, finish_reason: finished }: JsonObject): void {
    const choice = this.#choiceAt(index);
    if (choice === undefined) return;
    if (finished != null) choice.finish_reason = finished;
    if (!isObject(delta)) return;
    for (const name of TEXTS) {
      const more = delta[name];
      if (typeof more !== "string" || more === "") continue;
      choice.message[name] ??= new JoinedText();
      choice.message[name].add(more);
      this.#grow(Buffer.byteLength(more));
    }
    for (const call of Array.isArray(delta["tool_calls"]) ? delta["tool_calls"] : []) {
      if (isObject(call)) this.#addCall(choice, call);
    }
  }

  #choiceAt(index: unknown): Choice | undefined {
    const at = Number(index ?? 0);
    const found = this.#choices.find((choice) => choice.index === at);
    if (found !== undefined || this.#choices.length === MOST_PARTS) return found;
    const choice: Choice = { index: at, message: { role: "assistant", content: null }, finish_reason: null };
    this.#choices.push(choice);
    return choice;
  }

  #addCall({ message }: Choice, { index, id, type, function: named }: JsonObject): void {
    message.tool_calls ??= [];
    const calls = message.tool_calls;
    const at = Number(index ?? calls.length);
    if (!(at >= 0 && at <= calls.length && at < MOST_PARTS)) return;
    const call = calls[at] ?? {
      id,
      type: type ?? "function",
      function: { name: "", arguments: new JoinedText() },
    };
    calls[at] = call;
    if (!isObject(named)) return;
    if (named["name"] != null) call.function.name = named["name"];
    const more = named["arguments"];
    if (typeof more !== "string") return;
    call.function.arguments.add(more);
    this.#grow(Buffer.byteLength(more));
  }

  #addEvent({ type, response, delta }: JsonObject): void {
    if (isObject(response)) {
      const { id, created_at, model, object } = response;
      this.#head = { id, object, created_at, model };
      if (type === "response.completed" || type === "response.incomplete" || type === "response.failed") {
        this.#response = response;
      }
    } else if (type === "response.output_text.delta" && typeof delta === "string" && delta !== "") {
      this.#text ??= new JoinedText();
      this.#text.add(delta);
      this.#grow(Buffer.byteLength(delta));
    }
  }
}
