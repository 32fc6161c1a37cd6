// Counts the requests that have a hold in this process: a limit on how many there may be, and a way to wait for the
// last of them when the process stops.
export class RunningRequests {
  readonly #most: number;
  #count = 0;
  #whenNone: (() => void) | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#count;
  }

  /** False when there are too many; otherwise leave() is to be called exactly once. */
  enter(): boolean {
    if (this.#count >= this.#most) return false;
    this.#count += 1;
    return true;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#whenNone?.();
  }

  /** Resolves when none is left, or after `ms`. */
  async drained(ms: number): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#whenNone = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
