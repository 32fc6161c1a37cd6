// Passes one stream on, event by event and byte by byte as it came. The event with the last usage is held back until
// the hold is captured; a stream that breaks ends with an error event and costs its customer nothing. When the client
// leaves, the upstream is read to its end all the same, so that the true cost is known and charged. A copy that is
// kept for an Idempotency-Key must be whole before the capture, so there the upstream's end is waited for as well.
import { ServiceError } from "@gr/proto";
import type { ClientStream } from "./client-stream.ts";
import { tokensOf } from "./estimate.ts";
import type { Exchange, TextDeps } from "./exchange.ts";
import { giveUpMidStream, type MidStreamFailure } from "./give-up.ts";
import { applySplices } from "./json-splice.ts";
import { type Billed, settle, type Used } from "./settle.ts";
import { endOfEvent, SseSplitter } from "./sse-splitter.ts";
import { matters, type StreamDialect, type StreamSoFar, type Verdict } from "./stream-dialect.ts";
import { StreamMeter } from "./stream-meter.ts";
import type { UpstreamCall, UpstreamLoss } from "./upstream-call.ts";
import { sayCost, type Usage, writeUsage } from "./usage.ts";

/** The last event of a response repeats the whole answer. */
const MOST_EVENT_BYTES = 8 * 1024 * 1024;
/** What may wait for a capture besides the usage. */
const MOST_HELD_BYTES = MOST_EVENT_BYTES + 1024 * 1024;
/** An identity of the stream that is larger is not worth keeping. */
const MOST_FIRST_BYTES = 256 * 1024;
/** What is read for a client that has left. */
const MOST_DRAINED_BYTES = 64 * 1024 * 1024;
const DATA = Buffer.from("data:");

export interface RelayParts {
  readonly deps: TextDeps;
  readonly exchange: Exchange;
  readonly dialect: StreamDialect;
  readonly client: ClientStream;
  readonly call: UpstreamCall;
  /** From the head of the answer; empty when it had none. */
  readonly generationId: string;
  /** The hold is resolved or handed to the resolver. */
  readonly onSettled: (charged: boolean) => void;
}

export class StreamRelay {
  readonly #parts: RelayParts;
  readonly #splitter = new SseSplitter();
  readonly #meter = new StreamMeter();
  /** "ending": nothing that matters can follow, but the copy of the answer waits for the upstream's last byte. */
  #state: "passing" | "ending" | "settling" | "settled" | "over" = "passing";
  #upstreamEnded = false;
  #drained = 0;
  #soFar: StreamSoFar = { first: undefined, last: undefined };
  /** The latest event with a usage, which is held back, and what it says. */
  #usageEvent: Buffer | undefined;
  #usage: Usage | undefined;
  /** What came after it and waits with it. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #outputBytes: number | undefined;

  constructor(parts: RelayParts) {
    this.#parts = parts;
  }

  data(chunk: Buffer): void {
    if (this.#state === "passing") this.#take(chunk);
    else if (this.#state === "ending" || this.#state === "settling") this.#wait(chunk);
    else if (this.#state === "settled") this.#parts.client.write(chunk);
  }

  end(): void {
    this.#upstreamEnded = true;
    if (this.#state === "passing") {
      const rest = this.#splitter.rest();
      if (rest.length > 0) this.#pass(rest);
    }
    if (this.#state === "passing") {
      if (this.#parts.dialect.endsWithUsage && this.#usage !== undefined) this.#settle();
      else this.#fail({ problem: "the stream ended too early" });
    } else this.#endWithUpstream();
  }

  lost(loss: UpstreamLoss): void {
    this.#upstreamEnded = true;
    if (this.#state === "passing") this.#fail({ problem: loss.kind, loss });
    else this.#endWithUpstream();
  }

  /** Everything that matters had come before. */
  #endWithUpstream(): void {
    if (this.#state === "ending") this.#settle();
    else if (this.#state === "settled") this.#parts.client.end();
  }

  #take(chunk: Buffer): void {
    const { client } = this.#parts;
    client.begin();
    if (client.gone) {
      this.#drained += chunk.length;
      if (this.#drained > MOST_DRAINED_BYTES) {
        this.#fail({ problem: "too long to be read for a client that left" });
        return;
      }
    }
    const block = this.#splitter.push(chunk);
    if (block !== undefined) this.#pass(block);
    if (this.#state === "passing" && this.#splitter.pendingBytes > MOST_EVENT_BYTES) {
      this.#fail({ problem: "an event is larger than 8 MB" });
    } else if (this.#state === "ending" || this.#state === "settling") this.#wait(this.#splitter.rest());
  }

  #write(bytes: Buffer): void {
    const { exchange, client } = this.#parts;
    exchange.copy?.add(bytes);
    client.write(bytes);
  }

