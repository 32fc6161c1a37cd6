// Input rules state how many images a request to a model may or must contain.
// The model list and the services that serve the models use them.
import { type Model, ModelKind } from "@gr/proto/catalog";

/** Abilities that need images in the request. */
export const TAKES_IMAGES: ReadonlySet<string> = new Set([
  "image-edit",
  "mask",
  "multi-reference",
  "image-variation",
  "upscale",
  "vectorize",
  "reframe",
  "background-removal",
  "background-replace",
  "image-to-video",
  "first-last-frame",
  "reference-to-video",
]);
/** Abilities that accept several images, if the model has no limit. */
const TAKES_SEVERAL = ["multi-reference", "reference-to-video"];
/** Abilities that need only text. */
const FROM_WORDS: ReadonlySet<string> = new Set(["text-to-image", "text-to-video"]);
const MOST_IMAGES = 16;

/** Returns true if a request must contain an image. */
export function needsImage({ kind, capabilities }: Pick<Model, "kind" | "capabilities">): boolean {
  return kind !== ModelKind.TEXT && !capabilities.some((capability) => FROM_WORDS.has(capability));
}

/** Returns the most images and masks in one request. */
export function acceptedInputs({ capabilities, limits }: Pick<Model, "capabilities" | "limits">): {
  readonly image: number;
  readonly mask: number;
} {
  const has = (capability: string) => capabilities.includes(capability);
  if (!capabilities.some((capability) => TAKES_IMAGES.has(capability))) return { image: 0, mask: 0 };
  const usualImages = TAKES_SEVERAL.some(has) ? MOST_IMAGES : has("first-last-frame") ? 2 : 1;
  const image = Math.min(limits?.inputImages || usualImages, MOST_IMAGES);
  return { image, mask: has("mask") ? 1 : 0 };
}
