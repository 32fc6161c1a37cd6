// Videos are accepted by their first box, with any division of the bytes into pieces.
import { expect, test } from "@jest/globals";
import { mp4Of } from "../test/videos.ts";
import { collect } from "./collect.ts";
import { mp4Only } from "./video-file.ts";

async function read(bytes: Buffer, pieceBytes: number): Promise<Buffer> {
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  return collect(mp4Only(pieces()));
}

const withBrand = (brand: string) => Buffer.concat([Buffer.from("\0\0\0\x14ftyp"), Buffer.from(brand)]);

test.each([1, 7, 12, 13, 1_000])("an MP4 passes byte for byte in pieces of %i", async (pieceBytes) => {
  expect(await read(mp4Of(), pieceBytes)).toEqual(mp4Of());
});

test.each([
  ["nothing", Buffer.alloc(0)],
  ["a stub", mp4Of().subarray(0, 11)],
  ["HTML", Buffer.from("<!doctype html><html></html>")],
  ["WebM", Buffer.from("1a45dfa3010000000000001f42868101", "hex")],
  ["AVIF", withBrand("avif")],
  ["QuickTime", withBrand("qt  ")],
])("%s is refused", async (_what, bytes) => {
  await expect(read(bytes, 5)).rejects.toThrow("no MP4");
});
