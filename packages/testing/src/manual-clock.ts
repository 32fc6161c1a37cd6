// A clock that moves when a test says so.

export class ManualClock {
  #now: number;

  /** @param start Unix milliseconds. */
  constructor(start: number = Date.UTC(2026, 0, 15, 12)) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  set(now: number): void {
    this.#now = now;
  }
}
