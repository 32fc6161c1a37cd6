// A job's progress in percent, from providers' figures.
import { expect, test } from "@jest/globals";
import { percentOf } from "./percent.ts";

test.each<[unknown, 1 | 100, number | undefined]>([
  [0, 1, 0],
  [0.4, 1, 40],
  [0.999, 1, 99],
  [1, 1, 100],
  [40, 100, 40],
  [99.9, 100, 99],
  [40, 1, undefined],
  [-0.1, 1, undefined],
  [101, 100, undefined],
  [Number.NaN, 100, undefined],
  ["40", 100, undefined],
  [null, 100, undefined],
  [undefined, 1, undefined],
])("%j of %i is %j percent", (value, whole, percent) => {
  expect(percentOf(value, whole)).toBe(percent);
});
