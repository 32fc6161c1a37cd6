// Metric tiles show the totals of the range, and choose the measure of the chart.
import type { ActivityFigures } from "@gr/console-api";
import { SimpleGrid, Skeleton, Text, UnstyledButton } from "@mantine/core";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { factsOf } from "./metric-facts.ts";
import { METRIC_LOOKS, METRICS, type Metric } from "./usage-figures.ts";

const COLUMNS = { base: 2, sm: 3, lg: 6 };

export interface MetricTilesProps {
  readonly total: ActivityFigures;
  /** Totals of the same time before; undefined while they are unknown. */
  readonly before: ActivityFigures | undefined;
  readonly chosen: Metric;
}

export function MetricTiles({ total, before, chosen }: MetricTilesProps) {
  const filter = useFilter();
  return (
    <SimpleGrid
      cols={COLUMNS}
      spacing={{ base: 10, sm: "md" }}
      role="group"
      aria-label="Measure of the chart"
    >
      {METRICS.map((metric) => {
        const { value, exact, note } = factsOf(metric, total, before);
        return (
          <UnstyledButton
            key={metric}
            className="metric-tile"
            aria-pressed={metric === chosen}
            onClick={() => void filter({ metric: metric === "spend" ? null : metric })}
          >
            <Text size="sm" fw={500} className="tile-name">
              {METRIC_LOOKS[metric].label}
            </Text>
            <Text className="tile-value" title={exact}>
              {value}
            </Text>
            <Text size="xs" c="dimmed" truncate component="div">
              {note}
            </Text>
          </UnstyledButton>
        );
      })}
    </SimpleGrid>
  );
}

export function TilesWaiting() {
  return (
    <SimpleGrid cols={COLUMNS} spacing={{ base: 10, sm: "md" }} aria-busy="true">
      {METRICS.map((metric) => (
        <Skeleton key={metric} height={104} radius="lg" />
      ))}
    </SimpleGrid>
  );
}
