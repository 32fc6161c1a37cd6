// Deletes claims that have had their time, every few minutes and in small slices, so that nobody waits for it. Several
// processes may sweep at once: each takes what the others do not.
import type { Logger } from "@gr/runtime";

const PAUSE_MS = 300_000;

export class ClaimSweeper {
  readonly #sweep: () => Promise<boolean>;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #stopped = false;

  /** @param sweep deletes one slice; answers true when there may be more. */
  constructor(sweep: () => Promise<boolean>, log: Logger) {
    this.#sweep = sweep;
    this.#log = log;
  }

  start(): void {
    this.#sweeping = this.#sweepAll();
  }

  /** Returns when no statement is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#sweeping;
  }

  async #sweepAll(): Promise<void> {
    try {
      while (!this.#stopped && (await this.#sweep()));
    } catch (error) {
      this.#log.warn({ err: error }, "old claims could not be deleted; the next round tries again");
    }
    if (!this.#stopped) this.#timer = setTimeout(() => this.start(), PAUSE_MS).unref();
  }
}
