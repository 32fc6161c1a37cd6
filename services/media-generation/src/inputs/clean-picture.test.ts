// Clients' pictures: unusual files are refused by their own bytes. An ordinary picture contains no other data
// afterwards, and its pixels stay bit-identical where possible.
import { crc32, deflateSync } from "node:zlib";
import { describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { createMediaGates } from "../generation/media-gates.ts";
import type { InputPicture } from "../providers/provider.ts";
import { createPictureCleaner } from "./clean-picture.ts";
import { UnusablePictureError } from "./picture-header.ts";
import { stripMetadata } from "./strip-metadata.ts";

const cleaner = createPictureCleaner(createMediaGates().inputs);
const clean = (bytes: Buffer, role: InputPicture["role"]) => cleaner(bytes, role, { owner: "account" });
const FORMATS = ["png", "jpeg", "webp"] as const;
const [WIDTH, HEIGHT] = [60, 40];

/** The same noise in each run. */
const noise = Buffer.from(
  Array.from({ length: WIDTH * HEIGHT * 3 }, (_, at) => ((at * 2_654_435_761) >>> 9) & 255),
);
const draw = () => sharp(noise, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } });
const canary = { IFD0: { Copyright: "canary-1234", ImageDescription: "<script>canary-1234</script>" } };
const pixelsOf = (bytes: Buffer) => sharp(bytes).raw().toBuffer();

function chunk(type: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(data.length + 12);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, "latin1");
  data.copy(bytes, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, data.length + 8)), data.length + 8);
  return bytes;
}

/** A grey PNG that declares this number of pixels, with any content. */
function pngOf(width: number, height: number, content: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", content),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

describe.each(FORMATS)("a picture as %s", (format) => {
  test("without metadata passes as it came", async () => {
    const bytes = await draw().toFormat(format).toBuffer();
    const cleaned = await clean(bytes, "image");
    expect(cleaned).toMatchObject({ role: "image", type: `image/${format}`, width: WIDTH, height: HEIGHT });
    expect(await pixelsOf(cleaned.bytes)).toEqual(await pixelsOf(bytes));
  });

  test("loses its metadata and whatever hangs on the end, and no pixel", async () => {
    const tagged = await draw().withExif(canary).toFormat(format).toBuffer();
    const polyglot = Buffer.concat([tagged, Buffer.from("<?php canary-1234 ?>")]);
    const { bytes } = await clean(polyglot, "image");
    expect(bytes.includes("canary-1234")).toBe(false);
    expect((await sharp(bytes).metadata()).exif).toBeUndefined();
    expect(await pixelsOf(bytes)).toEqual(await pixelsOf(tagged));
  });

  test("that lies on its side is turned upright, and says nothing about it any more", async () => {
    const lying = await draw().withExif(canary).withMetadata({ orientation: 6 }).toFormat(format).toBuffer();
    const { bytes, width, height } = await clean(lying, "image");
    expect([width, height]).toEqual([HEIGHT, WIDTH]);
    const { orientation, exif } = await sharp(bytes).metadata();
    expect([orientation, exif]).toEqual([undefined, undefined]);
  });

  test("with colours of its own is brought to the usual ones", async () => {
    const wide = await draw().withIccProfile("p3").toFormat(format).toBuffer();
    expect((await sharp((await clean(wide, "image")).bytes).metadata()).icc).toBeUndefined();
  });

  test("that is cut short or damaged is refused", async () => {
    const bytes = await draw().toFormat(format).toBuffer();
    for (const part of [
      bytes.subarray(0, bytes.length - 40),
      bytes.subarray(0, bytes.length / 2),
      bytes.subarray(0, 12),
    ]) {
      await expect(clean(part, "image")).rejects.toThrow(UnusablePictureError);
    }
  });

  test("as a mask is a PNG, with its transparency", async () => {
    const { bytes, type } = await clean(await draw().ensureAlpha(0.5).toFormat(format).toBuffer(), "mask");
    const { format: actual, hasAlpha } = await sharp(bytes).metadata();
    expect([type, actual]).toEqual(["image/png", "png"]);
    expect(hasAlpha).toBe(format !== "jpeg");
  });
});

test("all other work runs while a large picture loses its metadata, and it is refused in many parts", async () => {
  const scan = Buffer.alloc(4_000_000, 0x11);
  const jpeg = (parts: number) =>
    Buffer.concat([
      Buffer.from([0xff, 0xd8]),
      Buffer.alloc(4 * parts, Buffer.from([0xff, 0xfe, 0x00, 0x02])),
      Buffer.from([0xff, 0xda, 0x00, 0x02]),
      scan,
      Buffer.from([0xff, 0xd9]),
    ]);
  let pauses = 0;
  const count = () => {
    pauses += 1;
    pending = setImmediate(count);
  };
  let pending = setImmediate(count);
  const kept = await stripMetadata(jpeg(10), "jpeg", { owner: "account" });
  clearImmediate(pending);
  expect(kept?.equals(jpeg(0))).toBe(true);
  expect(pauses).toBeGreaterThanOrEqual(10);
  expect(await stripMetadata(jpeg(200_000), "jpeg", { owner: "account" })).toBeUndefined();
});

describe("what is refused", () => {
  const few = Buffer.alloc(1_000);
  test.each<[string, () => Promise<Buffer>, string]>([
    ["nothing", async () => Buffer.alloc(0), "not a PNG, JPEG or WebP"],
    ["a text", async () => Buffer.from("hello"), "not a PNG, JPEG or WebP"],
    [
      "an SVG",
      async () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      "not a PNG, JPEG or WebP",
    ],
    ["a GIF", () => draw().gif().toBuffer(), "not a PNG, JPEG or WebP"],
    ["a TIFF", () => draw().tiff().toBuffer(), "not a PNG, JPEG or WebP"],
    ["an AVIF", () => draw().avif().toBuffer(), "not a PNG, JPEG or WebP"],
    [
      "a first line of PNG before a text",
      async () => Buffer.concat([pngOf(1, 1, few).subarray(0, 8), few]),
      "does not decode",
    ],
    [
      "a PNG of 900 million pixels",
      async () => pngOf(30_000, 30_000, deflateSync(few)),
      "30000x30000 pixels; at most 50 million",
    ],
    ["a PNG whose pixels are missing", async () => pngOf(3_000, 3_000, deflateSync(few)), "does not decode"],
    ["a PNG whose pixels are nonsense", async () => pngOf(30, 30, few), "does not decode"],
  ])("%s", async (_what, encode, words) => {
    const bytes = await encode();
    await expect(clean(bytes, "image")).rejects.toThrow(UnusablePictureError);
    await expect(clean(bytes, "image")).rejects.toThrow(words);
  });

  test("only after its header: a bomb is never unpacked", async () => {
    const bomb = pngOf(30_000, 30_000, deflateSync(Buffer.alloc(64_000_000)));
    const before = process.memoryUsage().rss;
    await expect(clean(bomb, "image")).rejects.toThrow("at most 50 million");
    // Unpacked it would be 900 MB.
    expect(process.memoryUsage().rss - before).toBeLessThan(300_000_000);
  });

  test("but not a small picture with much behind its last pixel: that is never unpacked", async () => {
    const { width, height } = await clean(pngOf(30, 30, deflateSync(Buffer.alloc(50_000_000))), "image");
    expect([width, height]).toEqual([30, 30]);
  });
});
