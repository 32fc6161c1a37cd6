// What the log keeps of a request that is over: how it went and what was metered. Never a word of its prompt or its answer.
import { TextApi, type TextLineInit } from "@gr/clients";
import type { TokenMeters } from "@gr/models";
import { ServiceError } from "@gr/proto";
import { findMember } from "../json/json-members.ts";
import type { TextOrder } from "../request/text-order.ts";
import type { TextRequest } from "../request/text-request.ts";

/** How the attempts of a request went. */
export interface TextStory {
  readonly attempts: readonly AttemptStory[];
  /** The upstream's word for why its answer ended; empty when it gave none. */
  readonly finishReason: string;
  /** From the arrival of the request to the first byte of its stream; undefined when there was none. */
  readonly firstByteMs: number | undefined;
  /** Why an answer that was charged ended before its end. */
  readonly cut: ServiceError | undefined;
}

export interface AttemptStory {
  readonly provider: string;
  readonly upstreamModel: string;
  /** One word: delivered, or why it was not. */
  readonly outcome: string;
  readonly tookMs: number;
}

/** How a request ended. @param meters of what is charged. @param error what its caller was told */
export interface TextEnd {
  readonly tookMs: number;
  readonly meters?: TokenMeters;
  readonly error?: unknown;
}

/** Bytes of JSON of what a caller calls its own user by, beyond which it is left out. */
const LONGEST_USER = 1_000;
const QUOTE = 0x22;

/** @param endedAt Unix milliseconds */
export function textLine(order: TextOrder, story: TextStory, end: TextEnd, endedAt: number): TextLineInit {
  const { id, accountId, keyId, model, request } = order;
  const tookMs = Math.round(end.tookMs);
  const error = story.cut ?? end.error;
  return {
    ...{ requestId: id, accountId, spenderId: keyId, model },
    api: request.api === "chat" ? TextApi.CHAT : TextApi.RESPONSES,
    stream: request.stream,
    beganAt: BigInt(endedAt - tookMs),
    tookMs: BigInt(tookMs),
    ...(story.firstByteMs === undefined ? {} : { firstByteMs: whole(story.firstByteMs) }),
    finishReason: story.finishReason,
    userTag: userOf(request),
    ...(end.meters === undefined ? {} : { usage: usageOf(end.meters) }),
    attempts: story.attempts.map((attempt) => ({ ...attempt, tookMs: whole(attempt.tookMs) })),
    ...(error === undefined ? {} : errorOf(error)),
  };
}

function errorOf(error: unknown) {
  const { reason, message } =
    error instanceof ServiceError
      ? error
      : { reason: "internal_error", message: "Something went wrong on our side." };
  return { errorReason: reason, errorMessage: message };
}

function usageOf({ toolCalls = {}, tier = "", ...counts }: TokenMeters) {
  return { ...bigCounts(counts), tier, toolCalls: bigCounts(toolCalls) };
}

/** Without those that are zero, which most are. */
function bigCounts(counts: Readonly<Record<string, number>>): Record<string, bigint> {
  const big: Record<string, bigint> = {};
  for (const name of Object.keys(counts)) {
    const count = counts[name];
    if (count) big[name] = BigInt(count);
  }
  return big;
}

/** The `user` of its body; empty when it has none that is worth keeping. */
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
