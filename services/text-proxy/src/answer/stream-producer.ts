// StreamProducer answers as a stream. After the head of the upstream's stream, the client's stream begins and a relay
// continues it. Any other answer becomes an HTTP error.
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { chargeOf, type PicoUsd } from "@gr/money";
import { type AttemptContext, type AttemptEnd, type Broken, costOfParts } from "@gr/paid-request";
import { STREAM_HEADERS } from "@gr/runtime";
import type { FastifyReply } from "fastify";
import { billOfFound } from "../cost/bill.ts";
import { type CarriedPart, metersOf, readAgainCost, wordsOf } from "../cost/carried-part.ts";
import {
  type Attempt,
  failedAnswer,
  lostAttempt,
  nonsenseAttempt,
  refusedAttempt,
} from "../cost/failed-attempt.ts";
import { readWholeAnswer } from "../cost/whole-answer.ts";
import { continuedRequest } from "../request/continued-request.ts";
import type { TextOrder } from "../request/text-order.ts";
import { chatStream } from "../stream/chat-stream.ts";
import { ClientStream } from "../stream/client-stream.ts";
import { responsesStream } from "../stream/responses-stream.ts";
import { type AnswerToSave, NO_ANSWER, StreamAnswer } from "../stream/stream-answer.ts";
import { StreamCopy } from "../stream/stream-copy.ts";
import { UpstreamGate } from "../stream/upstream-gate.ts";
import type { TextKinds, TextProduct } from "../text-kinds.ts";
import { AnswerCollector, type CollectedAnswer } from "../upstream/collected-answer.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { type AnswerReceiver, type UpstreamCall, UpstreamLoss } from "../upstream/upstream-call.ts";
import { StreamRelay } from "./stream-relay.ts";
import { type AnswerEnd, type ProducerParts, TextProducer } from "./text-producer.ts";

/** Above the size of any error answer. */
const MOST_ERROR_BYTES = 1024 * 1024;
/** Total time of a client's pauses, as a multiple of the longest single pause. */
const PATIENCE_OF_STALLS = 5;

export class StreamProducer extends TextProducer {
  /** Undefined before the start of the client's stream. */
  #client: ClientStream | undefined;
  #firstByteMs: number | undefined;
  readonly #copy: StreamCopy | undefined;
  readonly #saved: StreamAnswer | undefined;
  /** Parts of the answer from upstreams that broke off. */
  #carried: CarriedPart | undefined;
  /** Belongs to the last attempt that streamed. */
  #relay: StreamRelay | undefined;

  constructor(parts: ProducerParts) {
    super(parts);
    const { claim, continues, savesTexts, request } = parts.order;
    this.#copy = claim !== undefined || continues ? new StreamCopy() : undefined;
    this.#saved = savesTexts ? new StreamAnswer(request.api) : undefined;
  }

