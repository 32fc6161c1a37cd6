// Asks the upstream what became of a generation whose answer or usage never arrived. The id is the upstream's own
// when it is known, else the request id that was sent along, by which not every upstream can find it.
import type { TokenMeters } from "@gr/models";
import type { PicoUsd } from "@gr/money";
import { findMember, scanObject } from "./json-members.ts";
import { isObject, type JsonObject } from "./request-fields.ts";
import type { Upstream } from "./upstream.ts";
import { isTokenCount, readCost } from "./usage.ts";

export interface Generation {
  readonly cost: PicoUsd;
  /** Undefined when the upstream does not say how many tokens. */
  readonly meters: TokenMeters | undefined;
}

/** "unknown": the upstream has no such generation. "silent": it did not say. */
export type LookUpResult = Generation | "unknown" | "silent";

/** Whether the upstream can be asked at all. */
export function canLookUp({ kind }: Upstream): boolean {
  return kind !== "openai";
}

export async function lookUp(upstream: Upstream, id: string): Promise<LookUpResult> {
  if (!canLookUp(upstream)) return "silent";
  try {
    const { status, body } = await upstream.get(`/generation?id=${encodeURIComponent(id)}`);
    if (status === 404) return "unknown";
    return (status === 200 ? readGeneration(body) : undefined) ?? "silent";
  } catch {
    // Whatever kept the answer away, the caller asks again or leaves the hold to the next round.
    return "silent";
  }
}

function readGeneration(json: Buffer): Generation | undefined {
  const body: unknown = JSON.parse(json.toString());
  const data = isObject(body) ? body["data"] : undefined;
  const member = isObject(data) ? findMember(json, scanObject(json), "data") : undefined;
  if (!isObject(data) || member === undefined) return undefined;
  const layout = scanObject(json, member.valueStart);
  const cost = readCost(json, layout, "total_cost");
  if (cost === undefined) return undefined;
  const own = data["is_byok"] === true ? readCost(json, layout, "upstream_inference_cost") : undefined;
  return { cost: cost + (own ?? 0n), meters: readMeters(data) };
}

function readMeters(data: JsonObject): TokenMeters | undefined {
  const inputTokens = data["native_tokens_prompt"] ?? data["tokens_prompt"];
  const outputTokens = data["native_tokens_completion"] ?? data["tokens_completion"];
  return isTokenCount(inputTokens) && isTokenCount(outputTokens) ? { inputTokens, outputTokens } : undefined;
}
