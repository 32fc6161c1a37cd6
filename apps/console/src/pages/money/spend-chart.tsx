// The spend chart shows spend per day as stacked bars; a day leads to its requests.
import type { UsageAnswer } from "@gr/console-api";
import { TimeChart } from "../../parts/charts/time-chart.tsx";
import { spendText, spendTick } from "../../parts/figures/figure-text.ts";
import { spendSeries } from "../../parts/figures/spend-series.ts";

const HEIGHT = 220;
const DAY = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

/** @param usage rows for each model and day */
export function SpendChart({ usage }: { usage: UsageAnswer }) {
  const { series, columns } = spendSeries(usage);
  return (
    <TimeChart
      {...{ series, columns }}
      label={`Spend per day, from ${usage.from} to ${usage.to}`}
      height={HEIGHT}
      least={1}
      valueText={spendText}
      tickText={spendTick}
      timeText={(begin) => DAY.format(new Date(begin))}
      logOf={(column) => {
        const day = columns[column]?.begin.slice(0, 10) ?? "";
        return { from: day, to: day };
      }}
    />
  );
}
