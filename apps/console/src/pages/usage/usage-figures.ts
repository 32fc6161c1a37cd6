// Usage figures own the measures of the page: the value of each in a sum of requests, and its text.
import type { ActivityFigures } from "@gr/console-api";
import {
  compactText,
  countText,
  moneyText,
  requestMoneyText,
  secondsText,
  spendText,
  spendTick,
} from "../../parts/figures/figure-text.ts";

export const METRICS = ["spend", "requests", "errors", "tokens", "latency", "first_token"] as const;
export type Metric = (typeof METRICS)[number];

export interface MetricLook {
  readonly label: string;
  readonly isWhole: boolean;
  /** End of the axis of a chart without a value. */
  readonly least: number;
  /** The sums of parts are the whole: bars. Otherwise lines of the median and the 95th percentile. */
  readonly addsUp: boolean;
  /** @param whole sum that the value is a part of */
  readonly text: (value: number, whole?: number) => string;
  /** @param decimals of all values of the axis */
  readonly tickText: (value: number, decimals: number) => string;
}

const COUNT = {
  isWhole: true,
  least: 4,
  addsUp: true,
  text: (count: number) => countText(count),
  tickText: compactText,
};
const TIME = {
  isWhole: false,
  least: 1_000,
  addsUp: false,
  text: (ms: number) => secondsText(ms),
  tickText: secondsTick,
};

export const METRIC_LOOKS: Readonly<Record<Metric, MetricLook>> = {
  spend: { label: "Spend", isWhole: false, least: 1, addsUp: true, text: spendText, tickText: spendTick },
  requests: { label: "Requests", ...COUNT },
  errors: { label: "Failed", ...COUNT },
  tokens: { label: "Tokens", ...COUNT },
  latency: { label: "Latency", ...TIME },
  first_token: { label: "First token", ...TIME },
};

/** @returns undefined for a time that no request had */
export function measure(metric: Metric, figures: ActivityFigures): number | undefined {
  switch (metric) {
    case "spend":
      return Number(figures.spend);
    case "tokens":
      return figures.input_tokens + figures.output_tokens;
    case "latency":
    case "first_token":
      return figures[metric]?.median;
    default:
      return figures[metric];
  }
}

function secondsTick(ms: number): string {
  if (ms === 0) return "0 s";
  if (ms < 1_000) return `${ms} ms`;
  return ms < 120_000 ? `${Number((ms / 1_000).toFixed(2))} s` : `${Math.round(ms / 60_000)} min`;
}

/** 0.0094 as "0.9%". */
export function percentText(share: number): string {
  const percent = share * 100;
  return `${percent === 0 || percent >= 10 ? Math.round(percent) : percent.toFixed(1)}%`;
}

/** A smaller change is shown as none. */
const LEAST_CHANGE = 0.0005;

/** "+12.4%" or "−3%"; undefined without a value before. */
export function changeText(now: number, before: number): string | undefined {
  if (before <= 0) return undefined;
  const change = now / before - 1;
  if (Math.abs(change) < LEAST_CHANGE) return "No change";
  const sign = change < 0 ? "−" : "+";
  return `${sign}${percentText(Math.abs(change))}`;
}

/**
 * Texts of amounts that add up to the text of their total: cents go to the largest remainders first. Below a dollar the total has
 * four decimals, and each amount is exact.
 * @param amounts USD with four decimals
 */
export function amountsThatAddUp(
  total: string,
  amounts: readonly string[],
): { total: string; amounts: string[] } {
  const units = (usd: string) => BigInt(usd.replace(".", ""));
  if (units(total) < 10_000n) {
    return { total: requestMoneyText(total), amounts: amounts.map(requestMoneyText) };
  }
  const cents = (units(total) + 50n) / 100n;
  const floors = amounts.map((usd) => units(usd) / 100n);
  let rest = Number(cents - floors.reduce((sum, each) => sum + each, 0n));
  const byRemainder = amounts
    .map((usd, at) => ({ at, remainder: units(usd) % 100n }))
    .toSorted((one, other) => Number(other.remainder - one.remainder));
  const more = new Set<number>();
  for (const { at } of byRemainder) {
    if (rest <= 0) break;
    more.add(at);
    rest -= 1;
  }
  const textOf = (value: bigint) => moneyText(`${value / 100n}.${String(value % 100n).padStart(2, "0")}`);
  return { total: textOf(cents), amounts: floors.map((each, at) => textOf(more.has(at) ? each + 1n : each)) };
}
