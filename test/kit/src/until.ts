// Waits for a condition, and reports the last fault if it stays false.

const PAUSE_MS = 10;
/** A tenth of the time so far: most checks ask a server, and a long wait needs few of them. */
const PAUSES_PER_WAIT = 10;
const LONGEST_PAUSE_MS = 100;

/**
 * Polls until `check` returns true. A check that throws counts as false. A check that needs much processor time has a longer pause.
 * @throws Error after the time limit
 */
export async function until(
  check: () => Promise<boolean> | boolean,
  { timeoutMs, pauseMs = PAUSE_MS }: { timeoutMs: number; pauseMs?: number },
): Promise<void> {
  const began = Date.now();
  const deadline = began + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      if (await check()) return;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() >= deadline) {
      const reason = last instanceof Error ? `: ${last.message}` : "";
      throw new Error(`not true within ${timeoutMs} ms${reason}`, { cause: last });
    }
    const growing = Math.min((Date.now() - began) / PAUSES_PER_WAIT, LONGEST_PAUSE_MS);
    await new Promise((resolve) => setTimeout(resolve, Math.max(pauseMs, growing)));
  }
}
