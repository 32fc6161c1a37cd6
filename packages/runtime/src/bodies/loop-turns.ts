// LoopTurns shares the event loop between long work and all other work. One step of long work runs at a time, then all
// other pending work runs for at least that time. Owners of long work alternate, so that many uploads of one account do
// not delay another account's. A worker thread would not help: its answer is copied back in one piece.
import { setImmediate as otherWork } from "node:timers/promises";
import { FairGate, type FairWork } from "./fair-gate.ts";

/** Milliseconds; a shorter turn of the loop has run no other work. */
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

  /** @param now milliseconds that never run back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
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

  /** Resolves when other work has run for `tookMs`, or when there is none. */
  async #letOthersRun(tookMs: number): Promise<void> {
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
