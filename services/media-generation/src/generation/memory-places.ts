// MemoryPlaces limit the generations with media in this process's memory. A generation that only waits for a provider has
// no place. If all places are in use, media are read from the wire only when a place is free. Large media need several.
// Accounts share the places, because a place is in use until its client has read the answer.
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Places of an account for each free place. Alone, an account gets three quarters of all places. A client that reads slowly
 * blocks its place for minutes, so some places stay free for accounts without any.
 */
const PLACES_PER_FREE_PLACE = 3;

interface Work {
  /** Account of its places. */
  readonly owner: string;
  /** Pending or granted request for places, if there is one. */
  turn: Promise<void> | undefined;
  /** Number of granted places. */
  places: number;
}

interface Waiting {
  readonly owner: string;
  readonly places: number;
  admit(): void;
}

export class MemoryPlaces {
  readonly #work = new AsyncLocalStorage<Work>();
  readonly #waiting: Waiting[] = [];
  readonly #all: number;
  #free: number;
  /** Places of each owner; no entry is 0. */
  readonly #acquiredBy = new Map<string, number>();

  constructor(places: number) {
    this.#all = places;
    this.#free = places;
  }

  /** Runs work that may acquire places of its owner's share, at any depth. Its end releases them. */
  async during<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const own: Work = { owner, turn: undefined, places: 0 };
    try {
      return await this.#work.run(own, work);
    } finally {
      if (own.turn !== undefined) void own.turn.then(() => this.#release(own));
    }
  }

  /**
   * Resolves when the surrounding work has its places, at once if it already has some: two works with some places each
   * could otherwise wait for each other for ever. Outside of any work it resolves at once.
   * @param places number of places in all, if the work has none. @throws the signal's reason
   */
  async acquire(signal?: AbortSignal, places = 1): Promise<void> {
    const work = this.#work.getStore();
    if (work === undefined) return;
    if (work.turn === undefined) {
      work.places = Math.min(places, this.#all);
      work.turn = this.#enter(work);
    }
    await (signal === undefined ? work.turn : unlessAborted(work.turn, signal));
  }

  /** Queues in the order of the requests, so that a work with many places is not overtaken for ever. */
  #enter({ owner, places }: Work): Promise<void> {
    return new Promise((admit) => {
      this.#waiting.push({ owner, places, admit });
      this.#admitNext();
    });
  }

  #release({ owner, places }: Work): void {
    this.#acquire(owner, -places);
    this.#admitNext();
  }

  #admitNext(): void {
    const beyondShare = new Set<string>();
    for (let at = 0; at < this.#waiting.length; ) {
      const { owner, places, admit } = this.#waiting[at] as Waiting;
      if (beyondShare.has(owner) || !this.#isWithinShare(owner, places)) {
        beyondShare.add(owner);
        at += 1;
        continue;
      }
      if (places > this.#free) return;
      this.#waiting.splice(at, 1);
      this.#acquire(owner, places);
      admit();
    }
  }

  /** An owner without places may acquire any number. */
  #isWithinShare(owner: string, places: number): boolean {
    const acquired = this.#acquiredBy.get(owner) ?? 0;
    return acquired === 0 || acquired + places <= PLACES_PER_FREE_PLACE * (this.#free - places);
  }

  #acquire(owner: string, places: number): void {
    this.#free -= places;
    const acquired = (this.#acquiredBy.get(owner) ?? 0) + places;
    if (acquired === 0) this.#acquiredBy.delete(owner);
    else this.#acquiredBy.set(owner, acquired);
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
