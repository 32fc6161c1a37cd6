// Which pictures a request to a model may bring along, and which it must. The offer goes by it, and so do the services that
// serve the models.
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
/** Abilities that take several, where no limit is known. */
const TAKES_SEVERAL = ["multi-reference", "reference-to-video"];
/** Abilities that need nothing but words. */
const FROM_WORDS: ReadonlySet<string> = new Set(["text-to-image", "text-to-video"]);
const MOST_IMAGES = 16;

/** Whether a request must bring an image along. */
export function needsImage({ kind, capabilities }: Pick<Model, "kind" | "capabilities">): boolean {
  return kind !== ModelKind.TEXT && !capabilities.some((capability) => FROM_WORDS.has(capability));
}

/** How many images and masks a request may bring along at most. */
export function acceptedInputs({ capabilities, limits }: Pick<Model, "capabilities" | "limits">): {
  readonly image: number;
  readonly mask: number;
} {
  const has = (capability: string) => capabilities.includes(capability);
  if (!capabilities.some((capability) => TAKES_IMAGES.has(capability))) return { image: 0, mask: 0 };
  const unsaid = TAKES_SEVERAL.some(has) ? MOST_IMAGES : has("first-last-frame") ? 2 : 1;
  const image = Math.min(limits?.inputImages || unsaid, MOST_IMAGES);
  return { image, mask: has("mask") ? 1 : 0 };
}
