// Usage is an upstream's report of a request's usage, read exactly: token counts as whole numbers, the cost from its
// source text and never through a floating-point number. An invalid count invalidates the whole usage.
import { priceOfTokens, type TokenMeters, withOwnPrice } from "@gr/models";
import { formatPicoUsd, LARGEST_COST, type PicoUsd, parsePicoUsd, smaller } from "@gr/money";
import type { TokenPrice } from "@gr/proto/catalog";
import type { AmountReader, UpstreamKind } from "@gr/text-upstream";
import { findMember, type Member, type ObjectLayout, scanObject, valueText } from "../json/json-members.ts";
import { isObject, type JsonObject } from "../json/json-object.ts";
import { type Splice, setMember } from "../json/json-splice.ts";
import type { TextApi } from "../request/text-request.ts";

type Mutable<Facts> = { -readonly [Name in keyof Facts]: Facts[Name] };

/** A usage object within the bytes of an answer or an event. */
export interface Usage {
  readonly meters: TokenMeters;
  /** The upstream's bill, if reported in a trusted form. */
  readonly reportedCost: PicoUsd | undefined;
  /** True if `usage.cost` in the bytes is exactly the reported cost. */
  readonly reportsCost: boolean;
  readonly json: Buffer;
  readonly layout: ObjectLayout;
}

const FIELDS = {
  chat: {
    input: "prompt_tokens",
    output: "completion_tokens",
    inputDetails: "prompt_tokens_details",
    outputDetails: "completion_tokens_details",
  },
  responses: {
    input: "input_tokens",
    output: "output_tokens",
    inputDetails: "input_tokens_details",
    outputDetails: "output_tokens_details",
  },
} as const;

/** No request has more tokens; a larger count is invalid. */
const MOST_TOKENS = 100_000_000;
/** Largest cost that is booked, 10,000 USD. A higher bill is a defect of the upstream, and its route loses money. */
const MOST_COST: PicoUsd = 10n ** 16n;
/** Seconds; the year 2100. */
const LAST_TIME = 4_102_444_800;
const OPEN_BRACE = 0x7b;

/**
 * @param kind of the reporting upstream
 * @param parsed the usage object as parsed
 * @param member its position in `json`
 * @param answer its parent object, as parsed
 * @returns undefined for an invalid usage, which counts as missing
 */
export function readUsage(
  kind: UpstreamKind,
  api: TextApi,
  parsed: unknown,
  json: Buffer,
  member: Member,
  answer: JsonObject,
): Usage | undefined {
  if (!isObject(parsed)) return undefined;
  const tokens = readMeters(api, parsed);
  const calls = kind.toolCalls(parsed, answer);
  if (tokens === undefined || !areCounts(calls)) return undefined;
  const { service_tier: tier, created, created_at: createdAt = created } = answer;
  const meters: Mutable<TokenMeters> = tokens;
  meters.toolCalls = calls;
  if (typeof tier === "string") meters.tier = tier;
  if (isUnixTime(createdAt)) meters.createdAt = createdAt * 1_000;
  const layout = scanObject(json, member.valueStart);
  const reported = kind.reportedCost(parsed, amountsIn(json, layout));
  if (reported === undefined) {
    // No prompt has zero tokens: a report of zero tokens is not a count.
    if (tokens.inputTokens === 0 && tokens.outputTokens === 0) return undefined;
    return { meters, reportedCost: undefined, reportsCost: false, json, layout };
  }
  const { cost, isUsageCost } = reported;
  const reportedCost = boundedCost(cost);
  if (reportedCost === undefined) return undefined;
  return { meters, reportedCost, reportsCost: isUsageCost && reportedCost === cost, json, layout };
}

/** Seconds of this century. */
function isUnixTime(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value < LAST_TIME;
}

/** Returns a cost that billing can add up. @returns undefined for an invalid sum of valid amounts */
export function boundedCost(cost: PicoUsd): PicoUsd | undefined {
  return cost > LARGEST_COST ? undefined : smaller(cost, MOST_COST);
}

/** Returns the true cost: the reported one, else tokens times the catalogue's price. */
export function costOf({ reportedCost, meters }: Usage, price: TokenPrice): PicoUsd {
  return reportedCost ?? priceOfTokens(price, withOwnPrice(meters, price));
}

