// Spend series turn usage rows into the bars of a chart: one bar for each day of the period, also for days without a request,
// and a colour for each of the largest groups.
import type { UsageAnswer } from "@gr/console-api";

/** Groups with a colour of their own. The others are one series. */
const MOST_SERIES = 6;
const DAY_MS = 86_400_000;

export interface SpendSeries {
  /** Labels of the series, largest spend first. */
  readonly names: readonly string[];
  /** Spend of each series in USD, by label; `day` is the date. */
  readonly bars: readonly Readonly<Record<string, number | string>>[];
}

/** @param usage rows for each group and day (per_day=true) */
export function spendSeries({ from, to, data }: Pick<UsageAnswer, "from" | "to" | "data">): SpendSeries {
  const totals = new Map<string, number>();
  for (const { label, spend } of data) totals.set(label, (totals.get(label) ?? 0) + Number(spend));
  const ranked = [...totals].sort(([, one], [, other]) => other - one).map(([label]) => label);
  const isOneMore = ranked.length === MOST_SERIES + 1;
  const shown = new Set(ranked.slice(0, isOneMore ? ranked.length : MOST_SERIES));
  const others = `${ranked.length - shown.size} other`;
  const byDay = new Map<string, Record<string, number>>();
  for (const { day, label, spend } of data) {
    if (day === null) continue;
    const name = shown.has(label) ? label : others;
    const sums = byDay.get(day) ?? {};
    sums[name] = (sums[name] ?? 0) + Number(spend);
    byDay.set(day, sums);
  }
  const bars = daysOf(from, to).map((day) => ({ day, ...byDay.get(day) }));
  return { names: shown.size < ranked.length ? [...shown, others] : [...shown], bars };
}

/** Returns each day from the first to the last, as 2026-11-24. */
function daysOf(from: string, to: string): string[] {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  const count = Math.max(0, Math.round((last - first) / DAY_MS) + 1);
  return Array.from({ length: count }, (_, index) =>
    new Date(first + index * DAY_MS).toISOString().slice(0, 10),
  );
}
