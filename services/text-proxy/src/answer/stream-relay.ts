// StreamRelay sends one stream on, event by event and unchanged, and reports its end. The event with the last usage
// waits until the hold is captured. The upstream is paused while the hold is used up. If the hold cannot grow, the
// stream ends. After the client's disconnection, the upstream is still read to find the true cost. Delivered output is
// charged, unless the upstream broke off before its usage.
import { type AttemptContext, type AttemptEnd, costOfParts, type Delivered } from "@gr/paid-request";
import { type Reason, ServiceError } from "@gr/proto";
import { dataOf, endOfEvent, SseSplitter } from "@gr/runtime";
import { billOfFound, billOfUsage, meteredBill, tokensOf, tokensOfStream } from "../cost/bill.ts";
import { costIn } from "../cost/charged-meters.ts";
import {
  type Attempt,
  failedAttempt,
  lossError,
  lostAttempt,
  refusedAttempt,
  reportRefusedAccount,
  unknownAttempt,
} from "../cost/failed-attempt.ts";
import { applySplices } from "../json/json-splice.ts";
import type { ClientStream } from "../stream/client-stream.ts";
import type { StreamAnswer } from "../stream/stream-answer.ts";
import type { StreamCopy } from "../stream/stream-copy.ts";
import { matters, type StreamDialect, type StreamSoFar, type Verdict } from "../stream/stream-dialect.ts";
import { StreamMeter } from "../stream/stream-meter.ts";
import type { UpstreamGate } from "../stream/upstream-gate.ts";
import type { TextBill, TextKinds, TextProduct } from "../text-kinds.ts";
import type { CollectedAnswer } from "../upstream/collected-answer.ts";
import type { UpstreamCall, UpstreamLoss } from "../upstream/upstream-call.ts";
import { coolDownOf, isRefusedHere } from "../upstream/upstream-refusal.ts";
import { sayCost, sayUsage, type Usage, writeUsage } from "../upstream/usage.ts";
import { StreamSpending } from "./stream-spending.ts";

/** The last event of a response repeats the whole answer, which may be as large as a complete answer. */
const MOST_EVENT_BYTES = 8 * 1024 * 1024;
/** Size limit of the events that wait for a capture after the usage. */
const MOST_HELD_BYTES = MOST_EVENT_BYTES + 1024 * 1024;
/** Largest first event that is stored for the stream's identity, in bytes. */
const MOST_FIRST_BYTES = 256 * 1024;
/** Bytes that are read after the client's disconnection, at most. */
const MOST_DRAINED_BYTES = 64 * 1024 * 1024;
const USED_UP = "The answer has used all reserved credit, and the router cannot reserve more.";
const DATA = Buffer.from("data:");

export interface RelayParts extends Attempt {
  readonly dialect: StreamDialect;
  readonly client: ClientStream;
  readonly call: UpstreamCall;
  readonly gate: UpstreamGate;
  readonly context: AttemptContext;
  /** The client's stream from first to last, over all upstreams; undefined if no code needs it. */
  readonly copy: StreamCopy | undefined;
  /** The answer for a key that saves texts; undefined for others. */
  readonly saved: StreamAnswer | undefined;
  /** Id from the head of the answer; empty without one. */
  readonly generationId: string;
}

type Break = Extract<Verdict, { type: "failed" }>;

export class StreamRelay {
  /** Resolves at the end of the attempt. Then the relay waits for `deliver` or `fail`. */
  readonly ended: Promise<AttemptEnd<TextKinds>>;
  readonly #parts: RelayParts;
  readonly #splitter = new SseSplitter();
  readonly #meter: StreamMeter;
  readonly #spending: StreamSpending;
  readonly #copy: StreamCopy | undefined;
  /** The upstream did not end its answer, and the client does not pay for it. */
  #brokeOff = false;
  /**
   * `passing`: events are sent on.
   * `ending`: no event that matters can follow, but the copy waits for the upstream's last byte.
   * `ended`: further bytes wait until the answer is paid for.
   * `released`: the answer is paid for, and further bytes are sent on.
   * `over`: nothing more is written.
   */
  #state: "passing" | "ending" | "ended" | "released" | "over" = "passing";
  #resolve: (end: AttemptEnd<TextKinds>) => void = () => undefined;
  #upstreamEnded = false;
  #drained = 0;
  #finishReason = "";
  /** The client has received a part of the answer. */
  #hasDelivered = false;
  #soFar: StreamSoFar = { first: undefined, last: undefined };
  /** The latest event with a usage, which waits for the capture, and its parsed usage. */
  #usageEvent: Buffer | undefined;
  #usage: Usage | undefined;
  /** Events after the usage, which wait with it. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #outputBytes: number | undefined;
  /** Reason of an early end, for a client that pays for the delivered part. */
  #cut: ServiceError | undefined;
  /** The upstream's own report of its failure. */
  #failureEvent: Buffer | undefined;

