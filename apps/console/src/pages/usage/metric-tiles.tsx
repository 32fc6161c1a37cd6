// Metric tiles show the totals of the range, and choose the measure of the chart.
import type { ActivityFigures } from "@gr/console-api";
import { SimpleGrid, Skeleton, Text, UnstyledButton } from "@mantine/core";
import {
  compactText,
  countText,
  moneyText,
  secondsText,
  spendText,
} from "../../parts/figures/figure-text.ts";
import { useFilter } from "../../parts/lists/filters.tsx";
import { changeText, METRIC_LOOKS, METRICS, type Metric, percentText } from "./usage-figures.ts";

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

interface Facts {
  readonly value: string;
  readonly exact?: string;
  readonly note: string;
}

export function factsOf(metric: Metric, total: ActivityFigures, before: ActivityFigures | undefined): Facts {
  const tokens = ({ input_tokens: input, output_tokens: output }: ActivityFigures) => input + output;
  const versus = (read: (figures: ActivityFigures) => number) => {
    const change = before && changeText(read(total), read(before));
    return change === undefined ? "" : `${change} vs previous`;
  };
  switch (metric) {
    case "spend":
      return {
        ...{ value: spendText(Number(total.spend)), exact: moneyText(total.spend) },
        note: versus(({ spend }) => Number(spend)),
      };
    case "requests":
      return { value: countText(total.requests), note: versus(({ requests }) => requests) };
    case "errors":
      return {
        value: countText(total.errors),
        note: total.requests === 0 ? "" : `${percentText(total.errors / total.requests)} of requests`,
      };
    case "tokens":
      return {
        ...{ value: compactText(tokens(total)), exact: countText(tokens(total)) },
        note: `${compactText(total.input_tokens)} in · ${compactText(total.output_tokens)} out`,
      };
    default: {
      const found = total[metric];
      if (found === null) return { value: "–", note: metric === "latency" ? "" : "Streams of text" };
      return { value: secondsText(found.median), note: `median · p95 ${secondsText(found.p95)}` };
    }
  }
}
