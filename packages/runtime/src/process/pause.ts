// Pause waits until its time ends or a signal aborts it: every pause of ours has a bound and an owner.
import { setTimeout as sleep } from "node:timers/promises";

/** Resolves after `ms`, or at once when the signal aborts: ask the signal which it was. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}