  constructor(parts: RelayParts) {
    const { order, context, gate, terms } = parts;
    this.#meter = new StreamMeter(order.request);
    this.#spending = new StreamSpending({
      order,
      context,
      isLimited: parts.stopsWithinHold,
      meter: this.#meter,
      upstream: gate.handle(),
      refused: ({ reason, message, param }) => this.#cutOff(reason, `${USED_UP} ${message}`, param),
    });
    this.#parts = { ...parts, terms: () => ({ ...terms(), held: this.#spending.held }) };
    this.#copy = parts.copy;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const { carried, dialect } = parts;
    if (carried !== undefined) this.#write(dialect.continuedEvent(carried.from, context.number));
  }

  /** The attempt with its present hold. */
  get attempt(): Attempt {
    return this.#parts;
  }

  data(chunk: Buffer): void {
    if (this.#state === "passing") this.#read(chunk);
    else if (this.#state === "ending" || this.#state === "ended") this.#wait(chunk);
    else if (this.#state === "released") this.#parts.client.write(chunk);
  }

  end(): void {
    this.#upstreamEnded = true;
    if (this.#state === "passing") {
      const remaining = this.#splitter.remaining();
      if (remaining.length > 0) this.#pass(remaining);
    }
    if (this.#state !== "passing") this.#endWithUpstream();
    else if (this.#parts.dialect.endsWithUsage && this.#usage !== undefined) this.#deliver();
    else this.#broken("the stream ended too early");
  }

  lost(loss: UpstreamLoss): void {
    this.#upstreamEnded = true;
    if (this.#state !== "passing") this.#endWithUpstream();
    else if (loss.kind === "total time" && this.#meter.any) {
      this.#cutOff("provider_timeout", "The answer exceeded its time limit.");
    } else this.#broken(loss.kind, loss);
  }

  /** Sends the end of a paid answer, and all further bytes of the upstream. */
  deliver({ last }: TextProduct): void {
    const { client, events } = this.#parts;
    this.#state = "released";
    client.write(last);
    for (const bytes of this.#drainWaiting()) client.write(bytes);
    if (this.#cut === undefined) events.answered();
    if (this.#upstreamEnded || this.#cut !== undefined) client.end();
  }

  /** Ends an unpaid answer with an error event. */
  fail(error: unknown): void {
    const { dialect, client } = this.#parts;
    this.#state = "over";
    client.end(this.#failureEvent ?? dialect.failureEvent(this.#soFar, asServiceError(error)));
    this.#stopUpstream();
  }

  /** All events that matter had arrived before. */
  #endWithUpstream(): void {
    if (this.#state === "ending") this.#deliver();
    else if (this.#state === "released") this.#parts.client.end();
  }

  #read(chunk: Buffer): void {
    const { client } = this.#parts;
    client.begin();
    const block = this.#splitter.push(chunk);
    if (block !== undefined) this.#pass(block);
    if (client.gone) this.#drained += chunk.length;
    if (this.#state === "ending" || this.#state === "ended") this.#wait(this.#splitter.remaining());
    else if (this.#drained > MOST_DRAINED_BYTES) {
      this.#cutOff(
        "provider_error",
        "The answer was too long to read to its end after the client disconnected.",
      );
    } else if (this.#splitter.pendingBytes > MOST_EVENT_BYTES) {
      this.#cutOff("provider_error", "An event of the answer is larger than 8 MB.");
    }
  }

  /** True if the client has a part of an answer that the upstream did not end. */
  get brokeOff(): boolean {
    return this.#brokeOff && this.#hasDelivered && this.#finishReason === "";
  }

  /** Number of its attempt. */
  get number(): number {
    return this.#parts.context.number;
  }

  get soFar(): StreamSoFar {
    return this.#soFar;
  }

  /** Output tokens until now. */
  get outputTokens(): number {
    return this.#outputTokens();
  }

  /** The upstream's id of the generation; empty before the upstream has sent it. */
  get billId(): string {
    return this.#billId();
  }

  /** The upstream's finish reason; empty if it sent none. */
  get finishReason(): string {
    return this.#finishReason;
  }

  /** Reason of an early end, if the delivered part is charged. */
  get cut(): ServiceError | undefined {
    return this.#cut;
  }

  /** True if the client has received a part of the answer: more than a comment. */
  get hasDelivered(): boolean {
    return this.#hasDelivered;
  }

  #write(bytes: Buffer): void {
    if (!this.#hasDelivered) this.#hasDelivered = bytes.includes(DATA);
    this.#parts.client.write(bytes);
    this.#record(bytes);
  }

  #record(bytes: Buffer): void {
    this.#copy?.add(bytes);
    this.#parts.saved?.add(bytes);
  }

  #pass(block: Buffer): void {
    const { dialect, order } = this.#parts;
    this.#meter.add(block);
    this.#spending.look(this.#usage && costIn(order, this.#usage));
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

  /** Checks each event of a block, and writes the events between two that matter as one. */
  #passEvents(block: Buffer): void {
    const { dialect, upstream } = this.#parts;
    const { last } = this.#soFar;
    this.#finishReason =
      dialect.finishReason(block) || this.#finishReason || (last ? dialect.finishReason(last) : "");
    let unwritten = 0;
    for (let at = 0; at < block.length && this.#state === "passing"; ) {
      const end = endOfEvent(block, at);
      const event = block.subarray(at, end);
      const verdict = dialect.read(event, upstream.kind);
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
        if (this.#state === "passing") this.#deliver();
        return;
      case "failed":
        this.#failed(verdict, event);
        return;
      default:
        this.#wait(event);
    }
  }

  /** An event follows the waiting usage, so that usage was not the last. */
  #release(): void {
    if (this.#usageEvent === undefined) return;
    this.#write(Buffer.concat([this.#usageEvent, ...this.#drainWaiting()]));
    this.#usageEvent = undefined;
  }

  #wait(bytes: Buffer): void {
    if (this.#cut !== undefined) return;
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes <= MOST_HELD_BYTES) this.#waiting.push(bytes);
    else if (this.#state === "passing") {
      this.#cutOff("provider_error", "More follows the usage of the answer than can be kept back.");
    } else this.#stopUpstream();
  }

  #drainWaiting(): Buffer[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return waiting;
  }

  /**
   * The answer is complete. Its copy must be complete before the capture, so it waits for the upstream's last byte.
   */
  #deliver(): void {
    this.#spending.stop();
    if (this.#parts.order.claim !== undefined && !this.#upstreamEnded) this.#state = "ending";
    else this.#end(this.#delivered());
  }

  /** Ends the answer early, by our decision or the client's. The delivered part is charged. @param what a sentence */
  #cutOff(reason: Reason, what: string, param?: string): void {
    const { events, order } = this.#parts;
    events.cutOff(order, what);
    const message = `${what} The answer was cut off; the delivered part is charged.`;
    this.#cut = new ServiceError(reason, message, param === undefined ? {} : { param });
    this.#end(this.#delivered());
    this.#stopUpstream();
  }

  /** Handles a failure that the upstream reports. */
  #failed({ problem, usage, own, status }: Break, event: Buffer): void {
    const { order, events } = this.#parts;
    if (!this.#hasDelivered && usage === undefined && status !== undefined && isRefusedHere(status)) {
      const refusal = refusalIn(event, status, this.#billId());
      const coolDown = coolDownOf(status, refusal.headers);
      if (coolDown !== undefined) this.#parts.coolDown(coolDown);
      this.#end(refusedAttempt(this.#parts, refusal));
      this.#stopUpstream();
      return;
    }
    reportRefusedAccount(this.#parts, bodyOf(event));
    if (own) this.#failureEvent = event;
    if (this.#usage !== undefined) {
      events.cutOff(order, "the upstream failed after its usage");
      this.#cut = new ServiceError(
        "provider_error",
        "The provider of this model failed at the end of its answer; the delivered part is charged.",
      );
      this.#end(this.#delivered());
    } else if (usage === undefined) this.#broken(problem);
    else this.#endFailed(problem, costIn(order, usage));
    this.#stopUpstream();
  }

  /** Handles a stream that the upstream broke off. @param loss absent if it reported this itself, or ended silently */
  #broken(problem: string, loss?: UpstreamLoss): void {
    const { upstream, client } = this.#parts;
    // The answer had already been complete.
    if (this.#usage !== undefined) this.#deliver();
    else if (client.slow && this.#meter.any && loss?.kind !== "given up") {
      this.#cutOff("provider_error", "The answer broke off because it was read too slowly.");
    } else if (upstream.kind.generations !== undefined) {
      this.#brokeOff = true;
      this.#end(
        loss === undefined
          ? unknownAttempt(this.#parts, problem, this.#billId(), lossError(undefined))
          : lostAttempt(this.#parts, loss, this.#billId()),
      );
    } else {
      this.#brokeOff = true;
      this.#endFailed(problem, meteredBill(this.#parts, this.#outputTokens()).cost, loss);
    }
    this.#stopUpstream();
  }

  #endFailed(problem: string, cost: bigint, loss?: UpstreamLoss): void {
    this.#end(failedAttempt(this.#parts, problem, { cost, billId: this.#billId(), error: lossError(loss) }));
  }

  #end(end: AttemptEnd<TextKinds>): void {
    this.#spending.stop();
    this.#state = "ended";
    this.#resolve(end);
  }

  #stopUpstream(): void {
    if (!this.#upstreamEnded) this.#parts.call.abort(new Error("nothing more is wanted of this answer"));
  }

  #delivered(): Delivered<TextKinds> {
    return {
      kind: "delivered",
      bill: this.#usage && billOfUsage(this.#parts, this.#usage),
      billId: this.#billId(),
      billOf: (found) => billOfFound(this.#parts, found, this.#outputTokens()),
      productOf: (bill) => this.#productOf(bill),
    };
  }

  #productOf(bill: TextBill): TextProduct {
    const { order } = this.#parts;
    const last = Buffer.concat([this.#pricedUsage(bill), ...this.#drainWaiting(), this.#cutEvent(bill)]);
    this.#record(last);
    return { last, kept: order.claim && this.#copy?.whole() };
  }

  #pricedUsage({ cost: last, meters }: TextBill): Buffer {
    const { dialect, order, carried } = this.#parts;
    const cost = last + costOfParts(carried?.parts ?? []);
    if (this.#usageEvent === undefined) {
      // The client already has the usage, or receives it with the event of the early end.
      const isReported = this.#usage !== undefined || this.#cut !== undefined;
      return isReported ? NOTHING : dialect.usageEvent(this.#soFar, meters, cost);
    }
    const splices =
      this.#usage === undefined
        ? dialect.addUsage(this.#usageEvent, writeUsage(order.request.api, meters, cost))
        : carried === undefined
          ? sayCost(this.#usage, cost)
          : sayUsage(order.request.api, this.#usage, meters, cost);
    return applySplices(this.#usageEvent, splices);
  }

  #cutEvent({ cost: last, meters }: TextBill): Buffer {
    if (this.#cut === undefined) return NOTHING;
    const { dialect, order, carried } = this.#parts;
    const cost = last + costOfParts(carried?.parts ?? []);
    const isReported = this.#usage !== undefined;
    const usage = isReported ? undefined : writeUsage(order.request.api, meters, cost);
    return dialect.failureEvent(this.#soFar, this.#cut, usage);
  }

  #billId(): string {
    const { generationId, dialect } = this.#parts;
    return generationId === "" ? dialect.generationId(this.#soFar) : generationId;
  }

  #outputTokens(): number {
    return this.#outputBytes === undefined ? tokensOfStream(this.#meter) : tokensOf(this.#outputBytes);
  }
}

const NOTHING = Buffer.alloc(0);

/** Converts a refusal in the first event of a stream to an answer with that status. */
function refusalIn(event: Buffer, status: number, generationId: string): CollectedAnswer {
  return { status, headers: {}, body: bodyOf(event), isCut: false, generationId };
}

function bodyOf(event: Buffer): Buffer {
  const data = dataOf(event);
  return data === undefined ? NOTHING : event.subarray(data.start, data.end);
}

function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError("internal_error", "The router failed.", { cause: error });
}
