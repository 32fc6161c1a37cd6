// The one price function: a price rule and what was used give an exact cost. The list, the hold and the charge
// all come from here, so they cannot differ.
import type { PicoUsd } from "@gr/money";
import type { ImagePrice, TokenPrice } from "@gr/proto/catalog";

export interface ImageMeters {
  readonly images: number;
  /** As validated: a named quality and WIDTHxHEIGHT, or "auto" where the model takes none. */
  readonly quality: string;
  readonly size: string;
}

export interface TokenMeters {
  /** All input tokens, cached and image tokens included. */
  readonly inputTokens: number;
  /** All output tokens, reasoning included. */
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly imageInputTokens?: number;
  readonly reasoningTokens?: number;
}

/** The first tier whose quality and size both match, times the number of images. */
export function priceOfImages(price: ImagePrice, meters: ImageMeters): PicoUsd | undefined {
  const tier = price.tiers.find(
    ({ quality, sizes }) =>
      (quality === "" || quality === meters.quality) && (sizes.length === 0 || sizes.includes(meters.size)),
  );
  return tier === undefined ? undefined : tier.picoUsd * count(meters.images);
}

/** Tokens of each meter times its price; a meter without a price of its own is billed as its parent. */
export function priceOfTokens(price: TokenPrice, meters: TokenMeters): PicoUsd {
  const cached = count(meters.cachedInputTokens ?? 0);
  const image = count(meters.imageInputTokens ?? 0);
  const reasoning = count(meters.reasoningTokens ?? 0);
  // A provider that counts a part larger than its whole has miscounted the whole: never bill below the parts.
  const plainInput = atLeastZero(count(meters.inputTokens) - cached - image);
  const plainOutput = atLeastZero(count(meters.outputTokens) - reasoning);
  return (
    plainInput * price.inputPicoUsd +
    cached * (price.cachedInputPicoUsd ?? price.inputPicoUsd) +
    image * (price.imageInputPicoUsd ?? price.inputPicoUsd) +
    plainOutput * price.outputPicoUsd +
    reasoning * (price.reasoningPicoUsd ?? price.outputPicoUsd) +
    price.requestPicoUsd
  );
}

/** Counts come from JSON; anything but a whole number of at least zero is a fault of the caller. */
function count(value: number): bigint {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not a count`);
  return BigInt(value);
}

function atLeastZero(value: bigint): bigint {
  return value < 0n ? 0n : value;
}
