// Which versions a client says it has.
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
