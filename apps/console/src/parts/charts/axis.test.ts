// Ticks are round and reach the largest value; labels are evenly spread.
import { expect, test } from "@jest/globals";
import { labelledColumns, ticksOf } from "./axis.ts";

test.each([
  [18.47, [0, 5, 10, 15, 20]],
  [20, [0, 5, 10, 15, 20]],
  [0.0031, [0, 0.001, 0.002, 0.003, 0.004]],
  [0.3, [0, 0.1, 0.2, 0.3, 0.4]],
  [1_234_567, [0, 500_000, 1_000_000, 1_500_000, 2_000_000]],
])("%d is below the last of the ticks %j", (most, ticks) => {
  expect(ticksOf(most)).toEqual(ticks);
});

test("ticks of counts are whole, and nothing has ticks, too", () => {
  expect(ticksOf(3, true)).toEqual([0, 1, 2, 3, 4]);
  expect(ticksOf(9, true)).toEqual([0, 5, 10, 15, 20]);
  expect(ticksOf(0, true)).toEqual([0, 1, 2, 3, 4]);
});

const hours = (count: number, first: string) =>
  Array.from({ length: count }, (_, index) => new Date(Date.parse(first) + index * 3_600_000).toISOString());

test("labels are evenly spread, and those of hours are at round hours", () => {
  const days = Array.from({ length: 30 }, () => "");
  expect(labelledColumns(days, 7, false)).toEqual([0, 5, 10, 15, 20, 25]);
  expect(labelledColumns(days.slice(0, 1), 7, false)).toEqual([0]);
  expect(labelledColumns(hours(24, "2026-11-26T08:00:00Z"), 8, true)).toEqual([1, 4, 7, 10, 13, 16, 19, 22]);
  expect(labelledColumns(hours(168, "2026-11-20T08:00:00Z"), 8, true)).toEqual([
    16, 40, 64, 88, 112, 136, 160,
  ]);
});
