// Time as a dependency, so that tests can move it and a simulation can run it.
import { pause } from "./pause.ts";

export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
}

export interface Timer extends Clock {
  /** Resolves after `ms`, or at once when the signal aborts: ask the signal which it was. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Timer = { now: () => Date.now(), sleep: pause };
