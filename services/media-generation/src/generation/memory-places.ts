// How many generations have media in this process's memory at the same time. Those that only wait for a provider have none
// and are not counted; one whose media come while all places are taken leaves them on the wire until a place is free. What is
// large takes several.
import { AsyncLocalStorage } from "node:async_hooks";

interface Work {
  /** Its turn, if it has asked for a place. */
  turn: Promise<void> | undefined;
  /** How many it has then. */
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

  /** The work may take places, wherever it comes to hold media; they are given back at its end. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const own: Work = { turn: undefined, places: 0 };
    try {
      return await this.#work.run(own, work);
    } finally {
      if (own.turn !== undefined) void own.turn.then(() => this.#giveBack(own.places));
    }
  }

  /**
   * Resolves when the work within which it is called has its places, at once if it has some already: two that have some and
   * want more could wait for each other for ever. Outside of any work there is nothing to wait for.
   * @param places all that there are, if it wants more. @throws the signal's reason
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

  /** In the order in which they come, so that whoever wants many gets them, too. */
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
