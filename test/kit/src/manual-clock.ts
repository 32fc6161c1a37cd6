// A clock that only a test moves. Sleeps by it are in real time.
import { setTimeout as sleep } from "node:timers/promises";

export class ManualClock {
  #now: number;

  /** @param start Unix milliseconds. */
  constructor(start: number = Date.UTC(2026, 0, 15, 12)) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch((error) => {
      if (signal?.aborted !== true) throw error;
    });
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  set(now: number): void {
    this.#now = now;
  }
}
