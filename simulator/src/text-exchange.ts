// Runs one text request from its parsed body to its last byte, whatever its wire format.
// Invariant: each generation is billed exactly once, before its usage is sent, for the tokens it made.
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { serverFailure } from "./refusal.ts";
import { composeReply, type Reply } from "./reply.ts";
import type { Simulation } from "./simulation.ts";
import type { TextRequest } from "./text-request.ts";
import { pumpTokens } from "./token-pump.ts";
import { type Usage, usageOf } from "./usage.ts";

/** One answer in the making. */
export interface TextAnswer {
  /** The id that the answer carries. */
  readonly id: string;
  /** What the bill calls this request. */
  readonly requestId: string;
  /** Unix seconds. */
  readonly created: number;
  readonly request: TextRequest;
  readonly reply: Reply;
}

/** A wire format. Every function returns the exact bytes to send; `usage` is undefined where it is withheld. */
export interface TextWire {
  headers(answer: TextAnswer): OutgoingHttpHeaders;
  whole(answer: TextAnswer, usage: Usage | undefined): string;
  frames(answer: TextAnswer): StreamFrames;
}

/** The parts of a stream, in their order on the wire. */
export interface StreamFrames {
  opening(): string;
  token(text: string, index: number): string;
  /** After the last token and before the bill. */
  ending(): string;
  /** After the bill: the usage, and the end of the stream. */
  closing(usage: Usage | undefined): string;
}

/** `sandbox/chat-reset` makes this many tokens before it breaks the connection. */
const TOKENS_BEFORE_RESET = 3;
/** Long enough for a caller to read them: many HTTP clients drop what they have not yet read at a reset. */
const PAUSE_BEFORE_RESET_MS = 20;

/**
 * Starts the answer. Throws before anything is sent (a `Refusal`, or a bill that cannot be written);
 * `takeOver` is called once the answer is the exchange's own to send.
 */
export function startExchange(
  simulation: Simulation,
  wire: TextWire,
  ids: { id: string; requestId: string; created: number },
  request: TextRequest,
  response: ServerResponse,
  takeOver: () => void,
): void {
  const { fault } = request.model;
  if (fault === "error") throw serverFailure();
  if (fault === "hang") {
    takeOver();
    simulation.hang(response);
    return;
  }
  const answer: TextAnswer = { ...ids, request, reply: composeReply(request) };
  if (request.stream) {
    takeOver();
    streamAnswer(simulation, wire, answer, response);
  } else if (fault === "reset") {
    book(simulation, answer, Math.min(TOKENS_BEFORE_RESET, answer.reply.tokens.length), true);
    takeOver();
    response.destroy();
  } else {
    const usage = book(simulation, answer, answer.reply.tokens.length, false);
    const body = wire.whole(answer, fault === "no-usage" ? undefined : usage);
    takeOver();
    const headers = wire.headers(answer);
    headers["content-type"] = "application/json";
    // A string, not bytes: node then sends head and body in one write.
    headers["content-length"] = Buffer.byteLength(body);
    response.writeHead(200, headers).end(body);
  }
}

function streamAnswer(
  simulation: Simulation,
  wire: TextWire,
  answer: TextAnswer,
  response: ServerResponse,
): void {
  const { fault } = answer.request.model;
  const { tokens } = answer.reply;
  const headers = wire.headers(answer);
  headers["content-type"] = "text/event-stream; charset=utf-8";
  headers["cache-control"] = "no-cache";
  response.writeHead(200, headers);
  const frames = wire.frames(answer);
  const resets = fault === "reset";
  simulation.beginWork();
  response.write(frames.opening());
  pumpTokens({
    response,
    delayMs: simulation.tokenDelayMs,
    count: resets ? Math.min(TOKENS_BEFORE_RESET, tokens.length) : tokens.length,
    frame: (index) => frames.token(tokens[index] ?? "", index),
    done: (made, gone) => {
      try {
        if (!gone && !resets) response.write(frames.ending());
        const usage = book(simulation, answer, made, gone || resets);
        if (gone) return;
        if (resets) breakOff(response);
        else response.end(frames.closing(fault === "no-usage" ? undefined : usage));
      } catch (error) {
        console.error(`The simulator broke off the stream ${answer.id}:`, error);
        response.destroy();
      } finally {
        simulation.endWork();
      }
    },
  });
}

/** Destroys the connection, but not before the tokens made so far are on their way. */
function breakOff(response: ServerResponse): void {
  setTimeout(() => response.socket?.destroySoon(), PAUSE_BEFORE_RESET_MS);
}

function book(simulation: Simulation, answer: TextAnswer, outputTokens: number, cancelled: boolean): Usage {
  const usage = usageOf(answer.request, outputTokens);
  simulation.bill.record({
    requestId: answer.requestId,
    generationId: answer.id,
    model: answer.request.model.id,
    picoUsd: usage.cost,
    inputTokens: usage.inputTokens,
    outputTokens,
    finishReason: cancelled ? null : answer.reply.finish,
    streamed: answer.request.stream,
    cancelled,
    createdAt: Date.now(),
  });
  return usage;
}
