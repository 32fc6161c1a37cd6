// What differs between the kinds of text upstreams: whether a usage says what they bill, and whether they can be asked
// about a generation afterwards.
import type { TokenMeters } from "@gr/models";
import type { PicoUsd } from "@gr/money";
import type { TextUpstreamKind } from "@gr/text-upstream";
import { findMember, scanObject } from "../json/json-members.ts";
import { isObject, type JsonObject } from "../json/json-object.ts";
import type { TextApi } from "../request/text-request.ts";
import {
  believable,
  isTokenCount,
  readCost,
  readTokens,
  readUsageWithCost,
  type UsageReader,
} from "./usage.ts";

/** What an upstream says afterwards about one generation. */
export interface Generation {
  readonly cost: PicoUsd;
  /** Undefined when the upstream does not say how many tokens. */
  readonly meters: TokenMeters | undefined;
}

export interface UpstreamKind {
  readonly readUsage: UsageReader;
  /** Where a request says how many tokens its output may have. */
  readonly limitFields: Readonly<Record<TextApi, string>>;
  /** How it is asked about a generation; undefined where it cannot be asked. */
  readonly generations: GenerationQuery | undefined;
}

interface GenerationQuery {
  /** @param id the upstream's own when it is known, else the request id that was sent along */
  path(id: string): string;
  /** @returns undefined when it does not say what the generation cost. @throws Error when it is not even JSON */
  read(body: Buffer): Generation | undefined;
}

/** A gateway before many providers, which says what it bills. */
const gateway: UpstreamKind = {
  readUsage: readUsageWithCost,
  limitFields: { chat: "max_tokens", responses: "max_output_tokens" },
  generations: { path: (id) => `/generation?id=${encodeURIComponent(id)}`, read: readGeneration },
};

export const UPSTREAM_KINDS: Readonly<Record<TextUpstreamKind, UpstreamKind>> = {
  openrouter: gateway,
  vercel: gateway,
  openai: {
    readUsage: readTokens,
    // Models that think refuse the older name.
    limitFields: { chat: "max_completion_tokens", responses: "max_output_tokens" },
    generations: undefined,
  },
};

function readGeneration(json: Buffer): Generation | undefined {
  const body: unknown = JSON.parse(json.toString());
  const data = isObject(body) ? body["data"] : undefined;
  const member = isObject(data) ? findMember(json, scanObject(json), "data") : undefined;
  if (!isObject(data) || member === undefined) return undefined;
  const layout = scanObject(json, member.valueStart);
  const cost = readCost(json, layout, "total_cost");
  if (cost === undefined) return undefined;
  const own = data["is_byok"] === true ? readCost(json, layout, "upstream_inference_cost") : undefined;
  const whole = cost + (own ?? 0n);
  return believable(whole) ? { cost: whole, meters: readMeters(data) } : undefined;
}

function readMeters(data: JsonObject): TokenMeters | undefined {
  const inputTokens = data["native_tokens_prompt"] ?? data["tokens_prompt"];
  const outputTokens = data["native_tokens_completion"] ?? data["tokens_completion"];
  return isTokenCount(inputTokens) && isTokenCount(outputTokens) ? { inputTokens, outputTokens } : undefined;
}
