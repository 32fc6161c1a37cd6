// OpenRouter's chat completions and Responses API, as bytes. The cost is in the usage, which a stream sends in its
// last chunk, before `[DONE]`.

import { formatUsd } from "../../bill/prices.ts";
import {
  choiceLogprobs,
  noContentOf,
  stepLogprobs,
  textOf,
  toolCallDeltas,
  toolCallsOf,
} from "../../reply/chat-pieces.ts";
import { responsesWire } from "../../reply/responses-wire.ts";
import type { TextWire } from "../../reply/text-exchange.ts";
import { Refusal } from "../../request/refusal.ts";
import type { JsonObject } from "../../request/request-fields.ts";
import type { Usage } from "../../text/usage.ts";

/** The name of the provider behind the router. */
export const PROVIDER_NAME = "Sandbox";

/** Sent in the time in which a real model would read the prompt. */
export const PROCESSING_COMMENT = ": OPENROUTER PROCESSING\n\n";

export const openRouterChat: TextWire = {
  headers: (answer) => ({ "x-generation-id": answer.id }),

  whole: (answer, usage) => {
    const { logprobs } = answer.request.options;
    const choices = answer.reply.choices.map(
      (choice, index) =>
        `{"index":${index},"logprobs":${choiceLogprobs(choice, logprobs)},"finish_reason":"${choice.finish}",` +
        `"native_finish_reason":"${choice.finish}","message":{"role":"assistant",` +
        `"content":${textOf(choice, "text")},"refusal":null,${reasoningMembers(textOf(choice, "reasoning"))}` +
        `${toolCallsOf(choice)}}}`,
    );
    return (
      `{"id":"${answer.id}","object":"chat.completion","created":${answer.created},` +
      `"model":"${answer.request.model.id}","provider":"${PROVIDER_NAME}","system_fingerprint":null,` +
      `"choices":[${choices.join(",")}]` +
      `${usage === undefined ? "" : `,"usage":${chatUsage(usage)}`}}`
    );
  },

  frames: (answer) => {
    const head =
      `data: {"id":"${answer.id}","provider":"${PROVIDER_NAME}","model":"${answer.request.model.id}",` +
      `"object":"chat.completion.chunk","created":${answer.created},"choices":[{"index":`;
    const { choices } = answer.reply;
    const { logprobs } = answer.request.options;
    const open = (index: number, content: string, more = "", likely = "null") =>
      `${head}${index},"delta":{"role":"assistant","content":${content}${more}},"finish_reason":null,` +
      `"native_finish_reason":null,"logprobs":${likely}}]`;
    return {
      opening: () =>
        PROCESSING_COMMENT +
        choices.map((choice, index) => `${open(index, noContentOf(choice))}}\n\n`).join(""),
      step: (step) => {
        const { part, token, choice } = step;
        const text = JSON.stringify(token);
        if (part.kind === "text") return `${open(choice, text, "", stepLogprobs(step, logprobs))}}\n\n`;
        if (part.kind === "reasoning") return `${open(choice, '""', `,${reasoningMembers(text)}`)}}\n\n`;
        return toolCallDeltas(step)
          .map((delta) => `${open(choice, "null", `,${delta}`)}}\n\n`)
          .join("");
      },
      ending: () =>
        choices
          .map(
            (choice, index) =>
              `${head}${index},"delta":{"role":"assistant","content":${noContentOf(choice)}},"finish_reason":"${choice.finish}",` +
              `"native_finish_reason":"${choice.finish}","logprobs":null}]}\n\n`,
          )
          .join(""),
      closing: (usage) =>
        `${usage === undefined ? "" : `${open(0, noContentOf(choices[0]))},"usage":${chatUsage(usage)}}\n\n`}data: [DONE]\n\n`,
    };
  },
};

/** @param text JSON */
function reasoningMembers(text: string): string {
  if (text === "null") return '"reasoning":null';
  return `"reasoning":${text},"reasoning_details":[{"type":"reasoning.text","text":${text},"format":"unknown","index":0}]`;
}

export const openRouterResponses: TextWire = responsesWire({
  headers: (answer) => ({ "x-generation-id": answer.id }),
  usage: responsesUsage,
  greeting: PROCESSING_COMMENT,
  farewell: "data: [DONE]\n\n",
  storesByDefault: false,
});

/** Refuses options that need stored conversations. */
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
    `"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":${usage.writtenTokens},"audio_tokens":0,"video_tokens":0},` +
    `"cost_details":{"upstream_inference_cost":null,` +
    `"upstream_inference_prompt_cost":${formatUsd(usage.inputCost)},` +
    `"upstream_inference_completions_cost":${formatUsd(usage.outputCost)}},` +
    `"completion_tokens_details":{"reasoning_tokens":${usage.reasoningTokens},"image_tokens":0,"audio_tokens":0}}`
  );
}

function responsesUsage(usage: Usage): string {
  return (
    `{"input_tokens":${usage.inputTokens},"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":${usage.writtenTokens}},` +
    `"output_tokens":${usage.outputTokens},"output_tokens_details":{"reasoning_tokens":${usage.reasoningTokens}},` +
    `"total_tokens":${usage.inputTokens + usage.outputTokens},` +
    `"cost":${formatUsd(usage.cost)},"is_byok":false,` +
    `"cost_details":{"upstream_inference_cost":null,` +
    `"upstream_inference_input_cost":${formatUsd(usage.inputCost)},` +
    `"upstream_inference_output_cost":${formatUsd(usage.outputCost)}}}`
  );
}
