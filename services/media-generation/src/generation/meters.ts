// Meters are the quantities that decide a generation's price, for the customer's price
// before it and for our cost after it.
import type { ImageMeters, VideoMeters } from "@gr/models";
import type { JobKind } from "../providers/provider.ts";
import type { Quality } from "../request/media-fields.ts";

/** Parameters with every "auto" resolved. Absent = the model has no such parameter or no choice of its value. */
export interface Shape {
  readonly size?: string | undefined;
  readonly quality?: Quality | undefined;
  readonly seconds?: number | undefined;
  readonly audio?: boolean | undefined;
  /** Partial images of a stream; absent without any. */
  readonly partial_images?: number | undefined;
  /** Pixels of each input image, in their order; absent without any. */
  readonly input_pixels?: readonly number[] | undefined;
}

/** @param count of images; a request is for one video */
export function metersOf(
  kind: JobKind,
  count: number,
  {
    size = "auto",
    quality,
    seconds = 0,
    audio = false,
    partial_images: partialImages = 0,
    input_pixels: inputPixels = [],
  }: Shape,
): ImageMeters | VideoMeters {
  const inputs = inputPixels.length === 0 ? {} : { inputImages: inputPixels.length, inputPixels };
  const asked = { size, quality: quality ?? "auto", ...inputs };
  return kind === "video" ? { ...asked, seconds, audio } : { ...asked, images: count, partialImages };
}
