// CircuitBreaker of one upstream for one model: it orders the routes of a model, and never refuses a request. Failures
// that a request can cause open it only after several accounts had them: no account can open it with prompts. An open
// breaker prefers one request at a time as a probe. The success of any request that was sent since then closes it.

export interface BreakerSettings {
  /** Failures in a row that open the breaker. */
  readonly failures: number;
  /** First pause in milliseconds, doubled after each probe that fails. */
  readonly pauseMs: number;
}

export interface BreakerEvents {
  /** @param pauseMs until the next probe */
  opened(pauseMs: number): void;
  closed(): void;
}

/**
 * `upstream`: nothing answered, or only a proxy in front of the upstream.
 * `unclear`: the upstream answered with an error of its own, which the request may have caused.
 */
export type Fault = "upstream" | "unclear";

export interface BreakerCondition {
  readonly name: "open" | "probing" | "cooling";
  readonly since: number | undefined;
  readonly until: number;
}

/** One running request. Only the first call counts. */
export interface Permit {
  succeeded(): void;
  failed(fault: Fault): void;
  /** The end of this request is no sign of the upstream's state. */
  ignored(): void;
}

type PermitEnd = Fault | "succeeded" | "ignored";

class EnteredPermit implements Permit {
  readonly account: string;
  readonly isProbe: boolean;
  readonly era: number;
  readonly #ended: (permit: EnteredPermit, end: PermitEnd) => void;
  #isOver = false;

  constructor(
    ended: (permit: EnteredPermit, end: PermitEnd) => void,
    account: string,
    isProbe: boolean,
    era: number,
  ) {
    this.#ended = ended;
    this.account = account;
    this.isProbe = isProbe;
    this.era = era;
  }

  succeeded(): void {
    this.#end("succeeded");
  }

  failed(fault: Fault): void {
    this.#end(fault);
  }

  ignored(): void {
    this.#end("ignored");
  }

  #end(end: PermitEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended(this, end);
  }
}

/** Failures in a row. */
interface Run {
  readonly all: number;
  readonly ofUpstream: number;
  /** First account that failed. */
  readonly account: string | undefined;
  readonly hasSeveralAccounts: boolean;
}

const LONGEST_PAUSE_MS = 60_000;
const NO_FAILURES: Run = { all: 0, ofUpstream: 0, account: undefined, hasSeveralAccounts: false };

export class CircuitBreaker {
  readonly #settings: BreakerSettings;
  readonly #now: () => number;
  readonly #events: BreakerEvents;
  #run = NO_FAILURES;
  /** Unix milliseconds of the next probe; undefined while the breaker is closed. */
  #openUntil: number | undefined;
  /** Unix milliseconds of the first opening since the breaker was closed. */
  #openSince: number | undefined;
  #pauseMs = 0;
  #coolUntil = 0;
  #probe: Permit | undefined;
  /** Number of changes: the end of a request that was sent before the last change does not count. */
  #era = 0;

  /** @param now Unix milliseconds */
  constructor(settings: BreakerSettings, now: () => number, events: BreakerEvents) {
    this.#settings = settings;
    this.#now = now;
    this.#events = events;
  }

  get isOpen(): boolean {
    return this.#openUntil !== undefined;
  }

  /** Milliseconds for which other routes are preferred; 0 = none. */
  get waitMs(): number {
    if (this.#openUntil === undefined) return 0;
    const remaining = Math.max(0, this.#openUntil - this.#now());
    return remaining === 0 && this.#probe !== undefined ? this.#settings.pauseMs : remaining;
  }

  /** Returns true if another upstream is preferred now. */
  get isCooling(): boolean {
    return this.#coolUntil > this.#now();
  }

  /** Condition of the route for operators; undefined: usual. Times are Unix milliseconds. */
  get condition(): BreakerCondition | undefined {
    if (this.#openUntil !== undefined) {
      const name = this.#probe === undefined ? "open" : "probing";
      return { name, since: this.#openSince, until: this.#openUntil };
    }
    return this.isCooling ? { name: "cooling", since: undefined, until: this.#coolUntil } : undefined;
  }

  /** Starts a cool-down at the upstream's wish. */
  coolDown(ms: number): void {
    this.#coolUntil = Math.max(this.#coolUntil, this.#now() + ms);
  }

  /** Counts a request of an account, also while the breaker is open. */
  enter(account: string): Permit {
    const isProbe = this.isOpen && this.waitMs === 0;
    const permit = new EnteredPermit(this.#ended, account, isProbe, this.#era);
    if (isProbe) this.#probe = permit;
    return permit;
  }

  readonly #ended = ({ account, isProbe, era }: EnteredPermit, end: PermitEnd): void => {
    if (era !== this.#era) return;
    if (end === "succeeded") this.#succeed();
    else if (end === "ignored") {
      if (isProbe) this.#probe = undefined;
    } else if (!this.isOpen) this.#count(account, end);
    // An unclear failure of a probe lengthens no pause: one account could do that to all.
    else if (isProbe) this.#open(end === "upstream" ? this.#pauseMs * 2 : this.#pauseMs);
  };

  #succeed(): void {
    if (this.isOpen) this.#close();
    else this.#run = NO_FAILURES;
  }

  #count(account: string, fault: Fault): void {
    const run = this.#run;
    this.#run = {
      all: run.all + 1,
      ofUpstream: run.ofUpstream + (fault === "upstream" ? 1 : 0),
      account: run.account ?? account,
      hasSeveralAccounts: run.hasSeveralAccounts || (run.account !== undefined && run.account !== account),
    };
    const { all, ofUpstream, hasSeveralAccounts } = this.#run;
    if ((hasSeveralAccounts ? all : ofUpstream) >= this.#settings.failures)
      this.#open(this.#settings.pauseMs);
  }

  #open(pauseMs: number): void {
    this.#era += 1;
    this.#run = NO_FAILURES;
    this.#probe = undefined;
    this.#pauseMs = Math.min(pauseMs, Math.max(LONGEST_PAUSE_MS, this.#settings.pauseMs));
    this.#openSince ??= this.#now();
    this.#openUntil = this.#now() + this.#pauseMs;
    this.#events.opened(this.#pauseMs);
  }

  #close(): void {
    this.#era += 1;
    this.#probe = undefined;
    this.#openUntil = undefined;
    this.#openSince = undefined;
    this.#coolUntil = 0;
    this.#events.closed();
  }
}
