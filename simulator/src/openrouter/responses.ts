// OpenRouter's Responses API: stateless, with the cost in the usage, and `[DONE]` after the last event.
import { Refusal } from "../refusal.ts";
import { responsesWire } from "../responses-wire.ts";
import type { TextWire } from "../text-exchange.ts";
import type { JsonObject } from "../text-request.ts";
import { PROCESSING_COMMENT } from "./chat.ts";
import { responsesUsage } from "./usage-json.ts";

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
