// RetrySchedule decides about a delivery after an attempt without success: a next attempt at ten times within 24 h, or
// none. The pauses are those of the specification of Standard Webhooks.

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** Time of each attempt after the first, from the first on. */
const OFFSETS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
const LAST_OFFSET_MS = 24 * HOUR_MS;
/** Random part of a pause, so that receivers that return are not flooded. */
const JITTER = 0.1;
const SHORTEST_PAUSE_MS = 5 * SECOND_MS;
/** The receiver does not want this address to be called again. */
const GONE = 410;

export const MOST_ATTEMPTS = OFFSETS_MS.length + 1;

/** Attempt without success. */
export interface Failure {
  /** Absent without an answer. */
  readonly status?: number | undefined;
  readonly error: string;
  /** Pause that the receiver asks for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** No later attempt can succeed. */
  readonly isFinal?: boolean | undefined;
}

/**
 * @param attempts including the failed one. @param now Unix milliseconds. @param random from 0 to 1
 * @returns Unix milliseconds of the next attempt; undefined if there is none
 */
export function nextAttemptAt(
  { startedAt, attempts }: { readonly startedAt: number; readonly attempts: number },
  { status, retryAfterMs = 0, isFinal }: Failure,
  now: number,
  random: number,
): number | undefined {
  const offset = OFFSETS_MS[attempts - 1];
  if (isFinal || status === GONE || offset === undefined) return undefined;
  const gap = offset - (OFFSETS_MS[attempts - 2] ?? 0);
  const planned = startedAt + offset + gap * JITTER * random;
  const wanted = Math.min(now + retryAfterMs, startedAt + LAST_OFFSET_MS);
  return Math.max(planned, wanted, now + SHORTEST_PAUSE_MS);
}