/** Sets the true cost in the bytes; no splice if it is already there. */
export function sayCost(usage: Usage, cost: PicoUsd): Splice[] {
  return usage.reportsCost ? [] : [setMember(usage.json, usage.layout, "cost", formatPicoUsd(cost))];
}

/** Sets another usage in the bytes: the sum of all upstreams that had a part in the answer. */
export function sayUsage(
  api: TextApi,
  { json, layout }: Usage,
  { inputTokens, outputTokens }: TokenMeters,
  cost: PicoUsd,
): Splice[] {
  const { input, output } = FIELDS[api];
  return [
    setMember(json, layout, input, String(inputTokens)),
    setMember(json, layout, output, String(outputTokens)),
    setMember(json, layout, "total_tokens", String(inputTokens + outputTokens)),
    setMember(json, layout, "cost", formatPicoUsd(cost)),
  ];
}

/** Returns a usage object of our own, for answers without one. */
export function writeUsage(api: TextApi, meters: TokenMeters, cost: PicoUsd): string {
  const { input, output } = FIELDS[api];
  const { inputTokens, outputTokens } = meters;
  return (
    `{"${input}":${inputTokens},"${output}":${outputTokens},"total_tokens":${inputTokens + outputTokens},` +
    `"cost":${formatPicoUsd(cost)}}`
  );
}

/** Reads amounts below an object; they are JSON numbers or strings. */
export function amountsIn(json: Buffer, layout: ObjectLayout): AmountReader {
  return (name, ...deeper) => {
    const member = findMember(json, layout, name);
    if (member === undefined) return undefined;
    const [next, ...rest] = deeper;
    if (next !== undefined) {
      const isObjectThere = json[member.valueStart] === OPEN_BRACE;
      return isObjectThere ? amountsIn(json, scanObject(json, member.valueStart))(next, ...rest) : undefined;
    }
    const text = valueText(json, member);
    return parsePicoUsd(text.startsWith('"') ? String(JSON.parse(text)) : text);
  };
}

/** @returns a new object */
function readMeters(api: TextApi, usage: JsonObject): Mutable<TokenMeters> | undefined {
  const fields = FIELDS[api];
  const inputTokens = usage[fields.input];
  const outputTokens = usage[fields.output];
  const input = readDetails(usage[fields.inputDetails]);
  const output = readDetails(usage[fields.outputDetails]);
  const cachedInputTokens = input["cached_tokens"] ?? 0;
  const cacheWriteTokens = input["cache_write_tokens"] ?? 0;
  const longCacheWriteTokens = readDetails(input["cache_write_tokens_details"])["ttl_12h_tokens"] ?? 0;
  const imageInputTokens = input["image_tokens"] ?? 0;
  const audioInputTokens = input["audio_tokens"] ?? 0;
  const reasoningTokens = output["reasoning_tokens"] ?? 0;
  const imageOutputTokens = output["image_tokens"] ?? 0;
  const audioOutputTokens = output["audio_tokens"] ?? 0;
  if (
    !isTokenCount(inputTokens) ||
    !isTokenCount(outputTokens) ||
    !isTokenCount(cachedInputTokens) ||
    !isTokenCount(cacheWriteTokens) ||
    !isTokenCount(longCacheWriteTokens) ||
    !isTokenCount(imageInputTokens) ||
    !isTokenCount(audioInputTokens) ||
    !isTokenCount(reasoningTokens) ||
    !isTokenCount(imageOutputTokens) ||
    !isTokenCount(audioOutputTokens)
  ) {
    return undefined;
  }
  // Some upstreams count reasoning outside of the output. Only the total shows it.
  const apart = usage["total_tokens"] === inputTokens + outputTokens + reasoningTokens;
  const meters: Mutable<TokenMeters> = {
    inputTokens,
    outputTokens: apart ? outputTokens + reasoningTokens : outputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    imageInputTokens,
    audioInputTokens,
    reasoningTokens,
    imageOutputTokens,
    audioOutputTokens,
  };
  if (longCacheWriteTokens > 0) meters.longCacheWriteTokens = longCacheWriteTokens;
  return meters;
}

function areCounts(calls: Readonly<Record<string, unknown>>): calls is Readonly<Record<string, number>> {
  for (const name of Object.keys(calls)) if (!isTokenCount(calls[name])) return false;
  return true;
}

function readDetails(details: unknown): JsonObject {
  return isObject(details) ? details : {};
}

export function isTokenCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MOST_TOKENS;
}
