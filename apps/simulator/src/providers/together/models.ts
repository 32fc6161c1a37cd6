// Together's simulated models and their prices (together.ai/pricing, 2026-11).
import type { PicoUsd } from "../../bill/prices.ts";

export interface TogetherImageModel {
  /** Price of one picture with this number of pixels. */
  readonly priceOf: (pixels: number) => PicoUsd;
  readonly mostInputs: number;
}

const MILL: PicoUsd = 1_000_000_000n;
const flat = (price: PicoUsd, mostInputs: number): TogetherImageModel => ({
  priceOf: () => price,
  mostInputs,
});
/** Largest area of the classes 1K and 2K; larger pictures are 4K. */
const MOST_PIXELS_OF_2K = 8_388_608;

export const IMAGE_MODELS: ReadonlyMap<string, TogetherImageModel> = new Map<string, TogetherImageModel>([
  ["black-forest-labs/FLUX.2-pro", flat(30n * MILL, 8)],
  ["black-forest-labs/FLUX.2-flex", flat(30n * MILL, 8)],
  ["black-forest-labs/FLUX.2-dev", flat((154n * MILL) / 10n, 8)],
  [
    "google/gemini-3-pro-image",
    { priceOf: (pixels) => (pixels <= MOST_PIXELS_OF_2K ? 134n * MILL : 240n * MILL), mostInputs: 14 },
  ],
]);

export interface TogetherVideoModel {
  /** Price of a clip, by its seconds. */
  readonly prices: Readonly<Record<number, PicoUsd>>;
}

export const VIDEO_MODELS: ReadonlyMap<string, TogetherVideoModel> = new Map<string, TogetherVideoModel>([
  ["pixverse/pixverse-v5", { prices: { 5: 300n * MILL } }],
]);
