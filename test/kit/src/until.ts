// Waits for a condition, and reports the last fault if it stays false.

const PAUSE_MS = 10;

/** Polls until `check` returns true. A check that throws counts as false. @throws Error after the time limit */
export async function until(
  check: () => Promise<boolean> | boolean,
  options: { timeoutMs: number },
): Promise<void> {
  const deadline = Date.now() + options.timeoutMs;
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
      throw new Error(`not true within ${options.timeoutMs} ms${reason}`, { cause: last });
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
