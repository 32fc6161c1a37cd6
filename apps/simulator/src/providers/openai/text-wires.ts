// OpenAI's chat completions and Responses API, as bytes. No answer contains a cost. A chat stream contains its usage
// only on request, and Responses has no `[DONE]`.

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
import { answerHeaders } from "./headers.ts";

const FINGERPRINT = "fp_sandbox";

export const openAiChat: TextWire = {
  headers: () => answerHeaders(),

  whole: (answer, usage) => {
    const { logprobs } = answer.request.options;
    const choices = answer.reply.choices.map(
      (choice, index) =>
        `{"index":${index},"message":{"role":"assistant","content":${textOf(choice, "text")}${toolCallsOf(choice)},` +
        `"refusal":null,"annotations":[]},"logprobs":${choiceLogprobs(choice, logprobs)},` +
        `"finish_reason":"${choice.finish}"}`,
    );
    return (
      `{"id":"${answer.id}","object":"chat.completion","created":${answer.created},` +
      `"model":"${answer.request.model.id}","choices":[${choices.join(",")}],` +
      `${usage === undefined ? "" : `"usage":${chatUsage(usage)},`}` +
      `"service_tier":"${answer.request.terms.tier}","system_fingerprint":"${FINGERPRINT}"}`
    );
  },

  frames: (answer) => {
    const head =
      `data: {"id":"${answer.id}","object":"chat.completion.chunk","created":${answer.created},` +
      `"model":"${answer.request.model.id}","service_tier":"${answer.request.terms.tier}","system_fingerprint":"${FINGERPRINT}","choices":[`;
    const withUsage = answer.request.includeUsage;
    const tail = `]${withUsage ? ',"usage":null' : ""}}\n\n`;
    const { choices } = answer.reply;
    const { logprobs } = answer.request.options;
    const chunk = (index: number, delta: string, likely: string, finish: string) =>
      `${head}{"index":${index},"delta":${delta},"logprobs":${likely},"finish_reason":${finish}}${tail}`;
    return {
      opening: () =>
        choices
          .map((choice, index) => {
            const delta = `{"role":"assistant","content":${noContentOf(choice)},"refusal":null}`;
            return chunk(index, delta, "null", "null");
          })
          .join(""),
      step: (step) => {
        const { part, token, choice } = step;
        // Thoughts are billed, and not shown.
        if (part.kind === "reasoning") return "";
        if (part.kind === "text") {
          return chunk(choice, `{"content":${JSON.stringify(token)}}`, stepLogprobs(step, logprobs), "null");
        }
        return toolCallDeltas(step)
          .map((delta) => chunk(choice, `{${delta}}`, "null", "null"))
          .join("");
      },
      ending: () => choices.map(({ finish }, index) => chunk(index, "{}", "null", `"${finish}"`)).join(""),
      closing: (usage) =>
        `${withUsage && usage !== undefined ? `${head}],"usage":${chatUsage(usage)}}\n\n` : ""}data: [DONE]\n\n`,
    };
  },
};

function chatUsage(usage: Usage): string {
  return (
    `{"prompt_tokens":${usage.inputTokens},"completion_tokens":${usage.outputTokens},` +
    `"total_tokens":${usage.inputTokens + usage.outputTokens},` +
    `"prompt_tokens_details":{"cached_tokens":0,${writesOf(usage)}"audio_tokens":0},` +
    `"completion_tokens_details":{"reasoning_tokens":${usage.reasoningTokens},"audio_tokens":0,` +
    `"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`
  );
}

/** Models without a price of cache writes do not report them. */
function writesOf({ writtenTokens, hasLongWrites }: Usage): string {
  if (writtenTokens === 0) return "";
  const long = hasLongWrites ? writtenTokens : 0;
  const details = `{"ttl_30m_tokens":${writtenTokens - long},"ttl_12h_tokens":${long}}`;
  return `"cache_write_tokens":${writtenTokens},"cache_write_tokens_details":${details},`;
}

export const openAiResponses: TextWire = responsesWire({
  headers: () => answerHeaders(),
  usage: (usage) =>
    `{"input_tokens":${usage.inputTokens},"input_tokens_details":{${writesOf(usage)}"cached_tokens":0},` +
    `"output_tokens":${usage.outputTokens},"output_tokens_details":{"reasoning_tokens":${usage.reasoningTokens}},` +
    `"total_tokens":${usage.inputTokens + usage.outputTokens}}`,
  greeting: "",
  farewell: "",
  storesByDefault: true,
});

/** The simulator stores no conversations, so no earlier response can be found. */
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
