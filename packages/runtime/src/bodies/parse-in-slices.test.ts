// The sliced parser is JSON.parse that can be stopped: same values, same refusals.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseInSlices } from "./parse-in-slices.ts";

function parse(text: string): { value: unknown; pauses: number } {
  const slices = parseInSlices(Buffer.from(text));
  for (let pauses = 0; ; pauses += 1) {
    const { done, value } = slices.next();
    if (done === true) return { value, pauses };
  }
}

function expectSame(text: string): void {
  let expected: unknown;
  try {
    expected = JSON.parse(text);
  } catch {
    expect(() => parse(text)).toThrow(SyntaxError);
    return;
  }
  expect(parse(text).value).toStrictEqual(expected);
}

test("reads whatever JSON.stringify writes", () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false }), fc.constantFrom(undefined, 1, "\t"), (json, space) => {
      if (!json.includes("__proto__")) expectSame(JSON.stringify(JSON.parse(json), null, space));
    }),
  );
});

test("reads and refuses whatever JSON.parse does", () => {
  const pieces = fc.constantFrom(
    ..."{ } [ ] , : ,, {} [] 1 -1 -0 01 1e5 1. .5 +1 NaN nul null true false tru".split(" "),
    ...[
      '"',
      '"a"',
      '"a":',
      '"b" :1',
      "'a'",
      '"\\u0041"',
      '"\\u00"',
      '"\\ud83d\\ude00"',
      '"\\ud83d"',
      '"\\x"',
      '"\\"',
    ],
    ...[" ", "\n", "\t", "\r", "\u0000", "\f", "\u00a0", '"\n"', '"\u0001"', '"é😀"', "é"],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => expectSame(parts.join(""))),
    { numRuns: 3_000 },
  );
  for (const text of [
    "",
    " ",
    "1 ",
    " [1 , {} ]\n",
    '{"a" : [ ] , "b":{"c":null}}',
    '{"a":1,}',
    "[1,]",
    "[}",
    '{"a"}',
  ])
    expectSame(text);
});

test.each([
  ["plain", "x"],
  ["of two bytes", "é"],
  ["of four bytes", "😀"],
  ["escaped", "\n"],
  ["mixed", 'a"é\\😀'],
])("a string of many pieces is the same text: %s", (_, unit) => {
  for (const before of ["", "a", "ab", "abc"]) {
    const text = JSON.stringify([before + unit.repeat(100_000), 1]);
    expectSame(text);
    expectSame(text.slice(0, -5));
  }
  expectSame(`["${"\\u0041".repeat(50_000)}"]`);
});

test("pauses in whatever is long: strings, values, whitespace", () => {
  for (const text of [
    JSON.stringify("x".repeat(4_000_000)),
    JSON.stringify(Array.from({ length: 50_000 }, () => ({}))),
    `[${" ".repeat(4_000_000)}1]`,
    `{"a"${" ".repeat(4_000_000)}:1}`,
  ]) {
    expectSame(text);
    expect(parse(text).pauses).toBeGreaterThan(2);
  }
});
