// PictureFormat detects the format of a picture by its first bytes only. Its declared type does not count.

export type PictureFormat = "png" | "jpeg" | "webp";

/** 50 megapixels: three times the largest picture of any provider, 200 MB decoded. */
export const MAX_PIXELS = 50_000_000;

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG = Buffer.from([0xff, 0xd8, 0xff]);

/** Undefined for all unsupported data: GIF, AVIF, TIFF, SVG and bytes that are no picture. */
export function pictureFormatOf(bytes: Buffer): PictureFormat | undefined {
  if (bytes.subarray(0, PNG.length).equals(PNG)) return "png";
  if (bytes.subarray(0, JPEG.length).equals(JPEG)) return "jpeg";
  const [riff, webp] = [bytes.toString("latin1", 0, 4), bytes.toString("latin1", 8, 12)];
  return riff === "RIFF" && webp === "WEBP" ? "webp" : undefined;
}
