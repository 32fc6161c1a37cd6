// Duration steps own the histogram of durations: 30 steps, each at most 1.42 times as long as the step before, from 50 ms to 13 minutes.
// Histograms add up, so the median of any sum of rows is known within a step.

/** Number of steps; the last one has no end. */
export const STEPS = 30;
const FIRST_MS = 50;

/** Begins of the second step and of all later ones, in milliseconds. */
export const STEP_BEGINS: readonly number[] = Array.from({ length: STEPS - 1 }, (_, step) =>
  Math.round(FIRST_MS * 2 ** (step / 2)),
);

/** Counts of durations by step. */
export type Histogram = readonly number[];

export const NO_DURATIONS: Histogram = Array.from({ length: STEPS }, () => 0);

export function addHistograms(one: Histogram, other: Histogram): Histogram {
  return one.map((count, step) => count + (other[step] ?? 0));
}

/**
 * Estimates a quantile: the durations of a step count as evenly spread in it.
 * @param share 0.5 for the median @returns milliseconds; undefined without a duration
 */
export function quantileOf(histogram: Histogram, share: number): number | undefined {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let before = 0;
  for (const [step, count] of histogram.entries()) {
    if (count > 0 && before + count >= total * share) {
      const begin = STEP_BEGINS[step - 1] ?? 0;
      const end = STEP_BEGINS[step] ?? begin * Math.SQRT2;
      return Math.round(begin + ((end - begin) * (total * share - before)) / count);
    }
    before += count;
  }
  return undefined;
}
