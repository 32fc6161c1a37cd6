// Usage series turn activity into columns of a chart: a column for each bucket, also without a request, a series for each of the
// largest groups, and one for all others.
import type { ActivityAnswer, ActivityFigures, ActivityGroup } from "@gr/console-api";
import { type Column, MOST_SERIES, type Series } from "../../parts/charts/time-chart.tsx";
import { type Metric, measure } from "./usage-figures.ts";
import { bucketText } from "./usage-range.ts";

/** A group with a colour, or all groups without one. */
export interface ShownGroup extends Series, ActivityFigures {
  /** Undefined for several groups. */
  readonly group: string | undefined;
}

const KINDS: Readonly<Record<string, string>> = {
  ...{ text: "Text", image: "Images", video: "Videos", media: "Images and videos" },
};
const PLURALS: Readonly<Record<ActivityGroup, string>> = {
  ...{ model: "models", key: "keys", member: "members", provider: "providers", kind: "types" },
};

/** Groups in the order of their spend, which is the order of the colours on the whole page. @param modelName of an id */
export function groupsOf(
  { groups }: Pick<ActivityAnswer, "groups">,
  groupBy: ActivityGroup,
  modelName: (id: string) => string,
): ShownGroup[] {
  const names = new Set<string>();
  return groups.map(({ group, label, ...figures }, rank) => {
    const plain = group === null ? `${label} ${PLURALS[groupBy]}` : nameOf(groupBy, label, modelName);
    // Two keys may have one name.
    const name = names.has(plain) ? `${plain} (${(group ?? "").slice(-4)})` : plain;
    names.add(name);
    return { ...figures, group: group ?? undefined, name, rank };
  });
}

function nameOf(groupBy: ActivityGroup, label: string, modelName: (id: string) => string): string {
  if (groupBy === "model") return modelName(label);
  return groupBy === "kind" ? (KINDS[label] ?? label) : label;
}

export interface StackedColumns {
  readonly series: readonly ShownGroup[];
  readonly columns: readonly Column[];
}

/** @param isSum each column has the sum of all columns up to it. @param now Unix milliseconds */
export function stackedColumns(
  answer: ActivityAnswer,
  groups: readonly ShownGroup[],
  metric: Metric,
  { groupBy, isSum, now }: { readonly groupBy: ActivityGroup; readonly isSum: boolean; readonly now: number },
): StackedColumns {
  const series = seriesOf(groups, PLURALS[groupBy]);
  const placeOf = new Map<string | undefined, number>();
  for (const [place, { group }] of series.entries()) placeOf.set(group, place);
  const others = series.length - 1;
  const found = new Map<string, number[]>();
  for (const { begins_at: begin, group, ...figures } of answer.data) {
    const place = placeOf.get(group ?? undefined) ?? others;
    const values = found.get(begin) ?? series.map(() => 0);
    values[place] = (values[place] ?? 0) + (measure(metric, figures) ?? 0);
    found.set(begin, values);
  }
  const before = series.map(() => 0);
  const columns = answer.buckets.map((begin, index) => {
    const own = found.get(begin) ?? series.map(() => 0);
    const values = own.map((value, place) => {
      before[place] = (before[place] ?? 0) + value;
      return isSum ? (before[place] ?? 0) : value;
    });
    return { ...frameOf(answer, index, now), values };
  });
  return { series, columns };
}

/** The largest groups, and the others together; a seventh group alone has its own name. */
function seriesOf(groups: readonly ShownGroup[], plural: string): ShownGroup[] {
  const [first] = groups;
  if (first === undefined || groups.length <= MOST_SERIES + 1) return [...groups];
  const rest = groups.slice(MOST_SERIES);
  const hidden = rest.map(({ group, name }) => (group === undefined ? Number.parseInt(name, 10) : 1));
  const count = hidden.reduce((sum, each) => sum + each, 0);
  return [
    ...groups.slice(0, MOST_SERIES),
    { ...first, group: undefined, name: `${count} other ${plural}`, rank: MOST_SERIES },
  ];
}

/** Lines of the median and of the 95th percentile of all requests. */
export function quantileColumns(
  answer: ActivityAnswer,
  metric: "latency" | "first_token",
  now: number,
): { series: readonly Series[]; columns: readonly Column[] } {
  const totals = new Map(answer.totals.map((total) => [total.begins_at, total[metric]]));
  const columns = answer.buckets.map((begin, index) => {
    const found = totals.get(begin);
    return { ...frameOf(answer, index, now), values: [found?.median, found?.p95] };
  });
  return {
    series: [
      { name: "Median", rank: 1 },
      { name: "95th percentile", rank: 0 },
    ],
    columns,
  };
}

function frameOf(
  { bucket, buckets, to }: ActivityAnswer,
  index: number,
  now: number,
): Omit<Column, "values"> {
  const begin = buckets[index] ?? to;
  const end = buckets[index + 1] ?? to;
  return {
    begin,
    title: bucketText(bucket, begin),
    isCurrent: Date.parse(begin) <= now && now < Date.parse(end),
  };
}
