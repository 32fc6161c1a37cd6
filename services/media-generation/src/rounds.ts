// Background work in rounds: one after the other, with a pause in between, until stopped. The first comes at once.

/** @returns stops the rounds and waits for the one that runs. */
export function startRounds(
  round: () => Promise<void>,
  pauseMs: number,
  failed: (error: unknown) => void,
): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let running = go();

  async function go(): Promise<void> {
    try {
      await round();
    } catch (error) {
      failed(error);
    }
    if (stopped) return;
    timer = setTimeout(() => {
      running = go();
    }, pauseMs);
  }

  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}
