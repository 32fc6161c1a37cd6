// PictureHeader reads a picture's format, width and height from its first bytes. Nothing is decoded, and the work is
// limited for any bytes. Prices and refusals before the hold use this size, and the decoder must later confirm it.
import { MAX_PIXELS, type PictureFormat, pictureFormatOf } from "../storage/picture-format.ts";

/** Stored size, before any rotation by the metadata. */
export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

export interface PictureHeader extends PictureSize {
  readonly format: PictureFormat;
}

/** The message continues "image[2]: ". */
export class UnusablePictureError extends Error {
  override readonly name = "UnusablePictureError";
}

export const NOT_A_PICTURE = "it is not a PNG, JPEG or WebP picture";
/** Number of bytes that identify the format. */
const FORMAT_BYTES = 12;
/** Segments before the size of a JPEG, at most. Ordinary files have some twenty. */
const MOST_PARTS = 10_000;
/** Assumed size for an unreadable header: a full-HD picture. */
const UNKNOWN_PIXELS = 1920 * 1080;

/** @throws UnusablePictureError also for a picture with too many pixels */
export function pictureHeaderOf(bytes: Buffer): PictureHeader {
  const format = pictureFormatOf(bytes);
  if (format === undefined) throw new UnusablePictureError(NOT_A_PICTURE);
  const size = sizeIn(bytes, format);
  if (size === undefined) throw new UnusablePictureError("the picture does not decode");
  const { width, height } = size;
  if (width * height > MAX_PIXELS) {
    const most = `at most ${MAX_PIXELS / 1_000_000} million pixels are accepted`;
    throw new UnusablePictureError(`the picture has ${width}x${height} pixels; ${most}`);
  }
  return { format, width, height };
}

/**
 * Reads pieces until the header is complete, and ignores the remaining ones. Each retry waits until the bytes have
 * doubled, so that the work grows linearly with their number.
 * @throws UnusablePictureError
 */
export async function readPictureHeader(pieces: AsyncIterable<Uint8Array>): Promise<PictureHeader> {
  const read: Uint8Array[] = [];
  let size = 0;
  let next = FORMAT_BYTES;
  for await (const piece of pieces) {
    read.push(piece);
    size += piece.byteLength;
    if (size < next) continue;
    next = size * 2;
    const bytes = Buffer.concat(read);
    const format = pictureFormatOf(bytes);
    if (format === undefined || sizeIn(bytes, format) !== undefined) return pictureHeaderOf(bytes);
  }
  return pictureHeaderOf(Buffer.concat(read));
}

/** Returns the cost of decoding the picture, in pixels. Never throws. */
export function pixelsToDecode(bytes: Buffer): number {
  const format = pictureFormatOf(bytes);
  const size = format && sizeIn(bytes, format);
  return size === undefined ? UNKNOWN_PIXELS : size.width * size.height;
}

/** @returns undefined for a malformed or incomplete header */
function sizeIn(bytes: Buffer, format: PictureFormat): PictureSize | undefined {
  const size = format === "png" ? inPng(bytes) : format === "jpeg" ? inJpeg(bytes) : inWebp(bytes);
  return size === undefined || size.width === 0 || size.height === 0 ? undefined : size;
}

function inPng(bytes: Buffer): PictureSize | undefined {
  if (bytes.length < 24 || bytes.toString("latin1", 12, 16) !== "IHDR") return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function inJpeg(bytes: Buffer): PictureSize | undefined {
  let at = 2;
  for (let parts = 0; parts < MOST_PARTS; parts += 1) {
    at = bytes.indexOf(0xff, at);
    if (at < 0 || at + 9 > bytes.length) return undefined;
    const marker = bytes[at + 1] ?? 0;
    // Padding, a byte that only looks like a marker, or a marker without a length.
    if (marker === 0xff) at += 1;
    else if (marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2;
    else if (marker === 0xd9 || marker === 0xda) return undefined;
    else if (isFrame(marker))
      return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

/** Huffman tables, a reserved marker and arithmetic conditions have codes among those of frames. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function inWebp(bytes: Buffer): PictureSize | undefined {
  if (bytes.length < 30) return undefined;
  switch (bytes.toString("latin1", 12, 16)) {
    case "VP8X":
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case "VP8L": {
      if (bytes[20] !== 0x2f) return undefined;
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8 ": {
      const start = bytes.readUIntBE(23, 3);
      if (start !== 0x9d012a) return undefined;
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    }
    default:
      return undefined;
  }
}
