// Encodes the pictures of a request for providers that accept them within JSON.
import { FairGate } from "@gr/runtime";
import { Base64Text } from "../storage/base64-text.ts";
import type { InputPicture } from "./provider.ts";

/** The money is held, so no mask is refused for its turn. */
const masks = new FairGate({
  places: 1,
  perOwner: 1,
  waitingPerOwner: Number.POSITIVE_INFINITY,
  waiting: Number.POSITIVE_INFINITY,
  name: "masks",
});

export const base64 = ({ bytes }: InputPicture): Base64Text => new Base64Text(bytes);

/** data:image/png;base64,… */
export function dataUri({ bytes, type }: InputPicture): Base64Text {
  return new Base64Text(bytes, `data:${type};base64,`);
}

export interface SortedPictures {
  readonly images: readonly InputPicture[];
  readonly mask: InputPicture | undefined;
}

export function sortPictures(inputs: readonly InputPicture[]): SortedPictures {
  return {
    images: inputs.filter(({ role }) => role === "image"),
    mask: inputs.find(({ role }) => role === "mask"),
  };
}

/**
 * Converts a mask for providers that repaint its white part. Clients follow OpenAI, where the transparent part is
 * repainted. A mask without transparency is treated as black and white already.
 */
export function whiteMask(mask: InputPicture): Promise<InputPicture> {
  return masks.run({ owner: mask.owner ?? "" }, () => whitened(mask));
}

async function whitened(mask: InputPicture): Promise<InputPicture> {
  // The import of sharp needs more time than the start of a service, and masks are rare.
  const { default: sharp } = await import("sharp");
  const { isOpaque } = await sharp(mask.bytes).stats();
  if (isOpaque) return mask;
  const bytes = await sharp(mask.bytes).ensureAlpha().extractChannel("alpha").negate().png().toBuffer();
  return { ...mask, bytes, type: "image/png" };
}
