// Bytes that arrive: they are the same in one piece, in their order, for all sizes of chunks, of the first room and of blocks.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { ArrivingBytes } from "./arriving-bytes.ts";

const MB = 1024 * 1024;

test("the whole has all bytes, for all chunks, first rooms and blocks", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 40 }),
      fc.nat(64),
      fc.integer({ min: 1, max: 64 }),
      async (chunks, first, blockBytes) => {
        const all = Buffer.concat(chunks);
        const arriving = new ArrivingBytes(first, blockBytes);
        for (const chunk of chunks) arriving.push(chunk);
        expect(arriving.length).toBe(all.length);
        expect((await arriving.whole()).equals(all)).toBe(true);
        const short = new ArrivingBytes(first, blockBytes);
        for (const chunk of chunks) short.push(chunk);
        expect(short.wholeAtOnce().equals(all)).toBe(true);
      },
    ),
  );
});

function push(arriving: ArrivingBytes, all: Buffer): void {
  for (let at = 0; at < all.length; at += MB / 2) arriving.push(all.subarray(at, at + MB / 2));
}

test("the whole of many blocks is copied with pauses", async () => {
  const all = Buffer.alloc(17 * MB, "body");
  const arriving = new ArrivingBytes(MB);
  push(arriving, all);
  let pauses = 0;
  const count = () => {
    pauses += 1;
    pending = setImmediate(count);
  };
  let pending = setImmediate(count);
  const whole = await arriving.whole();
  clearImmediate(pending);
  expect(whole.equals(all)).toBe(true);
  expect(pauses).toBeGreaterThanOrEqual(10);
});

test("a discarded body leaves its blocks to the next one, and no bytes of it to anybody", async () => {
  const refused = new ArrivingBytes(0);
  push(refused, Buffer.alloc(8 * MB, "refused"));
  refused.discard();
  const before = process.memoryUsage().arrayBuffers;
  const next = new ArrivingBytes(0);
  push(next, Buffer.alloc(8 * MB, "next"));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10 * MB);
  const late = Buffer.from("late");
  refused.push(late);
  const whole = await next.whole();
  expect(whole.equals(Buffer.alloc(8 * MB, "next"))).toBe(true);
});
