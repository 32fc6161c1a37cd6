// OpenRouter's look-up of a finished generation: it returns the cost after a lost answer.
import type { BillItem } from "../../bill/bill.ts";
import { formatUsd } from "../../bill/prices.ts";
import { PROVIDER_NAME } from "./text-wires.ts";

/**
 * The body of `GET /generation?id=`. If several generations share a request id (retries), the numbers are
 * those of the last one and the cost is the sum of all: the cost of the request.
 */
export function generationBody(items: readonly BillItem[], last: BillItem): string {
  const cost = formatUsd(items.reduce((sum, item) => sum + item.picoUsd, 0n));
  const rest = JSON.stringify({
    id: last.generationId,
    request_id: last.requestId,
    upstream_id: null,
    model: last.model,
    provider_name: PROVIDER_NAME,
    api_type: "completions",
    created_at: new Date(last.createdAt).toISOString(),
    streamed: last.streamed,
    cancelled: last.cancelled,
    is_byok: false,
    finish_reason: last.finishReason,
    native_finish_reason: last.finishReason,
    origin: "",
    app_id: null,
    latency: 0,
    moderation_latency: null,
    generation_time: 0,
    tokens_prompt: last.inputTokens,
    tokens_completion: last.outputTokens,
    native_tokens_prompt: last.inputTokens,
    native_tokens_completion: last.outputTokens,
    native_tokens_reasoning: last.reasoningTokens ?? 0,
    native_tokens_cached: 0,
    num_media_prompt: null,
    num_media_completion: null,
    num_search_results: null,
    cache_discount: null,
    upstream_inference_cost: null,
  });
  return `{"data":{"total_cost":${cost},"usage":${cost},${rest.slice(1)}}`;
}
