// What a client has got of a stream that broke off and is gone on with elsewhere: its words, and what they cost.
import type { TokenMeters } from "@gr/models";
import { type Credits, chargeOf, type PicoUsd } from "@gr/money";
import type { Failed, Unknown } from "@gr/paid-request";
import { isObject, type JsonObject } from "../json/json-object.ts";
import { dearestInput } from "../request/hold-size.ts";
import type { TextOrder } from "../request/text-order.ts";
import { parseData } from "./event-data.ts";
import { dataOf, endOfEvent } from "./sse-splitter.ts";
import type { StreamSoFar } from "./stream-dialect.ts";

export interface CarriedPart {
  /** All words that the client has. */
  readonly text: string;
  /** What its upstreams billed for them, or would have. */
  readonly cost: PicoUsd;
  readonly meters: TokenMeters;
  /** The stream before. */
  readonly from: StreamSoFar;
}

/** Members of a delta that may be lost: they are not the answer. */
const BESIDE = new Set(["role", "reasoning", "reasoning_content", "reasoning_details"]);

/** The words of a chat stream; undefined when there is anything else in it, or nothing, or its end. */
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

/** What going on costs beside its own output: what there is already, and reading it again. */
export function carriedCost(
  { request, price, size }: TextOrder,
  { text, cost }: Pick<CarriedPart, "text" | "cost">,
) {
  return cost + size.inputCost + BigInt(Buffer.byteLength(text)) * dearestInput(request, price);
}

/** The customer pays for all parts. @param last what is believed of the last one */
export function chargeOfParts(last: PicoUsd, carried: Pick<CarriedPart, "cost"> | undefined): Credits {
  return chargeOf(last + (carried?.cost ?? 0n));
}

/** What the upstream of a part bills for it. */
export interface PartCost {
  readonly cost: PicoUsd;
  /** It did not say. */
  readonly metered: boolean;
}

/** How an attempt has ended whose part of the answer is gone on with elsewhere. */
export function carriedOn(
  { billed }: { readonly billed: boolean },
  { error, billId, message }: Failed | Unknown,
  { cost, metered }: PartCost,
): Failed {
  return {
    ...{ kind: "failed", error, billId, message, why: "broke_off" },
    ...{ cost: billed ? cost : 0n, metered: billed && metered, notSent: false, fallBack: true },
  };
}

export function sumOf(one: TokenMeters, other: TokenMeters): TokenMeters {
  const { toolCalls = {}, tier: _tier, ...counts } = one;
  const { toolCalls: otherCalls = {}, tier: _otherTier, ...otherCounts } = other;
  return { ...one, ...added(counts, otherCounts), toolCalls: added(toolCalls, otherCalls) };
}

function added<Counts extends Readonly<Record<string, number>>>(one: Counts, other: Counts): Counts {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...names].map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]),
  ) as Counts;
}
