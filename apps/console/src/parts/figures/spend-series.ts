// Spend series turn usage rows into the columns of a chart: one for each day of the period, also for days without a request, and a
// series for each of the largest groups.
import type { UsageAnswer } from "@gr/console-api";
import { type Column, MOST_SERIES, type Series } from "../charts/time-chart.tsx";

const DAY_MS = 86_400_000;
const DAY = new Intl.DateTimeFormat("en", {
  weekday: "short",
  month: "short",
  day: "numeric",
  timeZone: "UTC",
});

export interface SpendSeries {
  /** Largest spend first; the others are one series. */
  readonly series: readonly Series[];
  readonly columns: readonly Column[];
}

/** @param usage rows for each group and day (per_day=true). @param now Unix milliseconds */
export function spendSeries(
  { from, to, data }: Pick<UsageAnswer, "from" | "to" | "data">,
  now = Date.now(),
): SpendSeries {
  const totals = new Map<string, number>();
  for (const { label, spend } of data) totals.set(label, (totals.get(label) ?? 0) + Number(spend));
  const ranked = [...totals].sort(([, one], [, other]) => other - one).map(([label]) => label);
  const isOneMore = ranked.length === MOST_SERIES + 1;
  const shown = ranked.slice(0, isOneMore ? ranked.length : MOST_SERIES);
  const names = shown.length < ranked.length ? [...shown, `${ranked.length - shown.length} other`] : shown;
  const byDay = new Map<string, number[]>();
  for (const { day, label, spend } of data) {
    if (day === null) continue;
    const values = byDay.get(day) ?? names.map(() => 0);
    const place = shown.includes(label) ? shown.indexOf(label) : names.length - 1;
    values[place] = (values[place] ?? 0) + Number(spend);
    byDay.set(day, values);
  }
  const columns = daysOf(from, to).map((day) => {
    const begin = Date.parse(day);
    return {
      ...{ begin: new Date(begin).toISOString(), title: DAY.format(begin) },
      values: byDay.get(day) ?? names.map(() => 0),
      isCurrent: begin <= now && now < begin + DAY_MS,
    };
  });
  return { series: names.map((name, rank) => ({ name, rank })), columns };
}

/** Returns each day from the first to the last, as 2026-11-24. */
function daysOf(from: string, to: string): string[] {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  const count = Math.max(0, Math.round((last - first) / DAY_MS) + 1);
  return Array.from({ length: count }, (_, index) =>
    new Date(first + index * DAY_MS).toISOString().slice(0, 10),
  );
}
