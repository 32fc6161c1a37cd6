// OpenRouter's chat completions and Responses API, as bytes: the cost is in the usage, which a stream tells in its last
// chunk, before `[DONE]`.

import { formatUsd } from "../prices.ts";
import { Refusal } from "../refusal.ts";
import { responsesWire } from "../responses-wire.ts";
import type { TextWire } from "../text-exchange.ts";
import type { JsonObject } from "../text-request.ts";
import type { Usage } from "../usage.ts";

/** The name of the provider behind the router. */
export const PROVIDER_NAME = "Sandbox";

/** Sent while a real model would still be reading the prompt. */
export const PROCESSING_COMMENT = ": OPENROUTER PROCESSING\n\n";

export const openRouterChat: TextWire = {
  headers: (answer) => ({ "x-generation-id": answer.id }),

  whole: (answer, usage) =>
    `{"id":"${answer.id}","object":"chat.completion","created":${answer.created},` +
    `"model":"${answer.request.model.id}","provider":"${PROVIDER_NAME}","system_fingerprint":null,` +
    `"choices":[{"index":0,"logprobs":null,"finish_reason":"${answer.reply.finish}",` +
    `"native_finish_reason":"${answer.reply.finish}","message":{"role":"assistant",` +
    `"content":${JSON.stringify(answer.reply.tokens.join(""))},"refusal":null,"reasoning":null}}]` +
    `${usage === undefined ? "" : `,"usage":${chatUsage(usage)}`}}`,

  frames: (answer) => {
    const head =
      `data: {"id":"${answer.id}","provider":"${PROVIDER_NAME}","model":"${answer.request.model.id}",` +
      `"object":"chat.completion.chunk","created":${answer.created},` +
      `"choices":[{"index":0,"delta":{"role":"assistant","content":`;
    const open = `},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]`;
    const { finish } = answer.reply;
    return {
      opening: () => `${PROCESSING_COMMENT}${head}""${open}}\n\n`,
      token: (text) => `${head}${JSON.stringify(text)}${open}}\n\n`,
      ending: () =>
        `${head}""},"finish_reason":"${finish}","native_finish_reason":"${finish}","logprobs":null}]}\n\n`,
      closing: (usage) =>
        `${usage === undefined ? "" : `${head}""${open},"usage":${chatUsage(usage)}}\n\n`}data: [DONE]\n\n`,
    };
  },
};

export const openRouterResponses: TextWire = responsesWire({
  headers: (answer) => ({ "x-generation-id": answer.id }),
  usage: responsesUsage,
  greeting: PROCESSING_COMMENT,
  farewell: "data: [DONE]\n\n",
  storesByDefault: false,
});

/** Refuses what needs stored conversations. */
export function checkStateless(body: JsonObject): void {
  if (body["store"] === true) throw new Refusal("invalid", "store: true is not supported");
  if (body["previous_response_id"] != null) {
    throw new Refusal("invalid", "previous_response_id is not supported");
  }
}

function chatUsage(usage: Usage): string {
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

function responsesUsage(usage: Usage): string {
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
