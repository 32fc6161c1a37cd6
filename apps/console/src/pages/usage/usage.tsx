// The usage page: totals of a time, a chart of the chosen measure by group, the same figures as a table, times and failures.
import type { ActivityAnswer, QueryOf } from "@gr/console-api";
import { Anchor, Button, Card, Group, SimpleGrid, Skeleton, Stack, Text, Title } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call, urlOf } from "../../api/console-client.ts";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { useModelNames } from "../../parts/lists/names-of.ts";
import { Empty, Failure, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { useAccount } from "../../session.ts";
import { useFiguresBefore } from "./figures-before.ts";
import { GroupTable } from "./group-table.tsx";
import { MetricTiles, TilesWaiting } from "./metric-tiles.tsx";
import { UsageChart } from "./usage-chart.tsx";
import { METRIC_LOOKS, METRICS, type Metric } from "./usage-figures.ts";
import { ChartControls, groupOf, isFiltered, NO_FILTERS, RangeControl } from "./usage-filters.tsx";
import { logSearchOf, rangeOf, rangeText, type UsageRange, type UsageSearch } from "./usage-range.ts";
import { groupsOf, type ShownGroup } from "./usage-series.ts";

const AGAIN_MS = 10_000;
const SMALL_CHART = 150;

export function Usage() {
  const { account_id: account } = useAccount();
  const search: UsageSearch = useSearch({ strict: false });
  const range = rangeOf(search, Date.now());
  const groupBy = groupOf(search);
  const filters = { key_id: search.key_id, model: search.model, provider: search.provider };
  const query = { ...filters, from: range.from, to: range.to, bucket: range.bucket, group_by: groupBy };
  const activity = useQuery({
    queryKey: ["activity", account, query],
    queryFn: ({ signal }) =>
      call("readActivity", { path: { account }, query: query as QueryOf<"readActivity">, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: range.to === undefined && AGAIN_MS,
  });
  const { data, error, refetch } = activity;
  return (
    <Stack>
      <Group justify="space-between" align="flex-start">
        <div>
          <Title order={1} size="h2">
            Usage
          </Title>
          <Text size="sm" c="dimmed">
            {data === undefined ? "Times in UTC" : `${rangeText(data.from, data.to)}, times in UTC`}
          </Text>
        </div>
        <Group gap="xs">
          <RangeControl search={search} range={range} />
          <Button
            component="a"
            variant="default"
            leftSection={<IconDownload size={16} />}
            href={urlOf("exportActivity", { account }, query)}
            download
          >
            CSV
          </Button>
        </Group>
      </Group>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined ? (
        error === null && <UsageWaiting />
      ) : (
        <Figures activity={data} search={search} range={range} filters={filters} />
      )}
    </Stack>
  );
}

function UsageWaiting() {
  return (
    <Stack role="status" aria-busy="true" aria-label="Loading">
      <TilesWaiting />
      <Skeleton height={390} radius="lg" />
      <RowsWaiting />
    </Stack>
  );
}

interface FiguresProps {
  readonly activity: ActivityAnswer;
  readonly search: UsageSearch;
  readonly range: UsageRange;
  readonly filters: Readonly<Record<"key_id" | "model" | "provider", string | undefined>>;
}

function Figures({ activity, search, range, filters }: FiguresProps) {
  const models = useModelNames();
  const groupBy = groupOf(search);
  const metric: Metric = METRICS.find((each) => each === search.metric) ?? "spend";
  const { label, addsUp } = METRIC_LOOKS[metric];
  const before = useFiguresBefore(activity, filters);
  const groups = groupsOf(activity, groupBy, models.nameOf);
  const isSum = addsUp && search.sum === "1";
  const hasRequests = activity.total.requests > 0;
  const chart = { activity, groups, groupBy, search };
  const times = { from: activity.from, end: activity.to };
  return (
    <>
      <MetricTiles total={activity.total} before={before} chosen={metric} />
      <Card component="section" aria-label={label} padding={0}>
        <div className="section-head">
          <ChartControls search={search} range={range} canSum={addsUp}>
            <Title order={2} size="h4" mr={4}>
              {label} {isSum ? "in total" : `per ${activity.bucket}`}
            </Title>
          </ChartControls>
        </div>
        <div className="usage-chart">
          <UsageChart {...chart} metric={metric} isSum={isSum} />
        </div>
        {!hasRequests && <Nothing search={search} />}
      </Card>
      {hasRequests && (
        <>
          <Card padding="md" component="section" aria-label="Figures by group" className="usage-table">
            <GroupTable
              {...{ groupBy, groups, total: activity.total }}
              logOf={(group) => logSearchOf(times, { groupBy, group }, { ...search, metric: "spend" })}
            />
          </Card>
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            {metric === "latency" ? (
              <SmallChart title="First token" {...chart} metric="first_token" />
            ) : (
              <SmallChart title="Latency" {...chart} metric="latency" />
            )}
            {metric === "errors" ? (
              <SmallChart title="Requests" {...chart} metric="requests" />
            ) : (
              <SmallChart title="Failed requests" {...chart} metric="errors" />
            )}
          </SimpleGrid>
        </>
      )}
    </>
  );
}

interface SmallChartProps {
  readonly title: string;
  readonly activity: ActivityAnswer;
  readonly groups: readonly ShownGroup[];
  readonly groupBy: ReturnType<typeof groupOf>;
  readonly search: UsageSearch;
  readonly metric: Metric;
}

function SmallChart({ title, ...chart }: SmallChartProps): ReactNode {
  return (
    <Card component="section" aria-label={title} padding={0}>
      <Title order={2} size="h4" className="section-head">
        {title}
      </Title>
      <div className="usage-chart">
        {chart.metric === "errors" && chart.activity.total.errors === 0 ? (
          <Empty title="No request failed in this time" />
        ) : (
          <UsageChart {...chart} height={SMALL_CHART} hasLegend={!METRIC_LOOKS[chart.metric].addsUp} />
        )}
      </div>
    </Card>
  );
}

function Nothing({ search }: { search: UsageSearch }) {
  const { account_id: account } = useAccount();
  const filter = useFilter();
  if (isFiltered(search)) {
    return (
      <Empty title="No requests match">
        <Button mt="xs" variant="default" onClick={() => void filter(NO_FILTERS)}>
          Clear filters
        </Button>
      </Empty>
    );
  }
  return (
    <Empty title="No requests in this time">
      Send one from the{" "}
      <Anchor
        inherit
        renderRoot={(props) => <Link to="/accounts/$account/playground" params={{ account }} {...props} />}
      >
        Playground
      </Anchor>
      , and it appears here within seconds.
    </Empty>
  );
}
