// OpenAI's chat completions and Responses API, as bytes. There is no cost anywhere; chat tells the usage of a stream only
// on request, and Responses has no `[DONE]`.

import { Refusal } from "../refusal.ts";
import { responsesWire } from "../responses-wire.ts";
import type { TextWire } from "../text-exchange.ts";
import type { JsonObject } from "../text-request.ts";
import type { Usage } from "../usage.ts";
import { answerHeaders } from "./headers.ts";

const FINGERPRINT = "fp_sandbox";

export const openAiChat: TextWire = {
  headers: () => answerHeaders(),

  whole: (answer, usage) =>
    `{"id":"${answer.id}","object":"chat.completion","created":${answer.created},` +
    `"model":"${answer.request.model.id}","choices":[{"index":0,"message":{"role":"assistant",` +
    `"content":${JSON.stringify(answer.reply.tokens.join(""))},"refusal":null,"annotations":[]},` +
    `"logprobs":null,"finish_reason":"${answer.reply.finish}"}],` +
    `${usage === undefined ? "" : `"usage":${chatUsage(usage)},`}` +
    `"service_tier":"default","system_fingerprint":"${FINGERPRINT}"}`,

  frames: (answer) => {
    const head =
      `data: {"id":"${answer.id}","object":"chat.completion.chunk","created":${answer.created},` +
      `"model":"${answer.request.model.id}","service_tier":"default","system_fingerprint":"${FINGERPRINT}","choices":[`;
    const withUsage = answer.request.includeUsage;
    const tail = `]${withUsage ? ',"usage":null' : ""}}\n\n`;
    const choice = (delta: string, finish: string) =>
      `${head}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}${tail}`;
    return {
      opening: () => choice('{"role":"assistant","content":"","refusal":null}', "null"),
      token: (text) => choice(`{"content":${JSON.stringify(text)}}`, "null"),
      ending: () => choice("{}", `"${answer.reply.finish}"`),
      closing: (usage) =>
        `${withUsage && usage !== undefined ? `${head}],"usage":${chatUsage(usage)}}\n\n` : ""}data: [DONE]\n\n`,
    };
  },
};

function chatUsage(usage: Usage): string {
  return (
    `{"prompt_tokens":${usage.inputTokens},"completion_tokens":${usage.outputTokens},` +
    `"total_tokens":${usage.inputTokens + usage.outputTokens},` +
    `"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},` +
    `"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,` +
    `"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`
  );
}

export const openAiResponses: TextWire = responsesWire({
  headers: () => answerHeaders(),
  usage: (usage) =>
    `{"input_tokens":${usage.inputTokens},"input_tokens_details":{"cached_tokens":0},` +
    `"output_tokens":${usage.outputTokens},"output_tokens_details":{"reasoning_tokens":0},` +
    `"total_tokens":${usage.inputTokens + usage.outputTokens}}`,
  greeting: "",
  farewell: "",
  storesByDefault: true,
});

/** The simulator keeps no conversations, so no earlier response can be found. */
export function checkPreviousResponse(body: JsonObject): void {
  const id = body["previous_response_id"];
  if (id == null) return;
  throw new Refusal(
    "invalid",
    `Previous response with id '${String(id)}' not found.`,
    "previous_response_id",
    "previous_response_not_found",
  );
}
