// Time as a dependency, so that tests can move it.

/** Unix time in milliseconds. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
