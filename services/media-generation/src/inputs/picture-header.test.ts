// Headers of pictures: the size in the first bytes equals the decoder's size, for every encoding of a picture. The
// work for hostile bytes is proportional to their number.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import sharp, { type Sharp } from "sharp";
import {
  pictureHeaderOf,
  pixelsToDecode,
  readPictureHeader,
  UnusablePictureError,
} from "./picture-header.ts";

const drawn = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: { r: 9, g: 90, b: 200, alpha: 0.5 } } });
const WAYS: Readonly<Record<string, (picture: Sharp) => Sharp>> = {
  png: (picture) => picture.png(),
  "png with a palette": (picture) => picture.png({ palette: true }),
  "png in passes": (picture) => picture.png({ progressive: true }),
  jpeg: (picture) => picture.jpeg(),
  "jpeg in scans": (picture) => picture.jpeg({ progressive: true }),
  "jpeg with optimised tables": (picture) => picture.jpeg({ mozjpeg: true }),
  webp: (picture) => picture.webp(),
  "webp without loss": (picture) => picture.webp({ lossless: true }),
  "webp with metadata": (picture) => picture.withExif({ IFD0: { Copyright: "canary" } }).webp(),
  "jpeg with metadata, on its side": (picture) =>
    picture
      .withExif({ IFD0: { Copyright: "canary".repeat(5_000) } })
      .withMetadata({ orientation: 6, icc: "p3" })
      .jpeg(),
};

describe.each(Object.entries(WAYS))("a header of %s", (_, write) => {
  test("says what the decoder finds, whole and in the smallest pieces", async () => {
    const sides = fc.integer({ min: 1, max: 700 });
    const cases = fc.asyncProperty(sides, sides, fc.constantFrom(3, 4), async (width, height, channels) => {
      const bytes = await write(drawn(width, height, channels)).toBuffer();
      const { format, ...found } = await sharp(bytes).metadata();
      const expected = { format, width: found.width, height: found.height };
      expect(pictureHeaderOf(bytes)).toEqual(expected);
      expect(await readPictureHeader(piecesOf(bytes))).toEqual(expected);
      expect(pixelsToDecode(bytes)).toBe(width * height);
    });
    await fc.assert(cases, { numRuns: 10 });
  });
});

test("an animated picture has the size of one page", async () => {
  const pages = await Promise.all([0, 1, 2].map(() => drawn(30, 20, 4).png().toBuffer()));
  const bytes = await sharp(pages, { join: { animated: true } })
    .webp()
    .toBuffer();
  expect(pictureHeaderOf(bytes)).toEqual({ format: "webp", width: 30, height: 20 });
});

test("no more is read than the header needs", async () => {
  const bytes = await drawn(300, 200).jpeg().toBuffer();
  let read = 0;
  async function* endless() {
    for (const piece of [bytes, ...Array(100).fill(Buffer.alloc(1_000))]) {
      read += 1;
      yield piece;
    }
  }
  expect(await readPictureHeader(endless())).toMatchObject({ width: 300, height: 200 });
  expect(read).toBe(1);
});

const jpegOf = (...parts: readonly Buffer[]) => Buffer.concat([Buffer.from("ffd8", "hex"), ...parts]);
const frameOf = (size: string) => Buffer.from(`ffc0000b08${size}01011100`, "hex");

describe("what has no header is refused", () => {
  test.each<[string, Buffer]>([
    ["nothing", Buffer.alloc(0)],
    ["text", Buffer.from("<svg/>")],
    ["a PNG of nothing", Buffer.from("89504e470d0a1a0a", "hex")],
    ["a PNG without width", Buffer.from("89504e470d0a1a0a0000000d494844520000000000000001", "hex")],
    ["a JPEG of no frame", jpegOf(Buffer.from("ffd9", "hex"))],
    ["a JPEG without height", jpegOf(frameOf("00000010"))],
    ["a JPEG whose scan comes first", jpegOf(Buffer.from("ffda0002", "hex"), frameOf("00100010"))],
    ["a WebP of an unknown kind", Buffer.concat([Buffer.from("RIFF0000WEBPVP9 "), Buffer.alloc(20)])],
    // 25 MB of each; a walk over all of them again and again would not end.
    ["a JPEG of padding", jpegOf(Buffer.alloc(25 * 1024 * 1024, 0xff))],
    ["a JPEG of zeros", jpegOf(Buffer.alloc(25 * 1024 * 1024))],
    ["a JPEG of the shortest parts", jpegOf(Buffer.alloc(25 * 1024 * 1024, Buffer.from("ffe00002", "hex")))],
    [
      "a JPEG of parts without length",
      jpegOf(Buffer.alloc(25 * 1024 * 1024, Buffer.from("ffe00000", "hex"))),
    ],
  ])("%s", async (_, bytes) => {
    expect(() => pictureHeaderOf(bytes)).toThrow(UnusablePictureError);
    await expect(readPictureHeader(piecesOf(bytes))).rejects.toThrow(UnusablePictureError);
  });

  test("and so is one of more pixels than may be decoded, with their number", () => {
    expect(() => pictureHeaderOf(jpegOf(frameOf("ffffffff")))).toThrow(
      "the picture has 65535x65535 pixels; at most 50 million pixels are accepted",
    );
  });
});

/** One byte each at first: every possible cut of a header. */
async function* piecesOf(bytes: Buffer) {
  const slow = Math.min(bytes.length, 200);
  for (let at = 0; at < slow; at += 1) yield bytes.subarray(at, at + 1);
  for (let at = slow; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}
