// Whether one upstream is worth asking for one model. After failures in a row it is not asked for a while; then one request
// tries it, and all others go elsewhere until that one is answered. What an upstream asks for itself (to be left alone for
// some seconds) makes it the last choice, and no more than that.

export interface BreakerSettings {
  /** As many failures in a row open it. */
  readonly failures: number;
  /** For so long at first; twice as long after each try that fails. */
  readonly pauseMs: number;
}

export interface BreakerEvents {
  /** @param pauseMs until it is tried again */
  opened(pauseMs: number): void;
  closed(): void;
}

/** One request on its way. The first word counts. */
export interface Passage {
  succeeded(): void;
  failed(): void;
  /** It says nothing about the upstream. */
  left(): void;
}

const LONGEST_PAUSE_MS = 60_000;

export class CircuitBreaker {
  readonly #settings: BreakerSettings;
  readonly #now: () => number;
  readonly #events: BreakerEvents;
  #failures = 0;
  /** When it is tried again; undefined while it is closed. */
  #openUntil: number | undefined;
  #pauseMs = 0;
  #restsUntil = 0;
  /** The request that tries it. */
  #probe: Passage | undefined;
  /** What was sent before the last change says nothing about what has been since. */
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

  /** Milliseconds until it may be asked; 0 = now. */
  get waitMs(): number {
    if (this.#openUntil === undefined) return 0;
    const left = Math.max(0, this.#openUntil - this.#now());
    return left === 0 && this.#probe !== undefined ? this.#settings.pauseMs : left;
  }

  /** Whether another upstream is to be preferred now. */
  get rests(): boolean {
    return this.#restsUntil > this.#now();
  }

  /** It has asked to be left alone. */
  rest(ms: number): void {
    this.#restsUntil = Math.max(this.#restsUntil, this.#now() + ms);
  }

  /** @returns undefined when it may not be asked now */
  enter(): Passage | undefined {
    if (this.#openUntil === undefined) return this.#passage(false);
    if (this.waitMs > 0) return undefined;
    this.#probe = this.#passage(true);
    return this.#probe;
  }

  #passage(isProbe: boolean): Passage {
    const era = this.#era;
    let over = false;
    const once = (act: () => void) => () => {
      if (over) return;
      over = true;
      if (era === this.#era) act();
    };
    return {
      succeeded: once(() => (isProbe ? this.#close() : this.#forget())),
      failed: once(() => (isProbe ? this.#open(this.#pauseMs * 2) : this.#count())),
      left: once(() => {
        if (isProbe) this.#probe = undefined;
      }),
    };
  }

  #forget(): void {
    this.#failures = 0;
  }

  #count(): void {
    this.#failures += 1;
    if (this.#failures >= this.#settings.failures) this.#open(this.#settings.pauseMs);
  }

  #open(pauseMs: number): void {
    this.#era += 1;
    this.#failures = 0;
    this.#probe = undefined;
    this.#pauseMs = Math.min(pauseMs, Math.max(LONGEST_PAUSE_MS, this.#settings.pauseMs));
    this.#openUntil = this.#now() + this.#pauseMs;
    this.#events.opened(this.#pauseMs);
  }

  #close(): void {
    this.#era += 1;
    this.#probe = undefined;
    this.#openUntil = undefined;
    this.#restsUntil = 0;
    this.#events.closed();
  }
}
