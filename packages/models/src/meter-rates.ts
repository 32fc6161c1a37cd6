// MeterRates are the prices of one token of each meter, in 1e-12 USD. A meter without a price of its own is billed as its parent.
import type { PicoUsd } from "@gr/money";
import type { TokenPrice } from "@gr/proto/catalog";

export type MeterRates = ReturnType<typeof meterRatesOf>;

export function meterRatesOf(price: TokenPrice) {
  const { inputPicoUsd: input, outputPicoUsd: output } = price;
  const cacheWrite: PicoUsd = price.cacheWritePicoUsd ?? input;
  return {
    input,
    cachedInput: price.cachedInputPicoUsd ?? input,
    cacheWrite,
    longCacheWrite: price.longCacheWritePicoUsd ?? cacheWrite,
    imageInput: price.imageInputPicoUsd ?? input,
    audioInput: price.audioInputPicoUsd ?? input,
    output,
    reasoning: price.reasoningPicoUsd ?? output,
    imageOutput: price.imageOutputPicoUsd ?? output,
    audioOutput: price.audioOutputPicoUsd ?? output,
  } as const;
}
