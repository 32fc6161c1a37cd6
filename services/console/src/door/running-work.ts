// RunningWork counts the running work of requests. A disconnect closes a connection but not its work, so a stop that
// waits only for connections would close the pool under the next statement.
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

  /** Resolves when no work runs, not even the next step of a request that has just finished one. */
  async ended(): Promise<void> {
    do {
      await Promise.all(this.#running);
      await setImmediate();
    } while (this.#running.size > 0);
  }
}
