// Bars of the spend chart: a bar for each day, largest groups first, the others together.
import { expect, test } from "@jest/globals";
import { spendSeries } from "./spend-series.ts";

const row = (label: string, day: string, spend: string) => ({ group: label, label, day, requests: 1, spend });

test("a day without a request is a bar without spend", () => {
  const data = [row("a", "2026-11-01", "1.0000"), row("a", "2026-11-03", "2.5000")];
  expect(spendSeries({ from: "2026-10-31", to: "2026-11-03", data })).toEqual({
    names: ["a"],
    bars: [
      { day: "2026-10-31" },
      { day: "2026-11-01", a: 1 },
      { day: "2026-11-02" },
      { day: "2026-11-03", a: 2.5 },
    ],
  });
});

test("the largest groups have a series, and the others are one", () => {
  const labels = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const data = labels.map((label, index) => row(label, "2026-11-01", `${index + 1}.0000`));
  const { names, bars } = spendSeries({ from: "2026-11-01", to: "2026-11-01", data });
  expect(names).toEqual(["h", "g", "f", "e", "d", "c", "2 other"]);
  expect(bars).toEqual([{ day: "2026-11-01", h: 8, g: 7, f: 6, e: 5, d: 4, c: 3, "2 other": 3 }]);
});

test("a seventh group is shown by its name instead of as one other", () => {
  const data = ["a", "b", "c", "d", "e", "f", "g"].map((label) => row(label, "2026-11-01", "1.0000"));
  expect(spendSeries({ from: "2026-11-01", to: "2026-11-01", data }).names).toHaveLength(7);
});
