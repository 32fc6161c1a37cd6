// The spend chart shows spend as bars; the exact figures are in the table below it.
import "@mantine/core/styles/ColorSwatch.css";
import "@mantine/charts/styles.css";
import type { UsageAnswer } from "@gr/console-api";
import { BarChart } from "@mantine/charts";
import { Box } from "@mantine/core";
import { moneyText } from "../../parts/figures/figure-text.ts";

const MOST_BARS = 60;

export default function SpendChart({ rows }: { rows: UsageAnswer["data"] }) {
  const bars = rows.slice(0, MOST_BARS).map(({ label, spend }) => ({ label, Spend: Number(spend) }));
  return (
    <Box role="img" aria-label="Spend as bars; the table below has the figures">
      <BarChart
        h={240}
        data={bars}
        dataKey="label"
        series={[{ name: "Spend", color: "teal.7" }]}
        valueFormatter={(value) => moneyText(value.toFixed(4))}
      />
    </Box>
  );
}
