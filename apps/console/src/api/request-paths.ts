// Paths of the public API for the requests of the playground, the logs and the sample code.
import type { ModelType } from "./public-api.ts";

export const PATHS = {
  text: "/v1/compat/chat/completions",
  image: "/v1/compat/images/generations",
  video: "/v1/compat/videos/generations",
} as const satisfies Record<ModelType, string>;
const EDITS_PATH = "/v1/compat/images/edits";

/** Path of a request with or without files. */
export function pathOf(type: ModelType, hasFiles: boolean): string {
  return type === "image" && hasFiles ? EDITS_PATH : PATHS[type];
}
