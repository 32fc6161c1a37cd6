// Time limits use the process's injected clock, so that a simulation can run them.
import type { Timer } from "@gr/runtime";

/**
 * @param work receives a signal that aborts with a TimeoutError at its time limit, or with `outer`; it must end then.
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

/** Returns true if the signal timed out, false if it was aborted for another reason. */
export function isTimeout({ reason }: AbortSignal): boolean {
  return (reason as Error | null)?.name === "TimeoutError";
}
