// Presets of the time filter.
const HOUR_MS = 3_600_000;
export const RANGES = [
  { value: "1h", label: "Last hour", ms: HOUR_MS },
  { value: "24h", label: "Last 24 hours", ms: 24 * HOUR_MS },
  { value: "7d", label: "Last 7 days", ms: 7 * 24 * HOUR_MS },
  { value: "30d", label: "Last 30 days", ms: 30 * 24 * HOUR_MS },
] as const;

export type TimeSearch = Partial<Record<"range" | "from" | "to", string>>;

/** Returns the milliseconds of a preset; undefined for no preset. */
export function rangeMs(range: string | undefined): number | undefined {
  return RANGES.find(({ value }) => value === range)?.ms;
}
