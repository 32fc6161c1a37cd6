// Durations in virtual milliseconds. Shorter than the real settings, and in the proportions that make trouble: retries
// can outlast the grace, leases end while their owner sleeps, packets come after everybody has given up.

export const RPC_TIMEOUT_MS = 2_000;
export const SETTLE_ATTEMPTS = 5;
export const FIRST_PAUSE_MS = 100;

/** TEXT_TOTAL_TIMEOUT_MS and MEDIA_TIMEOUT_MS. */
export const UPSTREAM_TIMEOUT_MS = 20_000;
export const HOLD_GRACE_MS = 15_000;
export const RESOLVE_INTERVAL_MS = 5_000;
export const HOLD_LEASE_MS = 3 * RESOLVE_INTERVAL_MS;
export const ROW_LEASE_MS = 4_000;
export const EARLY_LOOK_UPS_MS: readonly number[] = [1_000, 5_000];
/** Before each look-up of a usage that is missing. */
export const USAGE_LOOK_UPS_MS: readonly number[] = [0, 500, 1_500];

/** Between two polls of a queued job. */
export const POLL_PAUSE_MS = 1_500;

/** As long as in the contract: it is passed over, not lived through. */
export const CLAIM_LIFETIME_MS = 86_400_000;

export const KEY_FRESH_MS = 5_000;
export const MIRROR_FRESH_MS = 1_000;
export const REDIS_TIMEOUT_MS = 100;
/** How long a refused key is looked for in the mirror. */
export const SUSPECT_MS = 10_000;
