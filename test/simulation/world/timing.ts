// Timing owns durations in virtual milliseconds. They are shorter than the real settings, in proportions that cause faults: retries can outlast
// the grace, leases end while their owner sleeps, packets arrive after all timeouts.

export const RPC_TIMEOUT_MS = 2_000;

/** How long an answer in one piece, an image, or the beginning of a stream may take. */
export const UPSTREAM_TIMEOUT_MS = 20_000;
/** Longest duration of a stream. */
export const STREAM_TIMEOUT_MS = 90_000;
/** How long a stream is read to its end for a client that has left. */
export const DRAIN_MS = 25_000;
export const HOLD_GRACE_MS = 15_000;
/** A text request's hold, at first and when it is renewed. */
export const HOLD_FOR_MS = UPSTREAM_TIMEOUT_MS + HOLD_GRACE_MS;
export const RESOLVE_INTERVAL_MS = 5_000;
export const HOLD_LEASE_MS = 3 * RESOLVE_INTERVAL_MS;
export const ROW_LEASE_MS = 4_000;
export const RENEW_ROWS_MS = 1_333;
export const RENEW_HOLDS_MS = 3_333;
/** When bills are searched for. The pauses of one search, one after the other. */
export const SEARCH_PAUSES = {
  open: [1_000, 4_001],
  failed: [1_000, 4_001, 20_000],
  unresolved: [20_000, 60_000],
} as const;
/** Promised time of the search for the bill of a delivered answer, from its end. */
export const BILL_LOOKED_FOR_MS = 2_000;

/** Between two polls of a queued job. */
export const POLL_PAUSE_MS = 1_500;

/** The value of the contract: the world skips this time in one step. */
export const CLAIM_LIFETIME_MS = 86_400_000;

/** Time for which an account that was read refuses hopeless places without a statement, as in production. */
export const CONFIRMED_FOR_MS = 1_000;

/** Most that a clock of ours is wrong. */
export const MOST_SKEW_MS = 2_000;

/** Rule and first duration of the cool-down of an upstream. A history has too few requests for failures in a row. */
export const BREAKER = { failures: 1, pauseMs: 4_000 } as const;
/** Time for which an upstream that asks for patience is the last choice. */
export const REST_MS = 2_000;

/** Requests of one process: more than a history sends at once. */
export const MOST_RUNNING = 1_000;
