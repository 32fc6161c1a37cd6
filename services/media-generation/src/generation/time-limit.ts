// Limits in time that go by the clock of the process, so that a simulation can run them.
import type { Timer } from "@gr/runtime";

/**
 * @param work gets a signal that aborts with a TimeoutError when its time is over, or with `outer`; it must end then.
 * @param ms at least 1
 */
export async function withinTime<T>(
  clock: Timer,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const ended = new AbortController();
  const limit = new AbortController();
  void clock.sleep(ms, ended.signal).then(() => {
    if (!ended.signal.aborted) limit.abort(new DOMException(`${ms} ms have passed`, "TimeoutError"));
  });
  try {
    return await work(outer === undefined ? limit.signal : AbortSignal.any([limit.signal, outer]));
  } finally {
    ended.abort();
  }
}

/** Whether a signal says that the time is over, and not that somebody gave up. */
export function isTimeout({ reason }: AbortSignal): boolean {
  return (reason as Error | null)?.name === "TimeoutError";
}
