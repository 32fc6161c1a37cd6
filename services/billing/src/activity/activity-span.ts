// Activity span owns the buckets of a time axis in UTC: hours, days, weeks from Monday, and months.
import { windowEnd, windowStart } from "@gr/ledger";
import { invalid } from "../rpc/field-rules.ts";

export const BUCKETS = ["hour", "day", "week", "month"] as const;
export type Bucket = (typeof BUCKETS)[number];

export const MOST_BUCKETS = 400;
const HOUR_MS = 3_600_000;
/** Buckets of a range without a begin. */
const USUAL: Readonly<Record<Bucket, number>> = { hour: 24, day: 30, week: 12, month: 12 };

export interface Span {
  readonly bucket: Bucket;
  /** Begins of all buckets, oldest first, Unix milliseconds. */
  readonly begins: readonly number[];
  /** End of the last bucket. */
  readonly end: number;
}

/** @returns the begin of the bucket with this moment */
function beginOf(bucket: Bucket, at: number): number {
  if (bucket === "hour") return Math.floor(at / HOUR_MS) * HOUR_MS;
  return windowStart(bucket, at) ?? at;
}

function endOf(bucket: Bucket, begin: number): number {
  return bucket === "hour" ? begin + HOUR_MS : windowEnd(bucket, begin);
}

/**
 * Returns the whole buckets of a range: the first one contains `from`.
 * @param from Unix milliseconds; absent: the usual number of buckets. @param until Unix milliseconds, the first moment behind
 * @throws ServiceError invalid_value
 */
export function spanOf(bucket: Bucket, from: number | undefined, until: number): Span {
  if (from !== undefined && from >= until) throw invalid("from", "It must be earlier than to");
  const begins: number[] = [];
  if (from === undefined) {
    for (let at = until - 1; begins.length < USUAL[bucket]; at = (begins[0] ?? 0) - 1) {
      begins.unshift(beginOf(bucket, at));
    }
  } else {
    for (let begin = beginOf(bucket, from); begin < until; begin = endOf(bucket, begin)) {
      if (begins.length === MOST_BUCKETS) {
        throw invalid(
          "bucket",
          `The range has more than ${MOST_BUCKETS} buckets; ask for larger ones, or for less time`,
        );
      }
      begins.push(begin);
    }
  }
  return { bucket, begins, end: endOf(bucket, begins.at(-1) ?? 0) };
}
