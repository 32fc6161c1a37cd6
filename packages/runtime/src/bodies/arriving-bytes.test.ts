// Guarantee of arriving bytes: for every split into chunks and every growth, the result is the sent bytes, in order.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { ArrivingBytes } from "./arriving-bytes.ts";

const MB = 1024 * 1024;

test("what arrives is there in the end, whatever the chunks and the first room", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 40 }),
      fc.nat(64),
      fc.nat(64),
      async (chunks, first, spare) => {
        const all = Buffer.concat(chunks);
        const arriving = new ArrivingBytes(first, all.length + spare);
        for (const chunk of chunks) arriving.push(Buffer.from(chunk));
        expect(arriving.length).toBe(all.length);
        expect((await arriving.whole()).equals(all)).toBe(true);
      },
    ),
  );
});

test("what has not moved when the last byte comes, moves then, with pauses", async () => {
  // Room grows from 16 MB to 17, so that the last MB moves two of the sixteen.
  const all = Buffer.alloc(17 * MB, "body");
  const arriving = new ArrivingBytes(16 * MB, all.length);
  for (let at = 0; at < all.length; at += MB) arriving.push(all.subarray(at, at + MB));
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
