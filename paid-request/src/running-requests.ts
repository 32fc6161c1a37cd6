// The requests that this process works on: how many there may be, which of them another process must not take, and how
// they are told to give up.

/** Keeps a request in the set until it has left. */
export interface Running {
  /** Aborted when the process must stop, or when the hold is no longer this request's. */
  readonly signal: AbortSignal;
  giveUp(why: string): void;
  leave(): void;
}

export class RunningRequests {
  readonly #most: number;
  readonly #running = new Map<string, AbortController>();
  /** Those that callers wait for; the others are resolved or resumed. */
  #served = 0;
  #whenNone: (() => void) | undefined;

  /** @param most requests at a time that callers wait for */
  constructor(most: number) {
    this.#most = most;
  }

  get served(): number {
    return this.#served;
  }

  ids(): string[] {
    return [...this.#running.keys()];
  }

  has(id: string): boolean {
    return this.#running.has(id);
  }

  /** For a caller. @returns undefined when there are too many. @throws Error when the id is running already */
  serve(id: string): Running | undefined {
    if (this.#served >= this.#most) return undefined;
    return this.#enter(id, 1);
  }

  /** For a request whose caller has gone: nobody's place is taken. @throws Error when the id is running already */
  resolve(id: string): Running {
    return this.#enter(id, 0);
  }

  giveUp(id: string, why: string): void {
    this.#running.get(id)?.abort(new Error(why));
  }

  giveUpAll(why: string): void {
    for (const controller of this.#running.values()) controller.abort(new Error(why));
  }

  /** Resolves when none is left. */
  drained(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenNone = resolve;
    });
  }

  #enter(id: string, places: number): Running {
    if (this.#running.has(id)) throw new Error(`request ${id} is running already`);
    const controller = new AbortController();
    this.#running.set(id, controller);
    this.#served += places;
    let left = false;
    return {
      signal: controller.signal,
      giveUp: (why) => controller.abort(new Error(why)),
      leave: () => {
        if (left) return;
        left = true;
        this.#running.delete(id);
        this.#served -= places;
        if (this.#running.size === 0) this.#whenNone?.();
      },
    };
  }
}
