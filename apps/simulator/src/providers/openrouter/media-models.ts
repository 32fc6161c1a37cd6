// The image and video models behind OpenRouter's media API, with their prices there.

import type { PicoUsd } from "../../bill/prices.ts";
import type { MediaFault, MediaSize } from "../../media/media-order.ts";
import { type GeminiImageModel, IMAGE_MODELS } from "../gemini/models.ts";

export interface RoutedVideoModel {
  readonly pricePerSecond: PicoUsd;
  /** Frames and references of a request: required, allowed or forbidden. */
  readonly images: "none" | "needed";
  readonly fault?: MediaFault;
}

export const MOST_SECONDS = 60;
export const DEFAULT_SECONDS = 4;
export const DEFAULT_VIDEO_SIZE: MediaSize = { width: 1280, height: 720 };

const FROM_WORDS: RoutedVideoModel = { pricePerSecond: 50_000_000_000n, images: "none" };

/** Models with their vendor's own prices. */
export const ROUTED_IMAGE_MODELS: ReadonlyMap<string, GeminiImageModel> = new Map(
  [...IMAGE_MODELS].map(([id, model]) => [`google/${id}`, model]),
);

export const ROUTED_VIDEO_MODELS: ReadonlyMap<string, RoutedVideoModel> = new Map<string, RoutedVideoModel>([
  ["sandbox/video", FROM_WORDS],
  ["sandbox/video-from-image", { pricePerSecond: 60_000_000_000n, images: "needed" }],
  ["sandbox/video-error", { ...FROM_WORDS, fault: "error" }],
  ["sandbox/video-blocked", { ...FROM_WORDS, fault: "blocked" }],
  ["sandbox/video-hang", { ...FROM_WORDS, fault: "hang" }],
]);
