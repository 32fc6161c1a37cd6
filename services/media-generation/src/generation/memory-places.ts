// How many generations have media in this process's memory at the same time. Those that only wait for a provider have none
// and are not counted; one whose media come while all places are taken leaves them on the wire until a place is free. What is
// large takes several. Accounts share the places, since a place is kept until its client has read the answer.
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Places that an account may have for each that is free: alone three quarters of all. A client that reads slowly keeps its place
 * for minutes, so some are always free for an account that has none.
 */
const PLACES_PER_FREE_PLACE = 3;

interface Work {
  /** Account of its places. */
  readonly owner: string;
  /** Its turn, if it has asked for a place. */
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
  /** None is 0. */
  readonly #takenBy = new Map<string, number>();

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
      if (own.turn !== undefined) void own.turn.then(() => this.#giveBack(own));
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
      work.turn = this.#enter(work);
    }
    await (signal === undefined ? work.turn : unlessAborted(work.turn, signal));
  }

  /** In the order in which they come, so that whoever wants many gets them, too. */
  #enter({ owner, places }: Work): Promise<void> {
    return new Promise((admit) => {
      this.#waiting.push({ owner, places, admit });
      this.#admitNext();
    });
  }

  #giveBack({ owner, places }: Work): void {
    this.#take(owner, -places);
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
      this.#take(owner, places);
      admit();
    }
  }

  /** An owner without places has its turn however many it wants. */
  #isWithinShare(owner: string, places: number): boolean {
    const taken = this.#takenBy.get(owner) ?? 0;
    return taken === 0 || taken + places <= PLACES_PER_FREE_PLACE * (this.#free - places);
  }

  #take(owner: string, places: number): void {
    this.#free -= places;
    const taken = (this.#takenBy.get(owner) ?? 0) + places;
    if (taken === 0) this.#takenBy.delete(owner);
    else this.#takenBy.set(owner, taken);
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
