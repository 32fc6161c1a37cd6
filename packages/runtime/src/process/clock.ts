// Time as a dependency, so that tests can move it and a simulation can run it.
import { setImmediate } from "node:timers/promises";
import { pause } from "./pause.ts";

export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
}

export interface Timer extends Clock {
  /** Resolves after `ms`, or at once when the signal aborts: ask the signal which it was. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Resolves when the input that is ready has been handled: at once in an idle process. */
export const nextTurn: () => Promise<void> = () => setImmediate();

export const systemClock: Timer = { now: () => Date.now(), sleep: pause };
