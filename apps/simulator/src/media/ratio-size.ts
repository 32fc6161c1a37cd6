// Pixels of sizes in the form of an aspect ratio, with or without a class.
import type { MediaSize } from "./media-order.ts";

const STEP = 16;
const MEGAPIXEL = 1_048_576;

/** @param shapes pixels of each ratio with a height up to its width; the upright ones are derived */
export function sizeOfShape(
  shapes: Readonly<Record<string, readonly [number, number]>>,
  ratio: string,
  factor = 1,
): MediaSize | undefined {
  const lying = shapes[ratio];
  const upright = shapes[ratio.split(":").reverse().join(":")];
  if (lying !== undefined) return { width: lying[0] * factor, height: lying[1] * factor };
  return upright === undefined ? undefined : { width: upright[1] * factor, height: upright[0] * factor };
}

/** About a megapixel of any shape, both edges multiples of 16. @param ratio "16:9" */
export function sizeOfRatio(ratio: string): MediaSize {
  const [across = 1, down = 1] = ratio.split(":").map(Number);
  const edge = (share: number) => Math.max(STEP, Math.round(Math.sqrt(MEGAPIXEL * share) / STEP) * STEP);
  return { width: edge(across / down), height: edge(down / across) };
}

/** @param shorter the shorter edge, as video resolutions are called by: "720p" */
export function sizeOfResolution(ratio: string, shorter: number): MediaSize {
  const [across = 1, down = 1] = ratio.split(":").map(Number);
  const longer = Math.round((shorter * Math.max(across, down)) / Math.min(across, down) / 2) * 2;
  return across < down ? { width: shorter, height: longer } : { width: longer, height: shorter };
}
