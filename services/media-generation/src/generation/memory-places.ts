// MemoryPlaces limit the generations with media in this process's memory. A generation that only waits for a
// provider has no place. If all places are in use, media are read from the wire only when a place is free.
// Large media need several places.
import { AsyncLocalStorage } from "node:async_hooks";

interface Work {
  /** Pending or granted request for places, if there is one. */
  turn: Promise<void> | undefined;
  /** Number of granted places. */
  places: number;
}

interface Waiting {
  readonly places: number;
  admit(): void;
}

export class MemoryPlaces {
  readonly #work = new AsyncLocalStorage<Work>();
  readonly #waiting: Waiting[] = [];
  readonly #all: number;
  #free: number;

  constructor(places: number) {
    this.#all = places;
    this.#free = places;
  }

  /** Runs work that may acquire places at any time. Its places are released at its end. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const own: Work = { turn: undefined, places: 0 };
    try {
      return await this.#work.run(own, work);
    } finally {
      if (own.turn !== undefined) void own.turn.then(() => this.#giveBack(own.places));
    }
  }

  /**
   * Resolves when the surrounding work has its places, at once if it already has some: two works with some places each
   * could otherwise wait for each other for ever. Outside of any work it resolves at once.
   * @param places number of places in all, if the work has none. @throws the signal's reason
   */
  async take(signal?: AbortSignal, places = 1): Promise<void> {
    const work = this.#work.getStore();
    if (work === undefined) return;
    if (work.turn === undefined) {
      work.places = Math.min(places, this.#all);
      work.turn = this.#enter(work.places);
    }
    await (signal === undefined ? work.turn : unlessAborted(work.turn, signal));
  }

  /** In the order of the requests, so that a work with many places is not overtaken for ever. */
  #enter(places: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#free >= places) {
      this.#free -= places;
      return Promise.resolve();
    }
    return new Promise((admit) => this.#waiting.push({ places, admit }));
  }

  #giveBack(places: number): void {
    this.#free += places;
    for (
      let next = this.#waiting[0];
      next !== undefined && this.#free >= next.places;
      [next] = this.#waiting
    ) {
      this.#waiting.shift();
      this.#free -= next.places;
      next.admit();
    }
  }
}

async function unlessAborted(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([turn, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
