// Usage range turns the time in the address into a query: a preset or days, in hours, days, weeks or months, in UTC.
import type { ActivityBucket, ActivityGroup } from "@gr/console-api";

export type UsageSearch = Partial<
  Record<
    "range" | "from" | "to" | "bucket" | "metric" | "group_by" | "sum" | "key_id" | "model" | "provider",
    string
  >
>;

export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export interface Preset {
  readonly value: string;
  readonly label: string;
  readonly days: number;
  /** The usual one first. */
  readonly buckets: readonly ActivityBucket[];
}

export const PRESETS: readonly Preset[] = [
  { value: "24h", label: "24 h", days: 1, buckets: ["hour"] },
  { value: "7d", label: "7 days", days: 7, buckets: ["day", "hour"] },
  { value: "30d", label: "30 days", days: 30, buckets: ["day", "week"] },
  { value: "90d", label: "90 days", days: 90, buckets: ["day", "week", "month"] },
];
const USUAL_PRESET = "30d";

export interface UsageRange {
  /** Undefined for days in the address. */
  readonly preset: string | undefined;
  readonly bucket: ActivityBucket;
  readonly buckets: readonly ActivityBucket[];
  /** First and last of the query: a moment or a day, and a day; the end is now if absent. */
  readonly from: string;
  readonly to: string | undefined;
}

/** @param now Unix milliseconds */
export function rangeOf({ range, from, to, bucket }: UsageSearch, now: number): UsageRange {
  const chosen = (buckets: readonly ActivityBucket[]) =>
    buckets.find((each) => each === bucket) ?? buckets[0] ?? "day";
  if (from !== undefined && to !== undefined) {
    const days = Math.max(1, Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1);
    const buckets = bucketsOf(days);
    return { preset: undefined, bucket: chosen(buckets), buckets, from, to };
  }
  const preset =
    PRESETS.find(({ value }) => value === range) ?? PRESETS.find(({ value }) => value === USUAL_PRESET);
  const { value, days, buckets } = preset ?? { value: USUAL_PRESET, days: 30, buckets: ["day" as const] };
  const shown = chosen(buckets);
  const begin =
    shown === "hour"
      ? new Date(Math.floor(now / HOUR_MS) * HOUR_MS - (days * 24 - 1) * HOUR_MS).toISOString()
      : dayOf(now - (days - 1) * DAY_MS);
  return { preset: value, bucket: shown, buckets, from: begin, to: undefined };
}

/** Buckets with at most 400 in so many days. */
function bucketsOf(days: number): ActivityBucket[] {
  if (days <= 2) return ["hour", "day"];
  if (days <= 16) return ["day", "hour"];
  if (days <= 92) return ["day", "week"];
  return days <= 400 ? ["week", "day", "month"] : ["month", "week"];
}

/** Returns the same time before the range, as a query by days or hours. */
export function rangeBefore(from: string, end: string): { from: string; to: string; bucket: ActivityBucket } {
  const [begin, until] = [Date.parse(from), Date.parse(end)];
  const length = until - begin;
  const before = begin - length;
  const isDays = length % DAY_MS === 0 && begin % DAY_MS === 0;
  return {
    from: new Date(before).toISOString(),
    to: new Date(begin).toISOString(),
    bucket: !isDays ? "hour" : length > 300 * DAY_MS ? "month" : "day",
  };
}

/** 2026-11-24 */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

const DATE = { month: "short", day: "numeric", timeZone: "UTC" } as const;
const HOUR = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" } as const;
const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en", options);
const SHORT = format(DATE);
const LONG = format({ ...DATE, weekday: "short" });
const YEAR = format({ ...DATE, year: "numeric" });
const TIME = format(HOUR);
const MONTH = format({ month: "short", year: "numeric", timeZone: "UTC" });

/** Text below a column of the chart: at midnight the date, where columns are hours. */
export function timeText(bucket: ActivityBucket, begin: string): string {
  const at = new Date(begin);
  if (bucket === "month") return MONTH.format(at);
  if (bucket !== "hour") return SHORT.format(at);
  return at.getUTCHours() === 0 ? SHORT.format(at) : TIME.format(at);
}

/** Time of a column, in words. */
export function bucketText(bucket: ActivityBucket, begin: string): string {
  const at = new Date(begin);
  switch (bucket) {
    case "hour":
      return `${LONG.format(at)}, ${TIME.format(at)} – ${TIME.format(new Date(at.getTime() + HOUR_MS))}`;
    case "day":
      return LONG.format(at);
    case "week":
      return `Week from ${SHORT.format(at)}`;
    case "month":
      return MONTH.format(at);
  }
}

/** "Oct 26 – Nov 24, 2026". @param end first moment behind the range */
export function rangeText(from: string, end: string): string {
  const last = new Date(Date.parse(end) - 1);
  const first = new Date(from);
  return first.toISOString().slice(0, 10) === last.toISOString().slice(0, 10)
    ? YEAR.format(last)
    : `${SHORT.format(first)} – ${YEAR.format(last)}`;
}

/** Filter of the log for a group; undefined if the log has no such filter. */
const GROUP_FILTERS: Readonly<Record<ActivityGroup, string | undefined>> = {
  ...{ model: "model", key: "key_id", kind: "kind", member: undefined, provider: undefined },
};

/** @param times begin and first moment behind; whole days are days in the address of the log */
export function logSearchOf(
  times: { readonly from: string; readonly end: string },
  { groupBy, group }: { readonly groupBy: ActivityGroup; readonly group: string | undefined },
  { key_id, model, metric }: UsageSearch,
): Record<string, string> {
  const isDays = times.from.endsWith("T00:00:00.000Z") && times.end.endsWith("T00:00:00.000Z");
  const [from, to] = isDays
    ? [times.from.slice(0, 10), dayOf(Date.parse(times.end) - 1)]
    : [times.from, times.end];
  const name = GROUP_FILTERS[groupBy];
  return {
    ...{ from, to },
    ...(key_id !== undefined && { key_id }),
    ...(model !== undefined && { model }),
    ...(metric === "errors" && { status: "failed" }),
    ...(name !== undefined && group !== undefined && group !== "" && { [name]: group }),
  };
}
