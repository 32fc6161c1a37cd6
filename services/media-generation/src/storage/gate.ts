// Lets a few tasks run at a time and the rest wait in order.

export type Gate = <T>(task: () => Promise<T>) => Promise<T>;

/** @param limit tasks at a time. Those who wait are bounded by the callers: each waits with work already admitted. */
export function createGate(limit: number): Gate {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (running < limit) running += 1;
    else await new Promise<void>((admit) => waiting.push(admit));
    try {
      return await task();
    } finally {
      // The place is handed on, not freed and taken again, so that nobody slips in between.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
