// Answers as a stream: once the upstream's head says that it streams, the client's answer begins and a relay takes
// over; any other answer becomes a proper HTTP error.
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { AttemptContext, AttemptEnd } from "@gr/paid-request";
import type { FastifyReply } from "fastify";
import { AnswerCollector, type CollectedAnswer } from "../upstream/collected-answer.ts";
import { type AnswerReceiver, type UpstreamCall, UpstreamLoss } from "../upstream/upstream-call.ts";
import { chatStream } from "./chat-stream.ts";
import { ClientStream, STREAM_HEADERS } from "./client-stream.ts";
import { growToCover } from "./covered-bill.ts";
import {
  type Attempt,
  failedAnswer,
  lostAttempt,
  nonsenseAttempt,
  refusedAttempt,
} from "./failed-attempt.ts";
import { responsesStream } from "./responses-stream.ts";
import { StreamRelay } from "./stream-relay.ts";
import type { TextKinds, TextProduct } from "./text-kinds.ts";
import { type ProducerParts, TextProducer } from "./text-producer.ts";
import { UpstreamGate } from "./upstream-gate.ts";
import { readWholeAnswer } from "./whole-answer.ts";

/** More than any error answer says. */
const MOST_ERROR_BYTES = 1024 * 1024;
/** In all, a client may hold the upstream back so many times as long as at a time. */
const PATIENCE_OF_STALLS = 5;

export class StreamProducer extends TextProducer {
  /** Undefined until the client's stream has begun. */
  #relay: StreamRelay | undefined;

  protected get hasBegun(): boolean {
    return this.#relay !== undefined;
  }

  give(product: TextProduct): FastifyReply {
    this.#relay?.give(product);
    return this.parts.reply;
  }

  fail(error: unknown): FastifyReply {
    if (this.#relay === undefined) throw error;
    this.#relay.fail(error);
    return this.parts.reply;
  }

  protected async read(
    attempt: Attempt,
    context: AttemptContext,
    send: (receiver: AnswerReceiver) => void,
  ): Promise<AttemptEnd<TextKinds>> {
    const receiver = new StreamReceiver((call, generationId) => {
      const began = { ...beginStream(this.parts, call), call, generationId };
      this.#relay = new StreamRelay({ ...attempt, ...began, context });
      return this.#relay;
    });
    const began = performance.now();
    send(receiver);
    try {
      const opened = await receiver.opened;
      if (!(opened instanceof StreamRelay)) return notAStream(attempt, opened);
      attempt.events.firstByte(performance.now() - began);
      const end = await opened.ended;
      if (end.kind !== "delivered" || end.bill === undefined) return end;
      return { ...end, bill: await growToCover(opened.attempt, context, end.bill) };
    } catch (loss) {
      if (loss instanceof UpstreamLoss) return lostAttempt(attempt, loss);
      throw loss;
    }
  }
}

function notAStream(attempt: Attempt, answer: CollectedAnswer): AttemptEnd<TextKinds> {
  if (answer.status !== 200) return refusedAttempt(attempt, answer);
  const { order, upstream } = attempt;
  const read = answer.cut ? undefined : readWholeAnswer(order.request.api, upstream.kind, answer.body);
  return read?.failure === undefined
    ? nonsenseAttempt(attempt, "a stream was asked for and not given", answer.generationId)
    : failedAnswer(attempt, read, read.failure);
}

/** Takes the upstream's answer to where it belongs, as soon as its head says what it is. */
class StreamReceiver implements AnswerReceiver {
  /** The relay of a stream; or the upstream's other answer. @throws UpstreamLoss */
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

/** The client's side of a stream, whose head is sent now. */
function beginStream({ order, reply, events, config }: ProducerParts, call: UpstreamCall) {
  const { raw } = reply.hijack();
  if (!raw.destroyed) raw.writeHead(200, headersOf(reply));
  events.begun(reply.elapsedTime);
  const gate = new UpstreamGate(call);
  const client = new ClientStream(raw, {
    source: gate.handle(),
    stallMs: config.TEXT_IDLE_TIMEOUT_MS,
    patienceMs: PATIENCE_OF_STALLS * config.TEXT_IDLE_TIMEOUT_MS,
    keepAliveMs: config.TEXT_KEEP_ALIVE_MS,
    onGone: () => events.clientLeft(),
  });
  return { client, gate, dialect: order.request.api === "chat" ? chatStream : responsesStream };
}

/** The headers that the gateway has set already, and those of a stream. */
function headersOf(reply: FastifyReply): OutgoingHttpHeaders {
  reply.headers(STREAM_HEADERS);
  return reply.getHeaders() as OutgoingHttpHeaders;
}