  protected get ended(): AnswerEnd {
    const { finishReason = "", cut } = this.#relay ?? {};
    return { finishReason, cut, firstByteMs: this.#firstByteMs };
  }

  protected get hasDelivered(): boolean {
    return this.#relay?.hasDelivered === true;
  }

  get answerToSave(): AnswerToSave {
    return this.#saved?.whole() ?? NO_ANSWER;
  }

  deliver(product: TextProduct): FastifyReply {
    this.#relay?.deliver(product);
    return this.parts.reply;
  }

  fail(error: unknown): FastifyReply {
    if (this.#relay === undefined) throw error;
    this.#relay.fail(error);
    return this.parts.reply;
  }

  protected override get carried(): CarriedPart | undefined {
    return this.#carried;
  }

  protected override orderAt(upstream: Upstream, order: TextOrder): TextOrder | undefined {
    const carried = this.#carried;
    return carried === undefined ? order : continuedOrder(upstream, order, carried);
  }

  protected override endOf(
    attempt: Attempt,
    context: AttemptContext,
    end: AttemptEnd<TextKinds>,
  ): AttemptEnd<TextKinds> | Broken<TextKinds> {
    const relay = this.#relay;
    const brokeOff = relay?.brokeOff === true && relay.number === context.number;
    if (!brokeOff || end.kind === "delivered" || !this.parts.order.continues) return end;
    const events = this.#copy?.whole()?.body;
    const text = events === undefined ? undefined : wordsOf(Buffer.from(events));
    if (text === undefined) return end;
    const { billId, outputTokens, soFar: from } = relay;
    const alone = { ...relay.attempt, carried: undefined };
    return {
      kind: "broken",
      error: end.error,
      message: end.message,
      billId,
      otherwise: () => end,
      isBilled: attempt.upstream.billed,
      billOf: (found) => billOfFound(alone, found, outputTokens),
      continueAt: ({ provider }, parts) => this.#continueAt(provider, { text, parts, from }),
    };
  }

  #continueAt(provider: string, carried: CarriedPart): PicoUsd | undefined {
    const { order, upstreams } = this.parts;
    const upstream = upstreams.get(provider);
    if (upstream === undefined || continuedOrder(upstream, order, carried) === undefined) return undefined;
    this.#carried = carried;
    return readAgainCost(order, carried.text);
  }

  protected async read(
    attempt: Attempt,
    context: AttemptContext,
    send: (receiver: AnswerReceiver) => void,
  ): Promise<AttemptEnd<TextKinds>> {
    const receiver = new StreamReceiver((call, generationId) => {
      const gate = new UpstreamGate(call);
      const client = this.#clientOf(gate);
      const dialect = attempt.order.request.api === "chat" ? chatStream : responsesStream;
      const passing = {
        client,
        gate,
        dialect,
        call,
        generationId,
        context,
        copy: this.#copy,
        saved: this.#saved,
      };
      this.#relay = new StreamRelay({ ...attempt, ...passing });
      return this.#relay;
    });
    const began = performance.now();
    send(receiver);
    try {
      const opened = await receiver.opened;
      if (!(opened instanceof StreamRelay)) return notAStream(attempt, opened);
      attempt.events.firstByte(performance.now() - began);
      return await opened.ended;
    } catch (loss) {
      if (loss instanceof UpstreamLoss) return lostAttempt(attempt, loss);
      throw loss;
    }
  }

  /** Returns the client's stream, which begins only once. */
  #clientOf(gate: UpstreamGate): ClientStream {
    if (this.#client !== undefined) {
      this.#client.follow(gate.handle());
      return this.#client;
    }
    const client = beginStream(this.parts, gate);
    this.#firstByteMs = this.parts.reply.elapsedTime;
    this.parts.events.begun(this.#firstByteMs);
    this.#client = client;
    return client;
  }
}

function continuedOrder(upstream: Upstream, order: TextOrder, carried: CarriedPart): TextOrder | undefined {
  const { continues } = upstream;
  const { text, parts } = carried;
  const part = { text, tokens: metersOf(parts).outputTokens };
  const request = continues && continuedRequest(order.request, part, continues);
  if (request === undefined) return undefined;
  const { size, mostCredits } = order;
  const { outputLimit } = request;
  const more = costOfParts(parts) + readAgainCost(order, text);
  return {
    ...order,
    request,
    size: {
      ...size,
      inputTokens: size.inputTokens + BigInt(Buffer.byteLength(text)),
      inputCost: more,
      mostTokens: outputLimit === undefined ? size.mostTokens : BigInt(outputLimit),
    },
    mostCredits: mostCredits === undefined ? undefined : mostCredits + chargeOf(more),
  };
}

function notAStream(attempt: Attempt, answer: CollectedAnswer): AttemptEnd<TextKinds> {
  if (answer.status !== 200) return refusedAttempt(attempt, answer);
  const { order, upstream } = attempt;
  const read = answer.isCut ? undefined : readWholeAnswer(order.request.api, upstream.kind, answer.body);
  return read?.failure === undefined
    ? nonsenseAttempt(attempt, "the answer to a request for a stream is no stream", answer.generationId)
    : failedAnswer(attempt, read, read.failure);
}

/** Routes the upstream's answer at its head: a stream to a relay, any other answer to a buffer. */
class StreamReceiver implements AnswerReceiver {
  /** Resolves with the relay of a stream, or the upstream's other answer. @throws UpstreamLoss */
  readonly opened: Promise<StreamRelay | CollectedAnswer>;
  readonly #begin: (call: UpstreamCall, generationId: string) => StreamRelay;
  readonly #collector = new AnswerCollector(MOST_ERROR_BYTES);
  #open: (relay: StreamRelay) => void = () => undefined;
  #sink: StreamRelay | AnswerCollector = this.#collector;

  constructor(begin: (call: UpstreamCall, generationId: string) => StreamRelay) {
    this.#begin = begin;
    const streams = new Promise<StreamRelay>((resolve) => {
      this.#open = resolve;
    });
    this.opened = Promise.race([streams, this.#collector.answer]);
  }

  head(call: UpstreamCall, status: number, headers: IncomingHttpHeaders): void {
    this.#collector.head(call, status, headers);
    if (status !== 200 || !isEventStream(headers)) return;
    const relay = this.#begin(call, this.#collector.generationId);
    this.#sink = relay;
    this.#open(relay);
  }

  data(chunk: Buffer): void {
    this.#sink.data(chunk);
  }

  end(): void {
    this.#sink.end();
  }

  lost(loss: UpstreamLoss): void {
    this.#sink.lost(loss);
  }
}

function isEventStream({ "content-type": type = "" }: IncomingHttpHeaders): boolean {
  return /^\s*text\/event-stream\s*(;|$)/i.test(type);
}

/** Starts the client's stream and sends its head now. */
function beginStream({ reply, events, config }: ProducerParts, gate: UpstreamGate): ClientStream {
  const { raw } = reply.hijack();
  if (!raw.destroyed) raw.writeHead(200, headersOf(reply));
  return new ClientStream(raw, {
    source: gate.handle(),
    stallMs: config.TEXT_IDLE_TIMEOUT_MS,
    patienceMs: PATIENCE_OF_STALLS * config.TEXT_IDLE_TIMEOUT_MS,
    keepAliveMs: config.TEXT_KEEP_ALIVE_MS,
    onGone: () => events.clientLeft(),
  });
}

/** The headers that the gateway has already set, and those of a stream. */
function headersOf(reply: FastifyReply): OutgoingHttpHeaders {
  reply.headers(STREAM_HEADERS);
  return reply.getHeaders() as OutgoingHttpHeaders;
}
