// Guarantees of entity tags: the versions that a client names are recognized.
import { expect, test } from "@jest/globals";
import { hasEntityTag } from "./entity-tag.ts";

test.each([
  [undefined, false],
  ["", false],
  ['"a"', true],
  ['W/"a"', true],
  ['"b" ,  "a",', true],
  ["*", true],
  ['"b"', false],
  ['"ab"', false],
  ["a", false],
  [`a${" ".repeat(15_000)}b`, false],
  [`${" ,".repeat(8_000)}"a"`, true],
])("%s", (header, expected) => {
  expect(hasEntityTag(header, '"a"')).toBe(expected);
  expect(hasEntityTag(header, 'W/"a"')).toBe(expected);
});

// Quadratic work for a million characters needs minutes: the runner's time limit then fails the test, once it can act.
test.each(["a", "a,", ","])(
  "is found by work in proportion to the length of the list, after %j",
  async (before) => {
    const list = `${before}${" ".repeat(1_000_000)}b`;
    expect([hasEntityTag(list, '"x"'), hasEntityTag(`${list},  "x" `, '"x"')]).toEqual([false, true]);
    await new Promise((resolve) => setTimeout(resolve, 1));
  },
);
