// The splitter of server-sent events, for any events cut at any places.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { dataOf, endOfEvent, SseSplitter } from "./sse-splitter.ts";

const lineEnd = fc.constantFrom("\n", "\r\n");
const line = fc.oneof(
  fc.constantFrom("data: [DONE]", "data:{}", ": comment", "event: response.created", "data"),
  fc.string({ unit: "binary", maxLength: 12 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, "")}`),
);
const event = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 3 }), lineEnd)
  .map(([lines, end]) => `${lines.join(end)}${end}${end}`);
const stream = fc.tuple(
  fc.array(event, { maxLength: 6 }),
  fc.constantFrom("", "data: unfinished", "data: x\n"),
);

/** Cuts bytes at any places, empty pieces included. */
const cut = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = cuts.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  return [...places, bytes.length].map((end, index) =>
    bytes.subarray(index === 0 ? 0 : places[index - 1], end),
  );
};

describe("the splitter", () => {
  test("gives whole events only, and every byte in order, wherever the stream is cut", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 12 }), ([events, remaining], cuts) => {
        const bytes = Buffer.from(events.join("") + remaining);
        const ends = new Set<number>();
        for (const at of events.keys()) {
          ends.add(Buffer.byteLength(events.slice(0, at + 1).join("")));
        }
        const splitter = new SseSplitter();
        const blocks: Buffer[] = [];
        let passed = 0;
        for (const chunk of cut(bytes, cuts)) {
          const block = splitter.push(chunk);
          if (block === undefined) continue;
          blocks.push(block);
          passed += block.length;
          expect(ends.has(passed)).toBe(true);
        }
        expect(splitter.pendingBytes).toBe(bytes.length - passed);
        expect(Buffer.concat([...blocks, splitter.remaining()])).toEqual(bytes);
        expect(splitter.pendingBytes).toBe(0);
      }),
      { numRuns: 3_000 },
    );
  });

  test("holds nothing back that is complete", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 12 }), ([events], cuts) => {
        const splitter = new SseSplitter();
        for (const chunk of cut(Buffer.from(events.join("")), cuts)) splitter.push(chunk);
        expect(splitter.pendingBytes).toBe(0);
      }),
    );
  });

  test("a block falls into the events that it was made of", () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 6 }), (events) => {
        const block = Buffer.from(events.join(""));
        const found: string[] = [];
        for (let at = 0; at < block.length; ) {
          const end = endOfEvent(block, at);
          found.push(block.toString("utf8", at, end));
          at = end;
        }
        expect(found).toEqual(events);
      }),
    );
  });
});

describe("the data of an event", () => {
  test.each([
    ["data: {}\n\n", "{}"],
    ["data:{}\r\n\r\n", "{}"],
    ["event: x\ndata:  [DONE]\n\n", " [DONE]"],
    ["id: 1\ndata: unfinished", "unfinished"],
  ])("of %j is %j", (text, data) => {
    const bytes = Buffer.from(text);
    const span = dataOf(bytes);
    expect(span === undefined ? undefined : bytes.toString("utf8", span.start, span.end)).toBe(data);
  });

  test.each([": comment\n\n", "event: x\n\n", "data: 1\ndata: 2\n\n", "database: 1\n\n"])(
    "is not taken from %j",
    (text) => {
      expect(dataOf(Buffer.from(text))).toBeUndefined();
    },
  );
});
