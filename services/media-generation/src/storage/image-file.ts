// Turns a provider's bytes into a picture of ours. What they claim to be does not count: the first bytes must be a
// known format's, the whole must decode, and the result is encoded anew, so that nothing foreign survives in it.

import type { OutputFormat } from "../request/image-request.ts";
import type { Gate } from "./gate.ts";

/** 50 megapixels: three times the largest picture that any provider makes, 200 MB decoded. */
const MAX_PIXELS = 50_000_000;
const MAX_SECONDS = 30;
const QUALITY = 90;

export interface ImageFile {
  readonly bytes: Buffer;
  readonly format: OutputFormat;
  readonly width: number;
  readonly height: number;
}

export class InvalidImageError extends Error {
  override readonly name = "InvalidImageError";
}

export type ConvertImage = (bytes: Buffer, format: OutputFormat) => Promise<ImageFile>;

/** @param gate bounds how many pictures are in memory decoded; the work itself is off the event loop. */
export function createImageConverter(gate: Gate): ConvertImage {
  return (bytes, format) => gate(() => convert(bytes, format));
}

/** @throws InvalidImageError */
async function convert(bytes: Buffer, format: OutputFormat): Promise<ImageFile> {
  if (!isPicture(bytes)) throw new InvalidImageError("the bytes are no PNG, JPEG or WebP picture");
  // Loading sharp takes longer than starting a service, and most services never draw.
  const { default: sharp } = await import("sharp");
  try {
    const picture = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: "error", pages: 1 })
      .timeout({ seconds: MAX_SECONDS })
      .autoOrient();
    const encoded =
      format === "png"
        ? picture.png()
        : format === "webp"
          ? picture.webp({ quality: QUALITY })
          : picture.flatten({ background: "#fff" }).jpeg({ quality: QUALITY });
    const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
    return { bytes: data, format, width: info.width, height: info.height };
  } catch (error) {
    throw new InvalidImageError(`the picture does not decode: ${(error as Error).message}`, { cause: error });
  }
}

function isPicture(bytes: Buffer): boolean {
  const png = bytes.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
  const jpeg = bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]));
  const webp =
    bytes.subarray(0, 4).toString("latin1") === "RIFF" && bytes.subarray(8, 12).toString("latin1") === "WEBP";
  return png || jpeg || webp;
}
