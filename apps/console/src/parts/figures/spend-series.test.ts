// Columns of the spend chart: one for each day, largest groups first, the others together.
import { expect, test } from "@jest/globals";
import { spendSeries } from "./spend-series.ts";

const row = (label: string, day: string, spend: string) => ({ group: label, label, day, requests: 1, spend });
const NOW = Date.UTC(2026, 10, 3, 12);
const read = (usage: Parameters<typeof spendSeries>[0]) => {
  const { series, columns } = spendSeries(usage, NOW);
  return {
    names: series.map(({ name }) => name),
    columns: columns.map(({ title, values, isCurrent }) => [title, values, isCurrent]),
  };
};

test("a day without a request is a column without spend, and today has not ended", () => {
  const data = [row("a", "2026-11-01", "1.0000"), row("a", "2026-11-03", "2.5000")];
  expect(read({ from: "2026-10-31", to: "2026-11-03", data })).toEqual({
    names: ["a"],
    columns: [
      ["Sat, Oct 31", [0], false],
      ["Sun, Nov 1", [1], false],
      ["Mon, Nov 2", [0], false],
      ["Tue, Nov 3", [2.5], true],
    ],
  });
});

test("the largest groups have a series, and the others are one", () => {
  const labels = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const data = labels.map((label, index) => row(label, "2026-11-01", `${index + 1}.0000`));
  const { names, columns } = read({ from: "2026-11-01", to: "2026-11-01", data });
  expect(names).toEqual(["h", "g", "f", "e", "d", "c", "2 other"]);
  expect(columns).toEqual([["Sun, Nov 1", [8, 7, 6, 5, 4, 3, 3], false]]);
});

test("a seventh group is shown by its name instead of as one other", () => {
  const data = ["a", "b", "c", "d", "e", "f", "g"].map((label) => row(label, "2026-11-01", "1.0000"));
  expect(read({ from: "2026-11-01", to: "2026-11-01", data }).names).toHaveLength(7);
});
