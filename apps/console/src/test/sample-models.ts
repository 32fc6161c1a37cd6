// Models for tests of pages: one for each tab of the playground, as the public list has them.
import type { ModelRecord } from "../api/public-api.ts";

const NOTHING = {
  ...{ custom_size: null, context_length: null, max_output_tokens: null, arena_score: null, arena: null },
  ...{ release_date: null, shutdown_date: null, qualities: [], seconds: [], sizes: [] },
  default: { size: null, quality: null, seconds: null },
  limits: { input_images: null, prompt_characters: null },
} as const;

export const IMAGE: ModelRecord = {
  ...NOTHING,
  ...{ id: "acme/image", type: "image", name: "Acme Image", owned_by: "acme", providers: ["acme"] },
  pricing: { unit: "image", default_request: "0.0100" },
  capabilities: ["text-to-image"],
  supported_parameters: ["prompt", "size", "n", "output_format"],
  sizes: ["1024x1024", "1280x720"],
  default: { size: "1024x1024", quality: null, seconds: null },
};

export const EDIT: ModelRecord = {
  ...IMAGE,
  ...{ id: "acme/edit", name: "Acme Edit", capabilities: ["image-edit", "mask"] },
  supported_parameters: ["prompt", "quality", "image", "mask"],
  ...{ sizes: [], qualities: ["low", "high"], limits: { input_images: 2, prompt_characters: 4_000 } },
};

export const VIDEO: ModelRecord = {
  ...IMAGE,
  ...{ id: "acme/video", type: "video", name: "Acme Video", capabilities: ["text-to-video"] },
  ...{ supported_parameters: ["prompt", "seconds", "audio"], sizes: [], seconds: [4, 8] },
};

export const TEXT: ModelRecord = {
  ...IMAGE,
  ...{ id: "acme/text", type: "text", name: "Acme Text", capabilities: ["chat", "tools"], sizes: [] },
  pricing: { unit: "token", input: "0.000001", output: "0.000002" },
  supported_parameters: ["temperature", "max_tokens", "tools", "reasoning", "response_format", "top_p"],
};
