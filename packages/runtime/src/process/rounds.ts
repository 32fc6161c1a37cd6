// Background work in rounds: one after the other, with a pause in between, until stopped.
import type { Timer } from "./clock.ts";

export interface Rounds {
  readonly clock: Timer;
  readonly pauseMs: number;
  /** Does one round; the first starts at once. After the signal, a stop waits only for the end of this round. */
  readonly round: (stopping: AbortSignal) => Promise<void>;
  /** Receives the error of a round; the next round runs nevertheless. */
  readonly failed: (error: unknown) => void;
}

/** @returns stops the rounds and waits for the one that runs. */
export function startRounds({ clock, pauseMs, round, failed }: Rounds): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  async function run(): Promise<void> {
    while (!signal.aborted) {
      await round(signal).catch(failed);
      await clock.sleep(pauseMs, signal);
    }
  }
  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}
