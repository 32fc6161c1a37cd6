// Converts a provider's progress figure to whole percent.

/** @param whole the provider's figure for a finished job. @returns undefined for any other value */
export function percentOf(value: unknown, whole: 1 | 100): number | undefined {
  if (typeof value !== "number" || !(value >= 0 && value <= whole)) return undefined;
  return Math.floor((value / whole) * 100);
}
