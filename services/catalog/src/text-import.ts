// Keeps the text models of one upstream up to date: at start, then at every interval, sooner after a failure.
// Whatever goes wrong, the last good listing stays: in memory, and in Postgres for the next start.
import type { TextUpstream } from "@gr/clients";
import type { Model } from "@gr/proto/catalog";
import { type Clock, pause, sentenceOf } from "@gr/runtime";
import type { CatalogEvents } from "./events.ts";
import { fetchListing } from "./fetch-listing.ts";
import type { LiveCatalog } from "./live-catalog.ts";
import type { PriceStore } from "./price-store.ts";
import type { TextStore } from "./store.ts";
import { type Listing, readListing, UnusableListing } from "./text-listing.ts";
import { modelOfText, type TextModel } from "./text-model.ts";

const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 60_000;
/** A listing that lost more than half of its models is believed when so many intervals have shown it. */
const SHRUNKEN_SEEN = 3;
/** How long a start waits for the first import, so that whoever starts next finds the models. */
const START_PATIENCE_MS = 1_000;

export interface TextImport {
  /** Shows the stored listing: before anybody can ask, so that a restart hides no model even for a moment. */
  restore(): Promise<void>;
  /** What the upstream lists now, as models; nothing is shown or stored. @throws UnusableListing */
  preview(): Promise<Model[]>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface TextImportOptions {
  readonly upstream: TextUpstream;
  readonly store: TextStore;
  readonly prices: PriceStore;
  readonly live: LiveCatalog;
  readonly events: CatalogEvents;
  readonly clock: Clock;
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

export function createTextImport(options: TextImportOptions): TextImport {
  const { upstream, store, prices, live, events, clock } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let good: readonly TextModel[] = [];
  let restored = false;
  let shrunken = 0;
  let running: Promise<void> | undefined;

  const modelsOf = (models: readonly TextModel[]) => models.map((model) => modelOfText(model, upstream.name));

  /** A charge may name a price as soon as it is shown, so it is kept before. */
  async function show(texts: readonly TextModel[]): Promise<void> {
    const models = modelsOf(texts);
    await prices.keep(models, clock.now());
    good = texts;
    live.setTextModels(models);
  }

  async function read(kind: "openrouter" | "vercel"): Promise<Listing> {
    return readListing(kind, await fetchListing(upstream, { timeoutMs: options.timeoutMs, signal }));
  }

  /** False while it may be an accident. @throws UnusableListing */
  function believe({ models, skipped }: Listing): boolean {
    if (models.length === 0) {
      throw new UnusableListing(`none of its models can be used (${JSON.stringify(skipped)})`);
    }
    shrunken = models.length * 2 < good.length ? shrunken + 1 : 0;
    if (shrunken > 0 && shrunken < SHRUNKEN_SEEN) return false;
    shrunken = 0;
    return true;
  }

  async function importOnce(kind: "openrouter" | "vercel"): Promise<void> {
    const listing = await read(kind);
    if (!believe(listing)) {
      events.textListingDoubted(upstream.name, good.length, listing.models.length);
      return;
    }
    await store.save(upstream, listing.models, clock.now());
    await show(listing.models);
    events.textImported(upstream.name, listing);
  }

  async function importForever(kind: "openrouter" | "vercel", attempted: () => void): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      let wait = options.intervalMs;
      try {
        await importOnce(kind);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        wait = Math.min(RETRY_FIRST_MS * 2 ** failures, RETRY_MAX_MS, options.intervalMs);
        failures = Math.min(failures + 1, 20);
        events.textImportFailed(upstream.name, sentenceOf(error), wait);
      }
      attempted();
      await pause(wait, signal);
    }
  }

  return {
    restore: async () => {
      if (upstream.kind === "openai") return;
      const stored = await store.load(upstream);
      if (stored === undefined) return;
      await show(stored);
      restored = true;
    },
    preview: async () => {
      const { kind } = upstream;
      if (kind === "openai") throw new UnusableListing("it lists no prices");
      return modelsOf((await read(kind)).models);
    },
    start: async () => {
      const { kind } = upstream;
      if (kind === "openai") {
        events.textImportImpossible(upstream.name);
        return;
      }
      const first = Promise.withResolvers<void>();
      running = importForever(kind, first.resolve);
      if (!restored) await Promise.race([first.promise, pause(START_PATIENCE_MS, signal)]);
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
