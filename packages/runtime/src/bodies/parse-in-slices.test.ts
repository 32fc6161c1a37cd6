// The sliced parser is JSON.parse that can be stopped: same values, same refusals.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type LongStrings, type ParsedJson, parseInSlices, stringLengthIn } from "./parse-in-slices.ts";

function parse(text: string, longStrings?: LongStrings): ParsedJson & { pauses: number } {
  const slices = parseInSlices(Buffer.from(text), longStrings);
  for (let pauses = 0; ; pauses += 1) {
    const { done, value } = slices.next();
    if (done === true) return { value: value.value, layout: value.layout, pauses };
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

test("the layout of an object has its members in order, key by key and value by value", () => {
  const spaced = fc.constantFrom(
    (text: string) => text,
    (text: string) => ` \n${text}\t `,
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ unit: "binary" }), fc.json(), spaced)), (members) => {
      const written = members.map(
        ([name, value, space]) => [space(JSON.stringify(name)), space(value)] as const,
      );
      const json = Buffer.from(` {${written.map((pair) => pair.join(":")).join(",")} } `);
      const text = (start: number, end: number) => json.toString("utf8", start, end);
      const { layout } = parse(json.toString());
      expect(
        layout?.members.map((at) => [text(at.keyStart, at.keyEnd), text(at.valueStart, at.valueEnd)]),
      ).toEqual(written.map(([name, value]) => [name.trim().slice(1, -1), value.trim()]));
      expect([layout?.open, layout?.close]).toEqual([1, json.length - 2]);
    }),
  );
  for (const text of ["[{}]", '"a"', "1", "null"]) expect(parse(text).layout).toBeUndefined();
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

test("a run of ASCII that is longer than a step is the same text", () => {
  const long = "x".repeat(33 * 1024 * 1024);
  expect((parse(`["${long}é${long}"]`).value as string[])[0] === `${long}é${long}`).toBe(true);
});

test.each([
  ["plain", "x"],
  ["of two bytes", "é"],
  ["of four bytes", "😀"],
  ["escaped", "\n"],
  ["mixed", 'a"é\\😀'],
])("a cut string is the beginning, and its length is known: %s", (_, unit) => {
  for (const before of ["", "a", "ab", "abc", "x".repeat(200_000)]) {
    const long = before + unit.repeat(200_000);
    const { short, rest, own } = { short: "é".repeat(1_000), rest: [long, "a"], own: { long, next: "b" } };
    const whole = { short, own, rest };
    const value = parse(JSON.stringify(whole), "cut").value as typeof whole;
    expect(long.startsWith(value.own.long)).toBe(true);
    expect(value.own.long.length).toBeGreaterThanOrEqual(10_000);
    expect(value.own.long.length).toBeLessThan(150_000);
    expect(stringLengthIn(value.own, "long")).toBe(long.length);
    expect(value).toStrictEqual({
      short,
      own: { long: value.own.long, next: "b" },
      rest: [value.own.long, "a"],
    });
    expect([stringLengthIn(value.own, "next"), stringLengthIn(value.own, "absent")]).toEqual([1, 0]);
  }
});

test("a cut string is refused as a whole one", () => {
  const long = "x".repeat(300_000);
  for (const bad of [`"${long}\\x"`, `"${long}\u0001"`, `"${long}`, `"${long}\\`]) {
    expect(() => parse(`{"a":${bad}}`, "cut")).toThrow(SyntaxError);
    expect(() => parse(`{"a":${bad}}`)).toThrow(SyntaxError);
  }
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
