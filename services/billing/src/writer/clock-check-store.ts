// Clock check owns the difference between the clock of this process and the clock of PostgreSQL. An account never goes back in time, so
// a process that is far ahead would open the next window of each budget for all processes.
import { ServiceError } from "@gr/proto";
import type { Clock, Logger, Pool, PoolClient } from "@gr/runtime";

/** Milliseconds by which the clock of a process may be ahead of the clock of PostgreSQL. */
export const MOST_CLOCK_ERROR_MS = 600_000;
/** Age of a comparison after which the next flush repeats it. */
const KEPT_MS = 10_000;
/** The same while the clock is wrong. */
const WRONG_FOR_MS = 1_000;
/** Change of the clock beside the stopwatch that counts as a new setting of the clock. */
const SET_MS = 5_000;
const RETRY_AFTER_MS = 1_000;

const DATABASE_TIME = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now";

export interface ClockCheckOptions {
  readonly clock: Clock;
  /** Milliseconds that never run back. */
  readonly stopwatch: Clock;
  readonly log: Logger;
}

interface Comparison {
  readonly stopwatch: number;
  readonly clock: number;
  readonly leadMs: number;
}

export class ClockCheck {
  readonly #options: ClockCheckOptions;
  #latest: Comparison | undefined;

  constructor(options: ClockCheckOptions) {
    this.#options = options;
  }

  /** Sentence for the operator; undefined if the clock was right at the latest comparison. */
  get problem(): string | undefined {
    const { leadMs = 0 } = this.#latest ?? {};
    if (leadMs <= MOST_CLOCK_ERROR_MS) return undefined;
    const seconds = Math.round(leadMs / 1_000);
    return `The clock of this process is ${seconds} s ahead of PostgreSQL's, so it decides about no money until one of both is set right`;
  }

  /** Compares the clocks, unless the latest comparison is young and the clock was not set since. @throws ServiceError billing_unavailable */
  async requireRightClock(client: Pool | PoolClient): Promise<void> {
    if (this.#isDue()) await this.compare(client);
    if (this.problem === undefined) return;
    const message = "The clock of a billing process is wrong, so nothing was decided; try again shortly.";
    throw new ServiceError("billing_unavailable", message, { retryAfterMs: RETRY_AFTER_MS });
  }

  async compare(client: Pool | PoolClient): Promise<void> {
    const { clock, stopwatch, log } = this.#options;
    const before = this.problem;
    const { rows } = await client.query<{ now: number }>({ name: "database_time", text: DATABASE_TIME });
    const now = { stopwatch: stopwatch.now(), clock: clock.now() };
    this.#latest = { ...now, leadMs: now.clock - (rows[0]?.now ?? now.clock) };
    if (this.problem !== undefined && before === undefined) log.error(this.problem);
    if (this.problem === undefined && before !== undefined)
      log.info("The clock of this process is right again");
  }

  #isDue(): boolean {
    if (this.#latest === undefined) return true;
    const { clock, stopwatch } = this.#options;
    const age = stopwatch.now() - this.#latest.stopwatch;
    const isSet = Math.abs(clock.now() - this.#latest.clock - age) > SET_MS;
    return isSet || age >= (this.problem === undefined ? KEPT_MS : WRONG_FOR_MS);
  }
}
