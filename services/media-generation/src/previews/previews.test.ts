// Thumbnails and posters: small, of the right picture, from the hosted file; and none for
// a file that cannot be decoded.
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createLogger } from "@gr/runtime";
import { drawFilm } from "@gr/simulator/film";
import { readMp4 } from "@gr/testing/mp4";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import sharp from "sharp";
import { createMediaGates } from "../generation/media-gates.ts";
import type { ByteRange } from "../storage/byte-range.ts";
import { createMediaName } from "../storage/media-name.ts";
import { mp4Of } from "../test/videos.ts";
import { createPreviews } from "./previews.ts";

const name = createMediaName("mp4");

/** A storage of one file; records its reads. */
function shelf(file: Buffer, ffmpeg?: string) {
  const ranges: ByteRange[] = [];
  const metrics = new Registry();
  const gates = createMediaGates();
  const previews = createPreviews({
    storage: {
      size: async () => file.length,
      read: (_, range = { start: 0, end: file.length - 1 }) => {
        ranges.push(range);
        return Readable.from([file.subarray(range.start, range.end + 1)]);
      },
    },
    gate: gates.results,
    posters: gates.posters,
    ffmpeg,
    log: createLogger("silent", "tests"),
    metrics,
  });
  return { previews, metrics, read: () => ranges.reduce((sum, { start, end }) => sum + end - start + 1, 0) };
}

const film = (width: number, height: number, seconds: number) =>
  drawFilm(
    { prompt: "a fox at dawn", caption: "a video", seed: "1", index: 0, width, height, seconds },
    new AbortController().signal,
  );

describe("a thumbnail", () => {
  test.each([
    ["png", 1536, 1024, 320, 213],
    ["jpeg", 1024, 1536, 213, 320],
    ["webp", 200, 100, 200, 100],
  ] as const)("of a %s of %ix%i has %ix%i, as WebP", async (format, width, height, small, low) => {
    const background = { r: 200, g: 40, b: 90 };
    const picture = await sharp({ create: { width, height, channels: 3, background } })
      .toFormat(format)
      .toBuffer();
    const { previews, metrics } = shelf(Buffer.alloc(0));
    const thumbnail = await previews.thumbnailOf(picture, "account");
    const { info, data } = await sharp(thumbnail).raw().toBuffer({ resolveWithObject: true });
    expect(await sharp(thumbnail).metadata()).toMatchObject({ format: "webp", width: small, height: low });
    expect(Math.abs((data[0] ?? 0) - 200) + Math.abs((data[1] ?? 0) - 40)).toBeLessThan(20);
    expect(info.channels).toBe(3);
    expect(await metrics.metrics()).toContain('media_previews_total{kind="thumbnail",result="made"} 1');
  });

  test("of what does not decode is none", async () => {
    const { previews, metrics } = shelf(Buffer.alloc(0));
    expect(await previews.thumbnailOf(Buffer.from("no picture"), "account")).toBeUndefined();
    expect(await metrics.metrics()).toContain('media_previews_total{kind="thumbnail",result="failed"} 1');
  });
});

describe("a poster", () => {
  test("is the first picture of a video, of which nothing else is read", async () => {
    const video = await film(1280, 720, 5);
    const { previews, read } = shelf(video);
    const poster = await previews.posterOf(name, "account");
    expect(await sharp(poster).metadata()).toMatchObject({ format: "webp", width: 640, height: 360 });
    const first = await film(1280, 720, 1);
    const pixels = (picture: Buffer | undefined) =>
      sharp(picture).resize(64, 36).removeAlpha().raw().toBuffer();
    const other = shelf(first);
    const [ours, theirs] = [
      await pixels(poster),
      await pixels(await other.previews.posterOf(name, "account")),
    ];
    const apart = ours.reduce((sum, value, index) => sum + Math.abs(value - (theirs[index] ?? 0)), 0);
    expect(apart / ours.length).toBeLessThan(8);
    expect(read()).toBeLessThan(video.length / 2);
  });

  test.each([
    ["an MP4 without a track", mp4Of()],
    ["an index that says that it is endless", endless()],
    ["no file at all", Buffer.alloc(0)],
  ])("of %s is none", async (_, file) => {
    const { previews, metrics } = shelf(file);
    expect(await previews.posterOf(name, "account")).toBeUndefined();
    expect(await metrics.metrics()).toContain('media_previews_total{kind="poster",result="failed"} 1');
  });
});

describe("a video that sharp cannot decode", () => {
  let folder: string;
  let asked: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "decoder-"));
    asked = join(folder, "asked");
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const video = () => readFile(new URL("fixtures/h264.mp4", import.meta.url));
  /** Replaces ffmpeg: stores its input, and runs the test's commands. */
  async function decoder(does: string): Promise<string> {
    const program = join(folder, `decoder-${randomUUID()}`);
    await writeFile(program, `#!/bin/sh\n/bin/cat > ${asked}\n${does}\n`, { mode: 0o755 });
    return program;
  }

  test("is handed as a video of one picture to the program that there is for it", async () => {
    const drawn = join(folder, "drawn.png");
    await sharp({ create: { width: 640, height: 360, channels: 3, background: "#a0c" } })
      .png()
      .toFile(drawn);
    const { previews } = shelf(
      await video(),
      await decoder(`/bin/cat ${drawn}; echo "$#" "$HOME" > ${asked}.with`),
    );
    const poster = await previews.posterOf(name, "account");
    expect(await sharp(poster).metadata()).toMatchObject({ format: "webp", width: 640, height: 360 });
    const { codec, samples, width, height } = readMp4(await readFile(asked));
    expect({ codec, pictures: samples.length, width, height }).toEqual({
      codec: "avc1",
      pictures: 1,
      width: 640,
      height: 360,
    });
    // The program receives its arguments, and no environment.
    expect(await readFile(`${asked}.with`, "utf8")).toMatch(/^\d+ \n$/);
  });

  test.each([
    ["fails", "exit 1"],
    ["says nothing", "exit 0"],
    ["says something else than a picture", "echo no picture"],
  ])("has none when the program %s", async (_, does) => {
    const { previews, metrics } = shelf(await video(), await decoder(does));
    expect(await previews.posterOf(name, "account")).toBeUndefined();
    expect(await metrics.metrics()).toContain('media_previews_total{kind="poster",result="failed"} 1');
  });

  test("has none when the program is not there, or nobody has named one", async () => {
    const missing = shelf(await video(), join(folder, "nothing"));
    expect(await missing.previews.posterOf(name, "account")).toBeUndefined();
    const { previews, metrics } = shelf(await video());
    expect(await previews.posterOf(name, "account")).toBeUndefined();
    expect(await metrics.metrics()).toContain('media_previews_total{kind="poster",result="no_decoder"} 1');
  });
});

/** A declared size of 1 GB must not allocate 1 GB of memory. */
function endless(): Buffer {
  const head = mp4Of().subarray(0, 20);
  const index = Buffer.alloc(64);
  index.writeUInt32BE(1_000_000_000, 0);
  index.write("moov", 4, "latin1");
  return Buffer.concat([head, index]);
}