  #pass(block: Buffer): void {
    const { dialect } = this.#parts;
    this.#meter.add(block);
    if (this.#soFar.first === undefined && block.length <= MOST_FIRST_BYTES && block.includes(DATA)) {
      this.#soFar = { first: block, last: undefined };
    }
    if (this.#usageEvent === undefined && !matters(block, dialect.markers)) {
      this.#soFar = { first: this.#soFar.first, last: block };
      this.#write(block);
      return;
    }
    this.#passEvents(block);
  }

  /** The careful way: looks at each event of a block, and writes those between two that matter as one. */
  #passEvents(block: Buffer): void {
    const { dialect, exchange } = this.#parts;
    let unwritten = 0;
    for (let at = 0; at < block.length && this.#state === "passing"; ) {
      const end = endOfEvent(block, at);
      const event = block.subarray(at, end);
      const verdict = dialect.read(event, exchange.upstream.kind);
      if (verdict.type === "plain") this.#release();
      else if (verdict.type !== "empty" || this.#usageEvent !== undefined) {
        this.#write(block.subarray(unwritten, at));
        unwritten = end;
        this.#decide(verdict, event, block.subarray(end));
      }
      at = end;
    }
    if (this.#state !== "passing") return;
    this.#write(block.subarray(unwritten));
    this.#soFar = { first: this.#soFar.first, last: block };
  }

  #decide(verdict: Verdict, event: Buffer, after: Buffer): void {
    switch (verdict.type) {
      case "usage":
        this.#release();
        this.#usageEvent = event;
        this.#usage = verdict.usage;
        return;
      case "final":
        if (this.#parts.dialect.endsWithUsage) this.#wait(event);
        else {
          this.#usageEvent = event;
          this.#usage = verdict.usage;
          this.#outputBytes = verdict.outputBytes;
        }
        this.#wait(after);
        this.#settle();
        return;
      case "failed":
        this.#fail(verdict, verdict.own ? event : undefined);
        return;
      default:
        this.#wait(event);
    }
  }

  /** Something follows the usage that was held back, so it was not the last. */
  #release(): void {
    if (this.#usageEvent === undefined) return;
    this.#write(Buffer.concat([this.#usageEvent, ...this.#waiting]));
    this.#usageEvent = undefined;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #wait(bytes: Buffer): void {
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes <= MOST_HELD_BYTES) {
      this.#waiting.push(bytes);
      return;
    }
    if (this.#state === "passing") this.#fail({ problem: "too much follows the usage" });
    else this.#parts.call.abort(new Error("too much follows the end of the stream"));
  }

  #settle(): void {
    if (this.#parts.exchange.copy !== undefined && !this.#upstreamEnded) {
      this.#state = "ending";
      return;
    }
    this.#state = "settling";
    void this.#finish(this.#capture());
  }

  #fail(failure: MidStreamFailure, ownEvent?: Buffer): void {
    this.#state = "over";
    void this.#finish(this.#giveUp(failure, ownEvent));
  }

  /** The last step, either way: afterwards the hold is taken care of. */
  async #finish(step: Promise<boolean>): Promise<void> {
    const { deps, exchange, onSettled } = this.#parts;
    let charged = false;
    try {
      charged = await step;
    } catch (error) {
      deps.events.notCaptured(exchange, error);
      this.#close(error);
    }
    onSettled(charged);
  }

  async #capture(): Promise<boolean> {
    const { deps, exchange, client } = this.#parts;
    const last = await settle(deps, exchange, this.#used(), (billed) =>
      Buffer.concat([this.#pricedUsage(billed), ...this.#takeWaiting()]),
    );
    this.#state = "settled";
    client.write(last);
    for (const bytes of this.#takeWaiting()) client.write(bytes);
    if (this.#upstreamEnded) client.end();
    return true;
  }

  #takeWaiting(): Buffer[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  async #giveUp(failure: MidStreamFailure, ownEvent?: Buffer): Promise<boolean> {
    const { deps, exchange } = this.#parts;
    const error = await giveUpMidStream(deps, exchange, failure, this.#used());
    this.#close(error, ownEvent);
    return false;
  }

  #pricedUsage({ cost, meters }: Billed): Buffer {
    const { dialect, exchange } = this.#parts;
    const { api } = exchange.request;
    if (this.#usageEvent === undefined) {
      // An earlier usage that was passed on already was the last: the client has it.
      return this.#usage === undefined ? dialect.usageEvent(this.#soFar, meters, cost) : Buffer.alloc(0);
    }
    const splices =
      this.#usage === undefined
        ? (dialect.addUsage(this.#usageEvent, writeUsage(api, meters, cost)) ?? [])
        : sayCost(this.#usage, cost);
    return applySplices(this.#usageEvent, splices);
  }

  /** Ends the client's stream with an error event and gives up on what the upstream still sends. */
  #close(error: unknown, ownEvent?: Buffer): void {
    const { dialect, client, call } = this.#parts;
    this.#state = "over";
    client.end(ownEvent ?? dialect.failureEvent(this.#soFar, asServiceError(error)));
    if (!this.#upstreamEnded) call.abort(new Error("the stream has failed", { cause: error }));
  }

  #used(): Used {
    const { generationId, dialect } = this.#parts;
    return {
      usage: this.#usage,
      generationId: generationId === "" ? dialect.generationId(this.#soFar) : generationId,
      meteredOutput:
        this.#outputBytes === undefined ? this.#meter.outputTokens() : tokensOf(this.#outputBytes),
    };
  }
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError("internal_error", "Something went wrong on our side.", { cause: error });
}
