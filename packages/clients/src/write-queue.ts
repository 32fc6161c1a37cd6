// WriteQueue sends entries that no caller waits for: they gather and are sent together. No money depends on them, so entries
// that repeatedly fail are reported and dropped, and so are the newest if too many wait.
import { startRounds, type Timer } from "@gr/runtime";

export interface WriteQueue<Entry> {
  /** Never throws and never waits. */
  add(entry: Entry): void;
  start(): void;
  /** Writes the remaining entries. */
  stop(): Promise<void>;
}

export interface WriteQueueOptions<Entry> {
  readonly write: (entries: readonly Entry[]) => Promise<unknown>;
  /** Reports entries that will never be written. */
  readonly lost: (entries: number, why: unknown) => void;
  readonly clock: Timer;
  /** Returns the weight of an entry, at least 1. */
  readonly weightOf: (entry: Entry) => number;
  /** Weight in one call, except that of a single heavier entry. */
  readonly mostAtOnce: number;
  /** Weight of the entries that wait. */
  readonly mostWaiting: number;
}

const WRITE_EVERY_MS = 250;
/** Entries in one call. */
const MOST_ENTRIES = 500;
/** Failed calls in a row after which their entries are dropped. */
const MOST_FAILURES = 20;

export function createWriteQueue<Entry>(options: WriteQueueOptions<Entry>): WriteQueue<Entry> {
  const { write, lost, clock, weightOf, mostAtOnce, mostWaiting } = options;
  let waiting: Entry[] = [];
  let weight = 0;
  let failures = 0;
  let stopRounds: (() => Promise<void>) | undefined;

  /** Number of entries of the next call. */
  function nextCount(): number {
    let [count, sum] = [0, 0];
    for (const entry of waiting.slice(0, MOST_ENTRIES)) {
      sum += weightOf(entry);
      if (count > 0 && sum > mostAtOnce) break;
      count += 1;
    }
    return count;
  }

  function drop(count: number): void {
    for (const entry of waiting.slice(0, count)) weight -= weightOf(entry);
    waiting = waiting.slice(count);
  }

  /** @throws if the write failed: the entries wait for the next round */
  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const count = nextCount();
      await write(waiting.slice(0, count));
      failures = 0;
      drop(count);
    }
  }

  function failed(why: unknown): void {
    failures += 1;
    if (failures < MOST_FAILURES) return;
    failures = 0;
    const count = nextCount();
    drop(count);
    lost(count, why);
  }

  return {
    add: (entry) => {
      const more = weightOf(entry);
      if (weight + more > mostWaiting) {
        lost(1, new Error("too many entries wait"));
        return;
      }
      weight += more;
      waiting.push(entry);
    },
    start: () => {
      stopRounds ??= startRounds({ clock, pauseMs: WRITE_EVERY_MS, round: writeAll, failed });
    },
    stop: async () => {
      await stopRounds?.();
      await writeAll().catch((error) => lost(waiting.length, error));
    },
  };
}
