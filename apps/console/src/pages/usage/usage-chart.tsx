// The chart of the chosen measure: stacked bars of the groups, or lines of the median and the 95th percentile.
import type { ActivityAnswer, ActivityGroup } from "@gr/console-api";
import { TimeChart } from "../../parts/charts/time-chart.tsx";
import { METRIC_LOOKS, type Metric } from "./usage-figures.ts";
import { logSearchOf, timeText, type UsageSearch } from "./usage-range.ts";
import { quantileColumns, type ShownGroup, stackedColumns } from "./usage-series.ts";

export interface UsageChartProps {
  readonly activity: ActivityAnswer;
  readonly groups: readonly ShownGroup[];
  readonly groupBy: ActivityGroup;
  readonly metric: Metric;
  readonly search: UsageSearch;
  /** Each column has the sum of all columns up to it. */
  readonly isSum?: boolean;
  readonly height?: number;
  readonly hasLegend?: boolean;
}

export function UsageChart({
  activity,
  groups,
  groupBy,
  metric,
  search,
  isSum = false,
  ...look
}: UsageChartProps) {
  const { buckets, bucket, to } = activity;
  const { label, text, tickText, isWhole, least } = METRIC_LOOKS[metric];
  const now = Date.now();
  const lines = metric === "latency" || metric === "first_token";
  const stacked = lines ? undefined : stackedColumns(activity, groups, metric, { groupBy, isSum, now });
  const { series, columns } =
    stacked ?? quantileColumns(activity, metric === "latency" ? metric : "first_token", now);
  const logOf = (column: number, place: number | undefined) => {
    const times = { from: buckets[column] ?? "", end: buckets[column + 1] ?? to };
    const group = place === undefined ? undefined : stacked?.series[place]?.group;
    return logSearchOf(times, { groupBy, group }, { ...search, metric });
  };
  return (
    <TimeChart
      {...look}
      {...{ series, columns, isWhole, least, tickText, logOf }}
      areHours={bucket === "hour"}
      label={`${label} per ${bucket}`}
      as={lines ? "lines" : "bars"}
      valueText={text}
      timeText={(begin) => timeText(bucket, begin)}
    />
  );
}
