// OpenAI's Responses API: no cost, no `[DONE]`.
import { Refusal } from "../refusal.ts";
import { responsesWire } from "../responses-wire.ts";
import type { TextWire } from "../text-exchange.ts";
import type { JsonObject } from "../text-request.ts";
import { answerHeaders } from "./headers.ts";

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
