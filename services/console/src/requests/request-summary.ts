// Request summary: sums and bars of all requests that a filter of the log shows, from the sums of media generation. Sums are exact;
// the median latency is exact within one percent.
import type { RequestSummary } from "@gr/console-api";
import { type Credits, formatCredits } from "@gr/money";
import { GenerationStatus, type SumGenerationsResponse } from "@gr/proto/media";

/** Bars of one chart at most, and the widths of a bar, milliseconds. */
const MOST_BARS = 48;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Time that the bars cover at least, if the filter names none. */
const LEAST_SPAN_MS = HOUR_MS;
const WIDTHS = [
  ...[MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS],
  ...[HOUR_MS, 2 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS],
  ...[DAY_MS, 2 * DAY_MS, 7 * DAY_MS, 14 * DAY_MS, 28 * DAY_MS],
];

export interface SummaryBars {
  /** Begin of the first bar, Unix milliseconds. */
  readonly start: number;
  readonly width: number;
  readonly count: number;
}

/** @param from begin of the filter, or of the oldest request; undefined = no request. All times are Unix milliseconds */
export function barsOf(from: number | undefined, to: number, isFiltered: boolean): SummaryBars {
  const first = isFiltered && from !== undefined ? from : Math.min(from ?? to, to - LEAST_SPAN_MS);
  const width = widthOf(first, to);
  const start = Math.floor(first / width) * width;
  return { start, width, count: Math.max(1, Math.floor((to - start) / width) + 1) };
}

export function summarize(
  { start, width, count }: SummaryBars,
  { sums, latencies }: Pick<SumGenerationsResponse, "sums" | "latencies">,
): RequestSummary {
  const bars = Array.from({ length: count }, (_, index) => ({
    at: new Date(start + index * width).toISOString(),
    ...{ succeeded: 0, failed: 0, other: 0 },
  }));
  let spend: Credits = 0n;
  const counts = { succeeded: 0, failed: 0, other: 0 };
  for (const { bar: index, status, requests, chargedCredits } of sums) {
    const outcome = outcomeOf(status);
    counts[outcome] += Number(requests);
    spend += chargedCredits;
    const bar = bars[index];
    if (bar !== undefined) bar[outcome] += Number(requests);
  }
  return {
    requests: counts.succeeded + counts.failed + counts.other,
    spend: formatCredits(spend),
    ...counts,
    median_latency: medianOf(latencies),
    bar_ms: width,
    bars,
  };
}

/** Blocked requests count as failed; running and cancelled ones as neither. */
function outcomeOf(status: GenerationStatus): "succeeded" | "failed" | "other" {
  if (status === GenerationStatus.SUCCEEDED) return "succeeded";
  const isFailed = status === GenerationStatus.FAILED || status === GenerationStatus.BLOCKED;
  return isFailed ? "failed" : "other";
}

function widthOf(from: number, to: number): number {
  const fits = (width: number) => (to - from) / width < MOST_BARS - 1;
  return WIDTHS.find(fits) ?? Math.ceil((to - from) / (MOST_BARS - 1) / DAY_MS) * DAY_MS;
}

/** Middle of the step with the median, milliseconds. @returns null without requests */
function medianOf(counts: SumGenerationsResponse["latencies"]): number | null {
  const sorted = counts.toSorted((a, b) => a.step - b.step);
  const all = sorted.reduce((sum, { requests }) => sum + requests, 0n);
  let before = 0n;
  for (const { step, requests } of sorted) {
    before += requests;
    if (before * 2n >= all) return Math.round(1.01 ** (step + 0.5));
  }
  return null;
}
