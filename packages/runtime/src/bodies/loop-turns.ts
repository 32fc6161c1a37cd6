// LoopTurns shares the event loop between long work and all other work. One step of long work runs at a time, then all
// other pending work runs for at least that time. Owners of long work alternate, so that many uploads of one account do
// not delay another account's. A worker thread would not help: its answer is copied back in one piece.
import { setImmediate as otherWork, setTimeout as pauseFor } from "node:timers/promises";
import { FairGate, type FairWork } from "./fair-gate.ts";

/**
 * Milliseconds between two steps, also of an idle loop. Without it six senders of 19 MB bodies cause 140 MB/s of garbage, and its
 * collection delays everybody. One step of 64 KiB for each pause is 60 MB/s, more than a network delivers.
 */
const PAUSE_MS = 1;
/** Milliseconds; a turn of the loop that is shorter has run no other work. */
const IDLE_TURN_MS = 0.1;

export class LoopTurns {
  /** Callers limit the waiting steps to one for each open connection. */
  readonly #gate = new FairGate({
    places: 1,
    perOwner: 1,
    waitingPerOwner: Number.POSITIVE_INFINITY,
    waiting: Number.POSITIVE_INFINITY,
    name: "long bodies",
  });
  readonly #now: () => number;
  readonly #pause: () => Promise<unknown>;

  /** @param now milliseconds that never run back. @param pause resolves when the next step may begin */
  constructor(now: () => number = () => performance.now(), pause = () => pauseFor(PAUSE_MS)) {
    this.#now = now;
    this.#pause = pause;
  }

  /**
   * Runs one step, of about a millisecond, when it is the owner's turn.
   * @throws what the step throws; the signal's reason if it aborts before the step begins
   */
  step<T>(work: FairWork, run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const turn = this.#gate.run(work, async () => {
        const began = this.#now();
        try {
          resolve(run());
        } catch (error) {
          reject(error as Error);
        }
        await this.#letOthersRun(this.#now() - began);
      });
      turn.catch(reject);
    });
  }

  /** Resolves after the pause, when other work has run for `tookMs` or there is none. */
  async #letOthersRun(tookMs: number): Promise<void> {
    await this.#pause();
    let left = tookMs;
    do {
      const before = this.#now();
      await otherWork();
      const ran = this.#now() - before;
      if (ran < IDLE_TURN_MS) return;
      left -= ran;
    } while (left > 0);
  }
}
