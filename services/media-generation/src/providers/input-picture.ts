// Pictures that come with a request, as providers take them within JSON.
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
 * A mask for providers that repaint what is white in it. Callers follow OpenAI, where the transparent part is repainted;
 * a mask without transparency is taken to be black and white already.
 */
export async function whiteMask(mask: InputPicture): Promise<InputPicture> {
  // Loading sharp takes longer than starting a service, and masks are rare.
  const { default: sharp } = await import("sharp");
  const { isOpaque } = await sharp(mask.bytes).stats();
  if (isOpaque) return mask;
  const bytes = await sharp(mask.bytes).ensureAlpha().extractChannel("alpha").negate().png().toBuffer();
  return { ...mask, bytes, type: "image/png" };
}
