// Metric facts are the texts of a measure over a range: its value, and a note beside it.
import type { ActivityFigures } from "@gr/console-api";
import {
  compactText,
  countText,
  moneyText,
  secondsText,
  spendText,
} from "../../parts/figures/figure-text.ts";
import { changeText, type Metric, percentText } from "./usage-figures.ts";

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
