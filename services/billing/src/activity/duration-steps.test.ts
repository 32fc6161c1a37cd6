// Quantiles of added histograms are within one step of the exact ones.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { addHistograms, type Histogram, NO_DURATIONS, quantileOf, STEP_BEGINS } from "./duration-steps.ts";

const histogramOf = (durations: readonly number[]): Histogram => {
  const counts = [...NO_DURATIONS];
  for (const ms of durations) {
    const step = STEP_BEGINS.filter((begin) => begin <= ms).length;
    counts[step] = (counts[step] ?? 0) + 1;
  }
  return counts;
};

test("without a duration there is no quantile", () => {
  expect(quantileOf(NO_DURATIONS, 0.5)).toBeUndefined();
});

test("a median is within a step of the exact one, of one histogram and of a sum", () => {
  const durations = fc.array(fc.integer({ min: 50, max: 1_100_000 }), { minLength: 1 });
  fc.assert(
    fc.property(durations, durations, fc.constantFrom(0.5, 0.95), (some, others, share) => {
      const all = [...some, ...others].sort((one, other) => one - other);
      const exact = all[Math.ceil(all.length * share) - 1] ?? 0;
      const estimate = quantileOf(addHistograms(histogramOf(some), histogramOf(others)), share) ?? 0;
      expect(estimate / exact).toBeGreaterThan(0.69);
      expect(estimate / exact).toBeLessThan(1.45);
    }),
  );
});
