// The spend chart shows spend per day as stacked bars; the exact figures are in a table or list beside it.
import "@mantine/core/styles/ColorSwatch.css";
import "@mantine/charts/styles.css";
import type { UsageAnswer } from "@gr/console-api";
import { BarChart } from "@mantine/charts";
import { Box, useComputedColorScheme } from "@mantine/core";
import { moneyText } from "../../parts/figures/figure-text.ts";
import { spendSeries } from "../../parts/figures/spend-series.ts";

/** By rank of spend; the last is for the other groups. */
const COLORS = {
  light: ["#5f63d8", "#12897d", "#c5860f", "#3a94d6", "#d3507f", "#9a62d0", "#89929c"],
  dark: ["#848bf5", "#2bb8a8", "#e6ae42", "#5ab0ea", "#e8739c", "#b788e8", "#6d7680"],
} as const;

const DAY = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

export default function SpendChart({ usage }: { usage: UsageAnswer }) {
  const colors = COLORS[useComputedColorScheme("light")];
  const { names, bars } = spendSeries(usage);
  return (
    <Box role="img" aria-label={`Spend per day, from ${usage.from} to ${usage.to}, as stacked bars`}>
      <BarChart
        h={240}
        type="stacked"
        data={bars.map((bar) => ({ ...bar, day: DAY.format(new Date(String(bar["day"]))) }))}
        dataKey="day"
        series={names.map((name, rank) => ({ name, color: colors[rank % colors.length] ?? colors[0] }))}
        valueFormatter={(value) => moneyText(value.toFixed(2))}
        withLegend
        legendProps={{ verticalAlign: "bottom" }}
        maxBarWidth={32}
        strokeDasharray="0"
      />
    </Box>
  );
}
