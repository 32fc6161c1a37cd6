// TextLine is the log's line of an ended request: its outcome and its meters. It never
// contains a word of prompt or answer.
import { TextApi, type TextLineInit } from "@gr/clients";
import type { TokenMeters } from "@gr/models";
import { ServiceError } from "@gr/proto";
import { findMember } from "../json/json-members.ts";
import type { TextOrder } from "../request/text-order.ts";
import type { TextRequest } from "../request/text-request.ts";

/** History of the attempts of a request. */
export interface TextTrace {
  readonly attempts: readonly AttemptTrace[];
  /** The upstream's finish reason; empty if it sent none. */
  readonly finishReason: string;
  /** Milliseconds from the request's arrival to the first byte of its stream; undefined without a stream. */
  readonly firstByteMs: number | undefined;
  /** Reason of an early end of a charged answer. */
  readonly cut: ServiceError | undefined;
}

export interface AttemptTrace {
  readonly provider: string;
  readonly upstreamModel: string;
  /** One word: delivered, or the reason of the failure. */
  readonly outcome: string;
  readonly tookMs: number;
}

/** End of a request. @param meters of the charge. @param error the client's error */
export interface TextEnd {
  readonly tookMs: number;
  readonly meters?: TokenMeters;
  readonly error?: unknown;
}

/** Largest size of the request's `user` value, as JSON bytes. A longer value is omitted. */
const LONGEST_USER = 1_000;
const QUOTE = 0x22;

/** @param endedAt Unix milliseconds */
export function textLine(order: TextOrder, trace: TextTrace, end: TextEnd, endedAt: number): TextLineInit {
  const { id, accountId, keyId, model, request } = order;
  const tookMs = Math.round(end.tookMs);
  const error = trace.cut ?? end.error;
  const line: TextLineInit = {
    requestId: id,
    accountId,
    spenderId: keyId,
    model,
    api: request.api === "chat" ? TextApi.CHAT : TextApi.RESPONSES,
    stream: request.stream,
    beganAt: BigInt(endedAt - tookMs),
    tookMs: BigInt(tookMs),
    finishReason: trace.finishReason,
    userTag: userOf(request),
    attempts: trace.attempts.map((attempt) => ({ ...attempt, tookMs: whole(attempt.tookMs) })),
  };
  if (trace.firstByteMs !== undefined) line.firstByteMs = whole(trace.firstByteMs);
  if (end.meters !== undefined) line.usage = usageOf(end.meters);
  return error === undefined ? line : { ...line, ...errorOf(error) };
}

function errorOf(error: unknown) {
  const { reason, message } =
    error instanceof ServiceError ? error : { reason: "internal_error", message: "The router failed." };
  return { errorReason: reason, errorMessage: message };
}

function usageOf({ toolCalls = {}, tier = "", createdAt: _time, ...counts }: TokenMeters) {
  return { ...bigCounts(counts), tier, toolCalls: bigCounts(toolCalls) };
}

/** Returns the counts without zeros, which most are. */
function bigCounts(counts: Readonly<Record<string, number>>): Record<string, bigint> {
  const big: Record<string, bigint> = {};
  for (const name of Object.keys(counts)) {
    const count = counts[name];
    if (count) big[name] = BigInt(count);
  }
  return big;
}

/** Returns the body's `user`; empty for an absent or invalid one. */
function userOf({ bytes, layout }: TextRequest): string {
  const member = findMember(bytes, layout, "user");
  if (member === undefined || bytes[member.valueStart] !== QUOTE) return "";
  const { valueStart, valueEnd } = member;
  if (valueEnd - valueStart > LONGEST_USER) return "";
  return String(JSON.parse(bytes.toString("utf8", valueStart, valueEnd)));
}

function whole(ms: number): bigint {
  return BigInt(Math.round(ms));
}
