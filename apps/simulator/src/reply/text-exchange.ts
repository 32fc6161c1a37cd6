// TextExchange runs one text request from its parsed body to its last byte, in any wire format.
// Invariant: each generation is billed exactly once, before its usage is sent, for its generated tokens.
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { StatedUpstream } from "../bill/bill.ts";
import { Refusal, serverFailure } from "../request/refusal.ts";
import type { Simulation } from "../request/simulation.ts";
import type { TextRequest } from "../text/text-request.ts";
import { type Usage, usageOf } from "../text/usage.ts";
import { lookAt, type Picture } from "./picture-facts.ts";
import { composeReply, type Finish, type Reply } from "./reply.ts";
import { type ReplyStep, stepsOf } from "./reply-steps.ts";
import { pumpTokens } from "./token-pump.ts";

/** One answer in progress. */
export interface TextAnswer {
  /** Id in the answer. */
  readonly id: string;
  /** Id of the request on the bill. */
  readonly requestId: string;
  readonly upstream?: StatedUpstream | undefined;
  /** Unix seconds. */
  readonly created: number;
  readonly request: TextRequest;
  readonly reply: Reply;
}

/** A wire format. Every function returns the exact bytes to send; `usage` is undefined if it is withheld. */
export interface TextWire {
  headers(answer: TextAnswer): OutgoingHttpHeaders;
  whole(answer: TextAnswer, usage: Usage | undefined): string;
  frames(answer: TextAnswer): StreamFrames;
}

/** The parts of a stream, in their order on the wire. */
export interface StreamFrames {
  opening(): string;
  step(step: ReplyStep): string;
  /** After the last token and before the bill. */
  ending(): string;
  /** After the bill: the usage, and the end of the stream. */
  closing(usage: Usage | undefined): string;
}

/** Long enough for a client to read them: at a reset, many HTTP clients drop their unread data. */
const PAUSE_BEFORE_RESET_MS = 20;

interface AnswerIds {
  readonly id: string;
  readonly requestId: string;
  readonly upstream?: StatedUpstream | undefined;
  readonly created: number;
}

/**
 * Starts the answer. Throws before anything is sent (a `Refusal`, or a bill that cannot be written), or rejects.
 * `hijack` is called at the moment from which the exchange itself sends the answer. Returns a promise only for a
 * request with pictures to read.
 */
export function startExchange(
  simulation: Simulation,
  wire: TextWire,
  ids: AnswerIds,
  request: TextRequest,
  response: ServerResponse,
  hijack: () => void,
): Promise<void> | undefined {
  const { fault } = request.faults;
  if (fault === "error") throw serverFailure();
  if (fault === "rate-limited") throw new Refusal("rate_limited", "Rate limit reached for requests.");
  if (fault === "hang") {
    hijack();
    simulation.hang(response);
    return undefined;
  }
  const begin = (pictures: readonly Picture[]) => {
    const answer: TextAnswer = { ...ids, request, reply: composeReply(request, pictures) };
    sendAnswer(simulation, wire, answer, response, hijack);
  };
  if (request.images.length > 0) return lookAt(request.images).then(begin);
  begin([]);
  return undefined;
}

function sendAnswer(
  simulation: Simulation,
  wire: TextWire,
  answer: TextAnswer,
  response: ServerResponse,
  hijack: () => void,
): void {
  const { fault, tokensBeforeReset } = answer.request.faults;
  if (answer.request.stream) {
    hijack();
    streamAnswer(simulation, wire, answer, response);
  } else if (fault === "reset") {
    book(simulation, answer, Math.min(tokensBeforeReset, answer.reply.tokens), true);
    hijack();
    response.destroy();
  } else {
    const usage = book(simulation, answer, answer.reply.tokens, false);
    const body = wire.whole(answer, fault === "no-usage" ? undefined : usage);
    hijack();
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
  const { fault, tokensBeforeReset } = answer.request.faults;
  const { tokens } = answer.reply;
  const headers = wire.headers(answer);
  headers["content-type"] = "text/event-stream; charset=utf-8";
  headers["cache-control"] = "no-cache";
  response.writeHead(200, headers);
  const frames = wire.frames(answer);
  const steps = stepsOf(answer.reply);
  const resets = fault === "reset";
  simulation.beginWork();
  response.write(frames.opening());
  pumpTokens({
    response,
    delayMs: simulation.tokenDelayMs,
    count: resets ? Math.min(tokensBeforeReset, tokens) : tokens,
    frame: () => frames.step(steps.next().value as ReplyStep),
    done: (sent, gone) => {
      try {
        if (!gone && !resets) response.write(frames.ending());
        const usage = book(simulation, answer, sent, gone || resets);
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

/** Destroys the connection after the tokens so far are sent. */
function breakOff(response: ServerResponse): void {
  setTimeout(() => response.socket?.destroySoon(), PAUSE_BEFORE_RESET_MS);
}

function book(simulation: Simulation, answer: TextAnswer, outputTokens: number, cancelled: boolean): Usage {
  const reasoningTokens = Math.min(answer.reply.reasoningTokens, outputTokens);
  const usage = usageOf(answer.request, outputTokens, reasoningTokens);
  simulation.bill.record({
    requestId: answer.requestId,
    generationId: answer.id,
    model: answer.request.model.id,
    upstream: answer.upstream,
    picoUsd: usage.cost,
    inputTokens: usage.inputTokens,
    outputTokens,
    reasoningTokens,
    finishReason: cancelled ? null : finishOf(answer),
    streamed: answer.request.stream,
    cancelled,
    createdAt: Date.now(),
  });
  return usage;
}

/** Finish reason of the first choice, for formats with one reason for all choices. */
export function finishOf({ reply }: TextAnswer): Finish {
  return reply.choices[0]?.finish ?? "stop";
}
