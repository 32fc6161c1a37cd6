// The generations that this process works on now. As long as it lives it renews their leases, so that no other process
// takes them; when it stops it waits for them, then tells them to give up.
import type { GenerationEvents } from "./generation/events.ts";
import type { GenerationStore } from "./generation/store.ts";
import { startRounds } from "./rounds.ts";

export interface LeaseKeeper {
  readonly size: number;
  /** Aborted when the process has waited long enough for what runs. */
  readonly stopping: AbortSignal;
  /** What runs now. */
  ids(): string[];
  /** Keeps the row while `work` runs. @throws Error when it is running already */
  during<T>(id: string, work: () => Promise<T>): Promise<T>;
  start(): void;
  stop(): Promise<void>;
}

/** The listeners have waited for their requests already; this is for work whose client has gone. */
const DRAIN_MS = 3_000;
const GIVE_UP_MS = 1_000;

export function createLeaseKeeper(
  store: GenerationStore,
  leaseMs: number,
  events: GenerationEvents,
): LeaseKeeper {
  const running = new Map<string, Promise<unknown>>();
  const giveUp = new AbortController();
  let stopRenewing: (() => Promise<void>) | undefined;

  async function renew(): Promise<void> {
    if (running.size > 0) await store.renew([...running.keys()], leaseMs);
  }

  return {
    get size() {
      return running.size;
    },
    stopping: giveUp.signal,
    ids: () => [...running.keys()],
    during: async (id, work) => {
      if (running.has(id)) throw new Error(`generation ${id} is running already`);
      const promise = work();
      running.set(id, promise);
      try {
        return await promise;
      } finally {
        running.delete(id);
      }
    },
    start: () => {
      stopRenewing ??= startRounds(renew, leaseMs / 3, events.leasesNotRenewed);
    },
    stop: async () => {
      await settledWithin(running, DRAIN_MS);
      giveUp.abort();
      await settledWithin(running, GIVE_UP_MS);
      await stopRenewing?.();
    },
  };
}

async function settledWithin(running: ReadonlyMap<string, Promise<unknown>>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.allSettled(running.values()), timeout]);
  clearTimeout(timer);
}
