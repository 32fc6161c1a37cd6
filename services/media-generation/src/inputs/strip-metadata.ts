// Removes all data from a picture that is not the picture: EXIF, XMP, colour profiles, comments, thumbnails, further
// images, and trailing bytes. It edits the container only, so the remaining bytes are identical.
import type { PictureFormat } from "../storage/picture-format.ts";

/** First byte, and the byte after the last. */
type Range = readonly [number, number];

const PNG_KEPT = new Set(["IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "sBIT"]);
const WEBP_KEPT = new Set(["VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF"]);
/** Colour profile, EXIF and XMP, as the header of a WebP announces them. */
const WEBP_METADATA_FLAGS = 0x20 | 0x08 | 0x04;
const JFIF_LENGTH = 16;

/** @param bytes that begin like a picture of the format. @returns undefined for an incomplete or malformed picture */
export function stripMetadata(bytes: Buffer, format: PictureFormat): Buffer | undefined {
  if (format === "png") return joined(bytes, pngRanges(bytes));
  if (format === "jpeg") return joined(bytes, jpegRanges(bytes));
  return strippedWebp(bytes);
}

/** Returns the same bytes if nothing is removed. */
function joined(bytes: Buffer, ranges: readonly Range[] | undefined): Buffer | undefined {
  if (ranges === undefined) return undefined;
  const merged: [number, number][] = [];
  for (const [from, to] of ranges) {
    const last = merged.at(-1);
    if (last?.[1] === from) last[1] = to;
    else merged.push([from, to]);
  }
  const [only] = merged;
  if (merged.length === 1 && only?.[0] === 0 && only[1] === bytes.length) return bytes;
  return Buffer.concat(merged.map(([from, to]) => bytes.subarray(from, to)));
}

function pngRanges(bytes: Buffer): Range[] | undefined {
  const ranges: Range[] = [[0, 8]];
  for (let at = 8; at + 12 <= bytes.length; ) {
    const end = at + 12 + bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (end > bytes.length) return undefined;
    if (PNG_KEPT.has(type)) ranges.push([at, end]);
    if (type === "IEND") return ranges;
    at = end;
  }
  return undefined;
}

function jpegRanges(bytes: Buffer): Range[] | undefined {
  const ranges: Range[] = [[0, 2]];
  for (let at = 2; at + 1 < bytes.length; ) {
    const marker = bytes[at + 1] ?? 0;
    if (bytes[at] !== 0xff || marker === 0x00 || marker === 0xd8) return undefined;
    if (marker === 0xff) {
      // Padding before a marker.
      at += 1;
      continue;
    }
    if (marker === 0xd9) return [...ranges, [at, at + 2]];
    if (at + 4 > bytes.length) return undefined;
    const length = bytes.readUInt16BE(at + 2);
    const end = marker === 0xda ? endOfScan(bytes, at + 2 + length) : at + 2 + length;
    if (length < 2 || end > bytes.length) return undefined;
    if (keptInJpeg(bytes, marker, at, length)) ranges.push([at, end]);
    at = end;
  }
  return undefined;
}

/** Position of the next marker. Within a scan, FF is followed by 00, by more FF, or by the number of a restart. */
function endOfScan(bytes: Buffer, from: number): number {
  for (let at = from; at + 1 < bytes.length; at += 1) {
    if (bytes[at] !== 0xff) continue;
    const next = bytes[at + 1] ?? 0;
    if (next !== 0x00 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at;
  }
  return bytes.length;
}

/** Application segments and comments are metadata, except the two that define the coding of colours. */
function keptInJpeg(bytes: Buffer, marker: number, at: number, length: number): boolean {
  const isComment = marker === 0xfe;
  const isApplications = marker >= 0xe0 && marker <= 0xef;
  if (!isApplications) return !isComment;
  const name = bytes.toString("latin1", at + 4, at + 9);
  // A longer segment has a thumbnail.
  if (marker === 0xe0) return name === "JFIF\0" && length === JFIF_LENGTH;
  return marker === 0xee && name === "Adobe" && length === 14;
}

function strippedWebp(bytes: Buffer): Buffer | undefined {
  if (bytes.length < 20) return undefined;
  const end = 8 + bytes.readUInt32LE(4);
  if (end > bytes.length) return undefined;
  const ranges: Range[] = [[0, 12]];
  for (let at = 12; at < end; ) {
    if (at + 8 > end) return undefined;
    const size = bytes.readUInt32LE(at + 4);
    const next = at + 8 + size + (size % 2);
    if (next > end) return undefined;
    if (WEBP_KEPT.has(bytes.toString("latin1", at, at + 4))) ranges.push([at, next]);
    at = next;
  }
  const stripped = joined(bytes, ranges);
  if (stripped === undefined || stripped === bytes || stripped.length < 21) return stripped;
  stripped.writeUInt32LE(stripped.length - 8, 4);
  const extended = stripped.toString("latin1", 12, 16) === "VP8X";
  if (extended) stripped.writeUInt8(stripped.readUInt8(20) & ~WEBP_METADATA_FLAGS, 20);
  return stripped;
}
