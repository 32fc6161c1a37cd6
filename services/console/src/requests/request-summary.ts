// Request summary: sums and bars of the requests that a filter of the log shows. It reads a bounded number of the newest requests;
// of more, the sums are of these alone, and the answer says so.
import type { RequestSummary } from "@gr/console-api";
import { type Credits, formatCredits } from "@gr/money";
import { type Generation, GenerationStatus } from "@gr/proto/media";

/** Requests of one summary. */
export const MOST_SUMMED = 2_000;
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

type Summed = Pick<Generation, "createdAt" | "finishedAt" | "status" | "chargedCredits">;

export interface SummaryScope {
  /** Unix milliseconds; undefined = since the oldest of the requests. */
  readonly from: number | undefined;
  readonly to: number;
  /** There are older requests that are not summed. */
  readonly isCut: boolean;
}

/** @param requests newest first */
export function summarize(requests: readonly Summed[], { from, to, isCut }: SummaryScope): RequestSummary {
  const oldest = Number(requests.at(-1)?.createdAt ?? to);
  const first = isCut ? oldest : (from ?? Math.min(oldest, to - LEAST_SPAN_MS));
  const width = widthOf(first, to);
  const start = Math.floor(first / width) * width;
  const count = Math.max(1, Math.floor((to - start) / width) + 1);
  const bars = Array.from({ length: count }, (_, index) => ({
    at: new Date(start + index * width).toISOString(),
    ...{ succeeded: 0, failed: 0, other: 0 },
  }));
  let spend: Credits = 0n;
  const latencies: number[] = [];
  const counts = { succeeded: 0, failed: 0, other: 0 };
  for (const request of requests) {
    const outcome = outcomeOf(request.status);
    counts[outcome] += 1;
    spend += request.chargedCredits ?? 0n;
    if (outcome === "succeeded" && request.finishedAt !== undefined) {
      latencies.push(Number(request.finishedAt - request.createdAt));
    }
    const bar = bars[Math.floor((Number(request.createdAt) - start) / width)];
    if (bar !== undefined) bar[outcome] += 1;
  }
  return {
    requests: requests.length,
    spend: formatCredits(spend),
    ...counts,
    median_latency: medianOf(latencies),
    is_cut: isCut,
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

/** @returns null without numbers */
function medianOf(numbers: readonly number[]): number | null {
  const sorted = numbers.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
