// LiveCatalog is the current catalogue of this process: offered models and imported text models, without
// hidden and shut-down ones. Watchers receive the newest state and never a backlog. A watcher that
// disconnects is removed completely. The table in `services/catalog/README.md` has the sources of models and prices.
import { type Catalog, type Model, ModelKind } from "@gr/proto/catalog";
import type { Clock } from "@gr/runtime";
import type { Offer } from "./offer.ts";
import { isoDay } from "./shutdown.ts";
import { type Snapshot, snapshotOf } from "./snapshot.ts";

export interface LiveCatalog {
  current(): Snapshot;
  /** The imported text models, including those that the offer hides. */
  imported(): readonly Model[];
  /** True if there are text models besides the imported ones. */
  offersText(): boolean;
  /** Replaces all but the imported text models. */
  setOffer(offer: Offer): void;
  /** Replaces the imported text models. */
  setTextModels(models: readonly Model[]): void;
  /** Hides models that were shut down since the last call; called periodically. */
  refresh(): void;
  /** The catalogue now and after each change, until the signal is aborted or the catalogue closes. */
  watch(signal: AbortSignal): AsyncGenerator<Catalog>;
  /** Number of watchers that wait for a change now. */
  waiting(): number;
  close(): void;
}

export function createLiveCatalog(options: {
  offer: Offer;
  clock: Clock;
  onChange: (before: Snapshot, after: Snapshot) => void;
}): LiveCatalog {
  const { clock, onChange } = options;
  const wakers = new Set<() => void>();
  let closed = false;
  let { offer } = options;
  let text: readonly Model[] = [];
  let date = isoDay(clock);
  let snapshot = snapshotOf(offer, text, date);

  function rebuild(): void {
    const before = snapshot;
    date = isoDay(clock);
    const after = snapshotOf(offer, text, date);
    if (after.catalog.version === before.catalog.version) return;
    snapshot = after;
    onChange(before, after);
    wakeAll();
  }

  function wakeAll(): void {
    for (const wake of [...wakers]) wake();
  }

  function change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        wakers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      wakers.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  async function* watch(signal: AbortSignal): AsyncGenerator<Catalog> {
    let sent: string | undefined;
    while (!signal.aborted && !closed) {
      const { catalog } = snapshot;
      if (catalog.version === sent) {
        await change(signal);
      } else {
        sent = catalog.version;
        yield catalog;
      }
    }
  }

  return {
    current: () => snapshot,
    imported: () => text,
    offersText: () => offer.models.some(({ kind }) => kind === ModelKind.TEXT),
    setOffer: (next) => {
      offer = next;
      rebuild();
    },
    setTextModels: (models) => {
      text = models;
      rebuild();
    },
    refresh: () => {
      if (isoDay(clock) !== date) rebuild();
    },
    watch,
    waiting: () => wakers.size,
    close: () => {
      closed = true;
      wakeAll();
    },
  };
}
