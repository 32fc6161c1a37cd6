// ModelArk's simulated models and their prices (docs.byteplus.com/en/docs/ModelArk/1544106, 2026-11).
// Videos are billed by their tokens: width x height x 24 frames x seconds / 1024.

import type { PicoUsd } from "../../bill/prices.ts";
import type { MediaSize } from "../../media/media-order.ts";

export interface SeedreamModel {
  /** Price of one picture with this number of pixels. */
  readonly priceOf: (pixels: number) => PicoUsd;
  readonly fewestPixels: number;
  readonly mostPixels: number;
  /** Price of each input picture after the first. */
  readonly furtherInput: PicoUsd;
}

export type BytePlusResolution = "480p" | "720p" | "1080p" | "4k";

export interface SeedanceModel {
  /** Price of a token, by resolution. */
  readonly prices: Readonly<Partial<Record<BytePlusResolution, PicoUsd>>>;
  readonly sizes: Readonly<Record<string, readonly [number, number]>>;
  readonly seconds: readonly [least: number, most: number];
  readonly hasAudio: boolean;
}

const MILL: PicoUsd = 1_000_000_000n;
const MEGA = 1_048_576;
/** Largest area at which Seedream 5.0 Pro costs half. */
const MOST_PIXELS_OF_HALF = 2_610_000;

const seedream = (price: PicoUsd, fewestPixels = 3.5 * MEGA): SeedreamModel => ({
  priceOf: () => price,
  fewestPixels,
  mostPixels: 36 * MEGA,
  furtherInput: 0n,
});

export const IMAGE_MODELS: ReadonlyMap<string, SeedreamModel> = new Map<string, SeedreamModel>([
  [
    "dola-seedream-5-0-pro-260628",
    {
      priceOf: (pixels) => (pixels <= MOST_PIXELS_OF_HALF ? 45n * MILL : 90n * MILL),
      fewestPixels: 0.8 * MEGA,
      mostPixels: 4.5 * MEGA,
      furtherInput: 3n * MILL,
    },
  ],
  ["seedream-5-0-lite-260128", seedream(35n * MILL)],
  ["seedream-4-5-251128", seedream(40n * MILL)],
  ["seedream-4-0-250828", seedream(30n * MILL, 0.8 * MEGA)],
]);

const V1 = { "480p": [864, 480], "720p": [1_248, 704], "1080p": [1_920, 1_088] } as const;
const V2 = {
  "480p": [864, 496],
  "720p": [1_280, 720],
  "1080p": [1_920, 1_080],
  "4k": [3_840, 2_160],
} as const;
/** Price of a token, from the price of a million tokens in tenths of a USD. */
const perMillion = (tenths: bigint): PicoUsd => tenths * 100_000n;
const both = (tenths: bigint) => ({ "480p": perMillion(tenths), "720p": perMillion(tenths) });
const all = (tenths: bigint) => ({ ...both(tenths), "1080p": perMillion(tenths) });

const v1 = (tenths: bigint): SeedanceModel => ({
  prices: all(tenths),
  sizes: V1,
  seconds: [2, 12],
  hasAudio: false,
});
const v2 = (prices: SeedanceModel["prices"], most = 15): SeedanceModel => ({
  prices,
  sizes: V2,
  seconds: [4, most],
  hasAudio: true,
});

export const VIDEO_MODELS: ReadonlyMap<string, SeedanceModel> = new Map<string, SeedanceModel>([
  ["dreamina-seedance-2-5-260628", v2({ ...both(107n), "1080p": perMillion(117n) }, 30)],
  ["dreamina-seedance-2-0-260128", v2({ ...both(70n), "1080p": perMillion(77n), "4k": perMillion(40n) })],
  ["dreamina-seedance-2-0-fast-260128", v2(both(56n))],
  ["dreamina-seedance-2-0-mini-260615", v2(both(35n))],
  ["seedance-1-0-pro-250528", v1(25n)],
  ["seedance-1-0-pro-fast-251015", v1(10n)],
]);

export function videoTokens({ width, height }: MediaSize, seconds: number): number {
  return Math.ceil((width * height * 24 * seconds) / 1_024);
}

/** Each 16 by 16 pixels are one token. */
export function imageTokens({ width, height }: MediaSize): number {
  return Math.floor((width * height) / 256);
}
