// Answers as a stream: once the upstream's head says that it streams, the client's answer begins and a relay takes
// over; any other answer becomes a proper HTTP error.
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { FastifyReply } from "fastify";
import { chatStream } from "./chat-stream.ts";
import { ClientStream } from "./client-stream.ts";
import { AnswerCollector, type CollectedAnswer } from "./collected-answer.ts";
import type { Exchange, TextDeps } from "./exchange.ts";
import { giveUpLost, giveUpNonsense, giveUpRefused } from "./give-up.ts";
import { responsesStream } from "./responses-stream.ts";
import { giveUpAnswered } from "./serve-whole.ts";
import { StreamRelay } from "./stream-relay.ts";
import { type AnswerReceiver, type UpstreamCall, UpstreamLoss } from "./upstream-call.ts";
import { readWholeAnswer } from "./whole-answer.ts";

export const STREAM_TYPE = "text/event-stream; charset=utf-8";
export const STREAM_HEADERS = {
  "content-type": STREAM_TYPE,
  "cache-control": "no-cache, no-transform",
  // Proxies that buffer answers would keep the events from their reader.
  "x-accel-buffering": "no",
} as const;
/** More than any error answer says. */
const MOST_ERROR_BYTES = 1024 * 1024;

/**
 * @param leave called once the hold is taken care of
 * @returns the hijacked reply. @throws ServiceError when the stream did not begin; the hold is taken care of.
 */
export async function serveStream(
  deps: TextDeps,
  exchange: Exchange,
  body: Buffer,
  reply: FastifyReply,
  leave: () => void,
): Promise<FastifyReply> {
  const { id, request, upstream } = exchange;
  const receiver = new StreamReceiver(deps, exchange, reply, leave);
  upstream.post(request.api, true, body, id, receiver);
  let answer: CollectedAnswer | undefined;
  try {
    answer = await receiver.opened;
  } catch (loss) {
    throw loss instanceof UpstreamLoss ? await giveUpLost(deps, exchange, loss) : loss;
  }
  if (answer === undefined) return reply;
  throw await refuse(deps, exchange, answer);
}

function refuse(deps: TextDeps, exchange: Exchange, answer: CollectedAnswer) {
  if (answer.status !== 200) return giveUpRefused(deps, exchange, answer);
  const { request, upstream } = exchange;
  const read = answer.cut ? undefined : readWholeAnswer(request.api, upstream.kind, answer.body);
  return read?.failure === undefined
    ? giveUpNonsense(deps, exchange, "a stream was asked for and not given", answer.generationId)
    : giveUpAnswered(deps, exchange, read, read.failure);
}

class StreamReceiver implements AnswerReceiver {
  /** Undefined when the client's stream has begun; else the upstream's other answer. @throws UpstreamLoss */
  readonly opened: Promise<CollectedAnswer | undefined>;
  readonly #deps: TextDeps;
  readonly #exchange: Exchange;
  readonly #reply: FastifyReply;
  readonly #leave: () => void;
  readonly #began = performance.now();
  readonly #collector = new AnswerCollector(MOST_ERROR_BYTES);
  #open: () => void = () => undefined;
  #sink: StreamRelay | AnswerCollector = this.#collector;

  constructor(deps: TextDeps, exchange: Exchange, reply: FastifyReply, leave: () => void) {
    this.#deps = deps;
    this.#exchange = exchange;
    this.#reply = reply;
    this.#leave = leave;
    const streams = new Promise<undefined>((resolve) => {
      this.#open = () => resolve(undefined);
    });
    this.opened = Promise.race([streams, this.#collector.answer]);
  }

  head(call: UpstreamCall, status: number, headers: IncomingHttpHeaders): void {
    if (status !== 200 || headers["content-type"]?.startsWith("text/event-stream") !== true) {
      this.#collector.head(call, status, headers);
      return;
    }
    this.#deps.events.firstByte(performance.now() - this.#began);
    // Kept by the collector only for what it reads from the head.
    this.#collector.head(call, status, headers);
    this.#sink = this.#relay(call, this.#collector.generationId);
    this.#open();
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

  #relay(call: UpstreamCall, generationId: string): StreamRelay {
    const deps = this.#deps;
    const exchange = this.#exchange;
    const { raw } = this.#reply.hijack();
    if (!raw.destroyed) raw.writeHead(200, headersOf(this.#reply));
    const client = new ClientStream(raw, {
      source: call,
      stallMs: deps.config.TEXT_IDLE_TIMEOUT_MS,
      patienceMs: deps.config.TEXT_TOTAL_TIMEOUT_MS / 2,
      keepAliveMs: deps.config.TEXT_KEEP_ALIVE_MS,
      onGone: () => deps.events.clientLeft(),
    });
    const dialect = exchange.request.api === "chat" ? chatStream : responsesStream;
    const onSettled = (charged: boolean) => {
      if (charged) deps.events.answered();
      this.#leave();
    };
    return new StreamRelay({ deps, exchange, dialect, client, call, generationId, onSettled });
  }
}

/** The headers that the gateway has set already, and those of a stream. */
function headersOf(reply: FastifyReply): OutgoingHttpHeaders {
  reply.headers(STREAM_HEADERS);
  return reply.getHeaders() as OutgoingHttpHeaders;
}
