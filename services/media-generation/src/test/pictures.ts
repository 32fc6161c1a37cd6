// Small real pictures for tests.
import sharp from "sharp";
import type { Artifact } from "../providers/provider.ts";

export function drawPicture(
  format: "png" | "jpeg" | "webp" | "gif" = "png",
  { width = 16, height = 16, red = 200 } = {},
): Promise<Buffer> {
  const picture = sharp({
    create: { width, height, channels: 4, background: { r: red, g: 40, b: 90, alpha: 1 } },
  });
  return picture.toFormat(format).toBuffer();
}

/** Returns the picture as a provider's artifact. */
export function artifactOf(bytes: Buffer): Artifact {
  return { stream: [bytes], type: "image/png" };
}
