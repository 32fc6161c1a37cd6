// ImageFile converts a provider's bytes to a picture of ours. The declared type does not count: the first bytes must
// be of a supported format, the whole must decode, and the result is encoded again, so that no foreign data remains.
import type { FairGate } from "@gr/runtime";
import { pixelsToDecode } from "../inputs/picture-header.ts";
import type { OutputFormat } from "../request/image-request.ts";
import { MAX_PIXELS, pictureFormatOf } from "./picture-format.ts";

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

/** @param owner account for the share of the decoder. @throws InvalidImageError */
export type ConvertImage = (bytes: Buffer, format: OutputFormat, owner: string) => Promise<ImageFile>;

/** @param gate limits the decoded pictures in memory; the work itself is off the event loop. */
export function createImageConverter(gate: FairGate): ConvertImage {
  return (bytes, format, owner) =>
    gate.run({ owner, cost: pixelsToDecode(bytes) }, () => convert(bytes, format));
}

/** @throws InvalidImageError */
async function convert(bytes: Buffer, format: OutputFormat): Promise<ImageFile> {
  if (pictureFormatOf(bytes) === undefined)
    throw new InvalidImageError("the bytes are not a PNG, JPEG or WebP picture");
  // sharp loads slower than a service starts, and most services never draw.
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
