// The part of a broken stream that the client already has: its text and its bills. Another upstream continues it.
import type { TokenMeters } from "@gr/models";
import type { PicoUsd } from "@gr/money";
import { dataOf, endOfEvent } from "@gr/runtime";
import { isObject, type JsonObject } from "../json/json-object.ts";
import { dearestInput } from "../request/hold-size.ts";
import type { TextOrder } from "../request/text-order.ts";
import { parseData } from "../stream/event-data.ts";
import type { StreamSoFar } from "../stream/stream-dialect.ts";
import type { TextBill } from "../text-kinds.ts";

export interface CarriedPart {
  /** Complete text that the client has received. */
  readonly text: string;
  /** Bills of the parts, one per upstream. */
  readonly parts: readonly TextBill[];
  /** The stream of the earlier upstream. */
  readonly from: StreamSoFar;
}

/** Members of a delta that may be lost: they are not the answer. */
const BESIDE = new Set(["role", "reasoning", "reasoning_content", "reasoning_details"]);

/** Text of a chat stream; undefined for a stream with other content, without content, or with its end. */
export function wordsOf(events: Buffer): string | undefined {
  let words = "";
  for (let at = 0; at < events.length; ) {
    const end = endOfEvent(events, at);
    const event = events.subarray(at, end);
    const data = dataOf(event);
    const more = data === undefined ? "" : wordsIn(parseData(event, data));
    if (more === undefined) return undefined;
    words += more;
    at = end;
  }
  return words === "" ? undefined : words;
}

function wordsIn(chunk: JsonObject | undefined): string | undefined {
  const choices = chunk?.["choices"];
  if (!Array.isArray(choices)) return undefined;
  const [choice, ...others]: unknown[] = choices;
  if (choice === undefined) return "";
  if (others.length > 0 || !isObject(choice) || (choice["index"] ?? 0) !== 0) return undefined;
  const { delta, finish_reason: finished } = choice;
  if (finished != null || !isObject(delta)) return undefined;
  const { content, ...rest } = delta;
  const isElse = ([name, value]: [string, unknown]) => value != null && !BESIDE.has(name);
  if (Object.entries(rest).some(isElse)) return undefined;
  return typeof content === "string" ? content : content == null ? "" : undefined;
}

/**
 * Returns the cost of the input that the next upstream reads again: the request, and the client's part of the answer.
 */
export function readAgainCost({ request, price, size }: TextOrder, text: string): PicoUsd {
  return size.inputCost + BigInt(Buffer.byteLength(text)) * dearestInput(request, price);
}

/** Returns the tokens of all parts. */
export function metersOf(parts: readonly TextBill[]): TokenMeters {
  return parts.reduce<TokenMeters>((sum, { meters }) => sumOf(meters, sum), {
    inputTokens: 0,
    outputTokens: 0,
  });
}

export function sumOf(one: TokenMeters, other: TokenMeters): TokenMeters {
  const { toolCalls = {}, tier: _tier, createdAt: _time, ...counts } = one;
  const { toolCalls: otherCalls = {}, tier: _otherTier, createdAt: _otherTime, ...otherCounts } = other;
  return { ...one, ...added(counts, otherCounts), toolCalls: added(toolCalls, otherCalls) };
}

function added<Counts extends Readonly<Record<string, number>>>(one: Counts, other: Counts): Counts {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...names].map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]),
  ) as Counts;
}
