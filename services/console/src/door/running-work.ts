// Work of requests that runs. A client that leaves closes its connection and not the work, so a stop that waits for
// connections alone would end the pool under the work's next statement.
import { setImmediate } from "node:timers/promises";

export class RunningWork {
  readonly #running = new Set<Promise<unknown>>();

  run<T>(work: () => Promise<T>): Promise<T> {
    const running = work();
    const ended = running.then(
      () => undefined,
      () => undefined,
    );
    this.#running.add(ended);
    void ended.then(() => this.#running.delete(ended));
    return running;
  }

  /** Resolves when no work runs, also not the next step of a request whose last step has just ended. */
  async ended(): Promise<void> {
    do {
      await Promise.all(this.#running);
      await setImmediate();
    } while (this.#running.size > 0);
  }
}
