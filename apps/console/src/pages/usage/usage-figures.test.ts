// Figures of the usage page: amounts of rows add up to their total, and counts are short.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { compactText, spendText, spendTick } from "../../parts/figures/figure-text.ts";
import { amountsThatAddUp, changeText, percentText } from "./usage-figures.ts";

const usdOf = (units: number) => `${Math.floor(units / 10_000)}.${String(units % 10_000).padStart(4, "0")}`;

test("rounded amounts add up to the rounded total, each at most a cent from its own", () => {
  const units = fc.array(fc.integer({ min: 0, max: 50_000_000 }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(units, (parts) => {
      const sum = parts.reduce((all, part) => all + part, 0);
      const { total, amounts } = amountsThatAddUp(usdOf(sum), parts.map(usdOf));
      const read = (text: string) => Math.round(Number(text.replace(/[$,]/g, "")) * 10_000);
      expect(amounts.reduce((all, text) => all + read(text), 0)).toBe(read(total));
      for (const [at, part] of parts.entries()) {
        expect(Math.abs(read(amounts[at] ?? "") - part)).toBeLessThan(100);
      }
    }),
  );
});

test("below a dollar amounts are exact", () => {
  expect(amountsThatAddUp("0.0031", ["0.0030", "0.0001"])).toEqual({
    total: "$0.0031",
    amounts: ["$0.0030", "$0.0001"],
  });
});

test("counts, shares, changes and spend are short", () => {
  expect([999, 1_000, 18_481, 41_800_000, 150_000, 2e9].map(compactText)).toEqual([
    ...["999", "1 k", "18.5 k", "41.8 M", "150 k", "2 B"],
  ]);
  expect([0, 0.0094, 0.32, 1].map(percentText)).toEqual(["0%", "0.9%", "32%", "100%"]);
  expect([changeText(112.4, 100), changeText(97, 100), changeText(1, 0), changeText(100, 100)]).toEqual([
    ...["+12%", "−3.0%", undefined, "No change"],
  ]);
  expect([spendText(12.345), spendText(0.0031), spendText(0.5, 20)]).toEqual(["$12.35", "$0.0031", "$0.50"]);
  const ticks = [
    spendTick(0, 3),
    spendTick(0.005, 3),
    spendTick(0.1, 2),
    spendTick(5, 0),
    spendTick(2_000, 0),
  ];
  expect(ticks).toEqual(["$0", "$0.005", "$0.10", "$5", "$2 k"]);
});
