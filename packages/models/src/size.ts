// Sizes as text, WIDTHxHEIGHT, and which of them a model accepts.
import type { CustomSize, Model, Route } from "@gr/proto/catalog";

export interface Size {
  readonly width: number;
  readonly height: number;
}

const SIZE = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/;

/** Returns undefined if the text is no WIDTHxHEIGHT. */
export function parseSize(text: string): Size | undefined {
  const match = SIZE.exec(text);
  return match === null ? undefined : { width: Number(match[1]), height: Number(match[2]) };
}

/** Returns true if the model lists the size, or if it is within the bounds for free sizes. */
export function acceptsSize(model: Pick<Model, "sizes" | "customSize">, text: string): boolean {
  if (model.sizes.includes(text)) return true;
  const size = parseSize(text);
  return size !== undefined && model.customSize !== undefined && isWithin(model.customSize, size);
}

/** Returns true if the provider of a route can create the size. */
export function makesSize({ sizeLimits }: Pick<Route, "sizeLimits">, text: string): boolean {
  const size = parseSize(text);
  return sizeLimits === undefined || size === undefined || isWithin(sizeLimits, size);
}

function isWithin(bounds: CustomSize, size: Size): boolean {
  const { edgeMultiple, minEdge, maxEdge, minPixels, maxPixels, maxRatio } = bounds;
  const shorter = Math.min(size.width, size.height);
  const longer = Math.max(size.width, size.height);
  const pixels = BigInt(shorter) * BigInt(longer);
  return (
    (edgeMultiple === 0 || (shorter % edgeMultiple === 0 && longer % edgeMultiple === 0)) &&
    shorter >= minEdge &&
    (maxEdge === 0 || longer <= maxEdge) &&
    pixels >= minPixels &&
    (maxPixels === 0n || pixels <= maxPixels) &&
    (maxRatio === 0 || longer <= shorter * maxRatio)
  );
}
