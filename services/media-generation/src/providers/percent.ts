// How far a provider says that a job is, in whole percent.

/** @param whole what the provider calls all of it. @returns undefined when it says nothing of the kind */
export function percentOf(value: unknown, whole: 1 | 100): number | undefined {
  if (typeof value !== "number" || !(value >= 0 && value <= whole)) return undefined;
  return Math.floor((value / whole) * 100);
}
