// xAI's simulated models and their prices (docs.x.ai/developers/models, 2026-11).
import type { PicoUsd } from "../../bill/prices.ts";

export type ImageResolution = "1k" | "2k";
export type XaiImageQuality = "low" | "medium";
export type XaiResolution = "480p" | "720p" | "1080p";

export interface XaiImageModel {
  /** Price of one picture; a model without qualities has one price for both. */
  readonly prices: Readonly<Record<XaiImageQuality, Readonly<Record<ImageResolution, PicoUsd>>>>;
  readonly hasQualities: boolean;
  /** Price of each input picture, once a request. */
  readonly input: PicoUsd;
}

export interface XaiVideoModel {
  /** Price of a second. */
  readonly prices: Readonly<Partial<Record<XaiResolution, PicoUsd>>>;
  /** Price of each input picture. */
  readonly input: PicoUsd;
  readonly mostInputs: number;
  readonly needsInput: boolean;
}

const CENT: PicoUsd = 10_000_000_000n;
const PLAIN = { "1k": 2n * CENT, "2k": 2n * CENT };

export const IMAGE_MODELS: ReadonlyMap<string, XaiImageModel> = new Map<string, XaiImageModel>([
  [
    "grok-imagine-image-2.0",
    {
      prices: { low: { "1k": 4n * CENT, "2k": 6n * CENT }, medium: { "1k": 6n * CENT, "2k": 8n * CENT } },
      hasQualities: true,
      input: CENT,
    },
  ],
  ["grok-imagine-image", { prices: { low: PLAIN, medium: PLAIN }, hasQualities: false, input: CENT / 5n }],
]);

export const VIDEO_MODELS: ReadonlyMap<string, XaiVideoModel> = new Map<string, XaiVideoModel>([
  [
    "grok-imagine-video",
    {
      prices: { "480p": 5n * CENT, "720p": 7n * CENT },
      input: CENT / 5n,
      mostInputs: 7,
      needsInput: false,
    },
  ],
  [
    "grok-imagine-video-1.5",
    {
      prices: { "480p": 8n * CENT, "720p": 14n * CENT, "1080p": 25n * CENT },
      input: CENT,
      mostInputs: 1,
      needsInput: true,
    },
  ],
]);

type Shapes = Readonly<Record<string, readonly [number, number]>>;

/** At 1k; 2k is twice as wide. Ratios outside of this list are not simulated. */
export const IMAGE_SHAPES: Shapes = {
  "1:1": [1_024, 1_024],
  "3:2": [1_248, 832],
  "4:3": [1_152, 864],
  "16:9": [1_280, 720],
};
export const VIDEO_SHAPES: Readonly<Record<XaiResolution, Shapes>> = {
  "480p": { "1:1": [480, 480], "16:9": [854, 480] },
  "720p": { "1:1": [720, 720], "16:9": [1_280, 720] },
  "1080p": { "1:1": [1_080, 1_080], "16:9": [1_920, 1_080] },
};
