// Ranges of bytes: every served range is within the file.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { readByteRange } from "./byte-range.ts";

describe("a Range header", () => {
  test.each([
    ["bytes=0-0", { start: 0, end: 0 }],
    ["bytes=2-5", { start: 2, end: 5 }],
    ["bytes=2-", { start: 2, end: 9 }],
    ["bytes=-3", { start: 7, end: 9 }],
    ["bytes=-300", { start: 0, end: 9 }],
    ["bytes=4-99999", { start: 4, end: 9 }],
    ["bytes=10-", "unsatisfiable"],
    ["bytes=999999999999999-", "unsatisfiable"],
    ["bytes=-0", "unsatisfiable"],
  ])("%s of ten bytes is %j", (header, expected) => {
    expect(readByteRange(header, 10)).toEqual(expected);
  });

  test.each([
    undefined,
    "",
    "bytes=",
    "bytes=-",
    "bytes=5-2",
    "bytes=0-1,3-4",
    "items=0-1",
    "bytes=a-b",
    "bytes = 0-1",
  ])("%j is no reason to send less than the whole", (header) => {
    expect(readByteRange(header, 10)).toBeUndefined();
  });

  test("never leads outside of the file", () => {
    const number = fc.oneof(
      fc.constant(""),
      fc.nat().map(String),
      fc.bigInt({ min: 0n, max: 10n ** 14n }).map(String),
    );
    fc.assert(
      fc.property(number, number, fc.nat(), (first, last, size) => {
        const range = readByteRange(`bytes=${first}-${last}`, size);
        if (range === undefined || range === "unsatisfiable") return;
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.end).toBeGreaterThanOrEqual(range.start);
        expect(range.end).toBeLessThan(size);
      }),
    );
  });
});
