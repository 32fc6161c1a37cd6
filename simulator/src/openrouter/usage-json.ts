// OpenRouter's usage objects. `cost` and the cost details are exact decimals of the billed integers.
import { formatUsd } from "../prices.ts";
import type { Usage } from "../usage.ts";

export function chatUsage(usage: Usage): string {
  return (
    `{"prompt_tokens":${usage.inputTokens},"completion_tokens":${usage.outputTokens},` +
    `"total_tokens":${usage.inputTokens + usage.outputTokens},` +
    `"cost":${formatUsd(usage.cost)},"is_byok":false,` +
    `"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0,"audio_tokens":0,"video_tokens":0},` +
    `"cost_details":{"upstream_inference_cost":null,` +
    `"upstream_inference_prompt_cost":${formatUsd(usage.inputCost)},` +
    `"upstream_inference_completions_cost":${formatUsd(usage.outputCost)}},` +
    `"completion_tokens_details":{"reasoning_tokens":0,"image_tokens":0,"audio_tokens":0}}`
  );
}

export function responsesUsage(usage: Usage): string {
  return (
    `{"input_tokens":${usage.inputTokens},"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},` +
    `"output_tokens":${usage.outputTokens},"output_tokens_details":{"reasoning_tokens":0},` +
    `"total_tokens":${usage.inputTokens + usage.outputTokens},` +
    `"cost":${formatUsd(usage.cost)},"is_byok":false,` +
    `"cost_details":{"upstream_inference_cost":null,` +
    `"upstream_inference_input_cost":${formatUsd(usage.inputCost)},` +
    `"upstream_inference_output_cost":${formatUsd(usage.outputCost)}}}`
  );
}
