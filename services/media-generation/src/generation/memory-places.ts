// How many generations have media in this process's memory at the same time. Those that only wait for a provider have none
// and are not counted; one whose media come while all places are taken leaves them on the wire until a place is free.
import { AsyncLocalStorage } from "node:async_hooks";

interface Work {
  /** Its turn for a place, if it has asked for one. */
  place: Promise<void> | undefined;
}

export class MemoryPlaces {
  readonly #work = new AsyncLocalStorage<Work>();
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  /** The work may take a place, wherever it comes to hold media; the place is given back at its end. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const own: Work = { place: undefined };
    try {
      return await this.#work.run(own, work);
    } finally {
      if (own.place !== undefined) void own.place.then(() => this.#giveBack());
    }
  }

  /**
   * Resolves when the work within which it is called has its place, at once if it has it already. Outside of any work
   * there is nothing to wait for. @throws the signal's reason
   */
  async take(signal?: AbortSignal): Promise<void> {
    const work = this.#work.getStore();
    if (work === undefined) return;
    work.place ??= this.#enter();
    await (signal === undefined ? work.place : unlessAborted(work.place, signal));
  }

  #enter(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((admit) => this.#waiting.push(admit));
  }

  /** The place is handed on, not freed and taken again, so that nobody slips in between. */
  #giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
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
