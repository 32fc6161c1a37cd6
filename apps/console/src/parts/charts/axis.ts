// Axis owns the round numbers of a value axis, and the places of labels on a time axis.

/** Factors of a power of ten between two ticks. */
const ROUND = [1, 2, 2.5, 5, 10] as const;
const STEPS = 4;

/** Returns five ticks from zero; the last one is at least the largest value, above zero. @param isWhole ticks are whole numbers */
export function ticksOf(most: number, isWhole = false): number[] {
  const least = isWhole ? 1 : 0;
  const wanted = Math.max(most / STEPS, least, Number.EPSILON);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const factor = ROUND.find(
    (each) => each * power >= wanted * (1 - 1e-9) && (!isWhole || Number.isInteger(each * power)),
  );
  const step = (factor ?? 10) * power;
  // Decimals of the step, without the errors of binary fractions.
  return Array.from({ length: STEPS + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

const HOUR_MS = 3_600_000;
/** Hours between two labels, so that each day has the same ones. */
const HOUR_STEPS = [1, 2, 3, 4, 6, 12, 24, 48, 72, 96, 168] as const;

/**
 * Returns the indices of the columns with a label, evenly spread. Labels of hours are at round hours.
 * @param begins ISO times of the columns. @param most at least 2
 */
export function labelledColumns(begins: readonly string[], most: number, areHours: boolean): number[] {
  const indices = begins.map((_, index) => index);
  const every = Math.max(1, Math.ceil(begins.length / most));
  if (!areHours) return indices.filter((index) => index % every === 0);
  const step = HOUR_STEPS.find((hours) => hours >= every) ?? every;
  return indices.filter((index) => (Date.parse(begins[index] ?? "") / HOUR_MS) % step === 0);
}
