// Encodes the pictures of a request for providers that accept them within JSON.
import type { InputPicture } from "./provider.ts";

export const base64 = ({ bytes }: InputPicture): string => bytes.toString("base64");

/** data:image/png;base64,… */
export function dataUri(picture: InputPicture): string {
  return `data:${picture.type};base64,${base64(picture)}`;
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
export async function whiteMask(mask: InputPicture): Promise<InputPicture> {
  // sharp loads slower than a service starts, and masks are rare.
  const { default: sharp } = await import("sharp");
  const { isOpaque } = await sharp(mask.bytes).stats();
  if (isOpaque) return mask;
  const bytes = await sharp(mask.bytes).ensureAlpha().extractChannel("alpha").negate().png().toBuffer();
  return { ...mask, bytes, type: "image/png" };
}
