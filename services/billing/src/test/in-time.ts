// What the mirror knows lives for a second of real time. A test that stood still meanwhile has proved nothing, and is
// run again; one that was quick and failed has failed.
import { NUMBERS_LIFETIME_MS } from "../mirror/spend-mirror.ts";

const MOST_TRIES = 20;

/** @param work may be run several times, so it makes what it needs itself. */
export async function inTime(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const begun = performance.now();
    try {
      await work();
      return;
    } catch (error) {
      const stoodStill = performance.now() - begun > NUMBERS_LIFETIME_MS / 4;
      if (!stoodStill || tries === MOST_TRIES) throw error;
    }
  }
}
