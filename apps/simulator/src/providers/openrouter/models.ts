// OpenRouter's list of models: prices are decimal strings in USD per token.

import { formatUsd } from "../../bill/prices.ts";
import {
  CONTEXT_TOKENS,
  MODELS_CREATED,
  MOST_OUTPUT_TOKENS,
  TEXT_MODELS,
  type TextModel,
} from "../../text/models.ts";

const SUPPORTED_PARAMETERS = [
  "include_reasoning",
  "logprobs",
  "max_tokens",
  "reasoning",
  "response_format",
  "structured_outputs",
  "temperature",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
];

/** The body of `GET /models`. */
export function modelList(): string {
  return JSON.stringify({ data: [...TEXT_MODELS.values()].map(modelRow) });
}

function modelRow(model: TextModel) {
  const inputs = model.vision ? ["text", "image"] : ["text"];
  return {
    id: model.id,
    canonical_slug: model.id,
    hugging_face_id: null,
    name: model.name,
    created: MODELS_CREATED,
    description: model.description,
    context_length: CONTEXT_TOKENS,
    architecture: {
      modality: `${inputs.join("+")}->text`,
      input_modalities: inputs,
      output_modalities: ["text"],
      tokenizer: "Other",
      instruct_type: null,
    },
    pricing: {
      prompt: formatUsd(model.price.input),
      completion: formatUsd(model.price.output),
      request: "0",
      image: "0",
      web_search: "0",
      internal_reasoning: "0",
    },
    top_provider: {
      context_length: CONTEXT_TOKENS,
      max_completion_tokens: MOST_OUTPUT_TOKENS,
      is_moderated: false,
    },
    per_request_limits: null,
    supported_parameters: SUPPORTED_PARAMETERS,
    default_parameters: {},
    expiration_date: null,
  };
}
