// The mirror of one process. Bounded: what is forgotten for lack of room is asked of PostgreSQL.
import { randomUUID } from "node:crypto";
import type { Clock } from "@gr/runtime";
import { LRUCache } from "lru-cache";
import type { Posted } from "../writer/post-store.ts";
import {
  type AskedPlace,
  deathOf,
  type Epoch,
  refusalOf,
  type SpendMirror,
  type SpendNumbers,
} from "./spend-mirror.ts";

const MOST = 10_000;

interface Entry {
  readonly epoch: string;
  readonly numbers: SpendNumbers;
  readonly diesAt: number;
}

export class LocalSpendMirror implements SpendMirror {
  readonly #clock: Clock;
  readonly #stopwatch: Clock;
  readonly #epochs: LRUCache<string, string>;
  readonly #entries: LRUCache<string, Entry>;

  /**
   * @param clock that windows end by.
   * @param stopwatch milliseconds that never run back.
   * @param most accounts, and spenders, that are remembered.
   */
  constructor(clock: Clock, stopwatch: Clock, most: number = MOST) {
    this.#clock = clock;
    this.#stopwatch = stopwatch;
    this.#epochs = new LRUCache({ max: most });
    this.#entries = new LRUCache({ max: most });
  }

  async admit(places: readonly AskedPlace[]): Promise<(Posted | undefined)[]> {
    return places.map((place) => {
      const entry = this.#entries.get(place.spenderId);
      if (entry === undefined || entry.epoch !== this.#epochs.get(place.accountId)) return undefined;
      if (entry.diesAt <= this.#stopwatch.now()) return undefined;
      return refusalOf(entry.numbers, place, this.#clock.now());
    });
  }

  async begin(accountId: string): Promise<Epoch> {
    let id = this.#epochs.get(accountId);
    if (id === undefined) {
      id = randomUUID();
      this.#epochs.set(accountId, id);
    }
    return { id, begunAt: this.#stopwatch.now() };
  }

  async keep(accountId: string, epoch: Epoch, numbers: ReadonlyMap<string, SpendNumbers>): Promise<void> {
    if (this.#epochs.get(accountId) !== epoch.id) return;
    for (const [spenderId, each] of numbers) {
      this.#entries.set(spenderId, { epoch: epoch.id, numbers: each, diesAt: deathOf(epoch, each) });
    }
  }

  async forget(accountId: string): Promise<void> {
    this.#epochs.delete(accountId);
  }
}
