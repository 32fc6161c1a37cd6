// Removes all data from a picture that is not the picture: EXIF, XMP, colour profiles, comments, thumbnails, further
// images, and trailing bytes. It edits the container only, so the remaining bytes are identical. A picture of 25 MB needs
// about 50 ms, so the work pauses after each slice.
import { type FairWork, loopTurns } from "@gr/runtime";
import type { PictureFormat } from "../storage/picture-format.ts";

/** First byte, and the byte after the last. */
type Range = readonly [number, number];
/** Pauses about every millisecond. */
type Slices<Result> = Generator<undefined, Result>;

/** Bytes that are looked at or copied between two pauses. */
const SLICE = 512 * 1024;
/** Parts of a picture that are looked at between two pauses. */
const PARTS = 2_000;
/** Parts of one picture, at most. Encoders write some thousands for 25 MB. */
const MOST_PARTS = 100_000;

const PNG_KEPT = new Set(["IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "sBIT"]);
const WEBP_KEPT = new Set(["VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF"]);
/** Colour profile, EXIF and XMP, as the header of a WebP announces them. */
const WEBP_METADATA_FLAGS = 0x20 | 0x08 | 0x04;
const JFIF_LENGTH = 16;

/**
 * Returns the picture without its metadata.
 * @param bytes with the signature of the format. @param work the owner shares the event loop with other owners
 * @returns undefined if the picture is truncated or malformed. @throws the signal's reason
 */
export async function stripMetadata(
  bytes: Buffer,
  format: PictureFormat,
  work: FairWork,
): Promise<Buffer | undefined> {
  const slices = stripped(bytes, format);
  for (;;) {
    const slice =
      bytes.length <= SLICE
        ? slices.next()
        : await loopTurns.step({ ...work, cost: SLICE }, () => slices.next());
    if (slice.done === true) return slice.value;
  }
}

function* stripped(bytes: Buffer, format: PictureFormat): Slices<Buffer | undefined> {
  if (format === "png") return yield* joined(bytes, yield* pngRanges(bytes));
  if (format === "jpeg") return yield* joined(bytes, yield* jpegRanges(bytes));
  return yield* strippedWebp(bytes);
}

/** Returns the same bytes if all of them remain. */
function* joined(bytes: Buffer, ranges: readonly Range[] | undefined): Slices<Buffer | undefined> {
  if (ranges === undefined) return undefined;
  const merged: [number, number][] = [];
  for (const [from, to] of ranges) {
    const last = merged.at(-1);
    if (last?.[1] === from) last[1] = to;
    else merged.push([from, to]);
  }
  const [only] = merged;
  if (merged.length === 1 && only?.[0] === 0 && only[1] === bytes.length) return bytes;
  const kept = Buffer.allocUnsafe(merged.reduce((sum, [from, to]) => sum + to - from, 0));
  let length = 0;
  let pausedAt = 0;
  for (const [from, to] of merged) {
    for (let at = from; at < to; at += SLICE) {
      length += bytes.copy(kept, length, at, Math.min(to, at + SLICE));
      if (length - pausedAt < SLICE) continue;
      pausedAt = length;
      yield;
    }
  }
  return kept;
}

function* pngRanges(bytes: Buffer): Slices<Range[] | undefined> {
  const ranges: Range[] = [[0, 8]];
  for (let [at, parts] = [8, 1]; at + 12 <= bytes.length; parts += 1) {
    if (parts > MOST_PARTS) return undefined;
    if (parts % PARTS === 0) yield;
    const end = at + 12 + bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (end > bytes.length) return undefined;
    if (PNG_KEPT.has(type)) ranges.push([at, end]);
    if (type === "IEND") return ranges;
    at = end;
  }
  return undefined;
}

function* jpegRanges(bytes: Buffer): Slices<Range[] | undefined> {
  const ranges: Range[] = [[0, 2]];
  for (let [at, parts] = [2, 1]; at + 1 < bytes.length; parts += 1) {
    if (parts > MOST_PARTS) return undefined;
    if (parts % PARTS === 0) yield;
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
    const end = marker === 0xda ? yield* endOfScan(bytes, at + 2 + length) : at + 2 + length;
    if (length < 2 || end > bytes.length) return undefined;
    if (keptInJpeg(bytes, marker, at, length)) ranges.push([at, end]);
    at = end;
  }
  return undefined;
}

/** Where the next marker begins: within a scan, FF is followed by 00, by more FF, or by the number of a restart. */
function* endOfScan(bytes: Buffer, from: number): Slices<number> {
  for (let at = from; at + 1 < bytes.length; at += 1) {
    if ((at - from) % SLICE === SLICE - 1) yield;
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

function* strippedWebp(bytes: Buffer): Slices<Buffer | undefined> {
  if (bytes.length < 20) return undefined;
  const end = 8 + bytes.readUInt32LE(4);
  if (end > bytes.length) return undefined;
  const ranges: Range[] = [[0, 12]];
  for (let [at, parts] = [12, 1]; at < end; parts += 1) {
    if (parts > MOST_PARTS) return undefined;
    if (parts % PARTS === 0) yield;
    if (at + 8 > end) return undefined;
    const size = bytes.readUInt32LE(at + 4);
    const next = at + 8 + size + (size % 2);
    if (next > end) return undefined;
    if (WEBP_KEPT.has(bytes.toString("latin1", at, at + 4))) ranges.push([at, next]);
    at = next;
  }
  const kept = yield* joined(bytes, ranges);
  if (kept === undefined || kept === bytes || kept.length < 21) return kept;
  kept.writeUInt32LE(kept.length - 8, 4);
  const extended = kept.toString("latin1", 12, 16) === "VP8X";
  if (extended) kept.writeUInt8(kept.readUInt8(20) & ~WEBP_METADATA_FLAGS, 20);
  return kept;
}
