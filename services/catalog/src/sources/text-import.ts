// TextImport copies the list of one text upstream: at the start, at intervals and at an operator's
// request. After any failure the last good listing remains, in memory and in Postgres. Other processes
// find a new one there within a second.

import { type Clock, pause, sentenceOf } from "@gr/runtime";
import type { TextModel, TextUpstream } from "@gr/text-upstream";
import type { CatalogEvents } from "../events.ts";
import { type Listing, readListing, UnusableListing } from "../files/text-listing.ts";
import type { TextPriceList } from "../files/text-price-list.ts";
import type { LiveCatalog } from "../offer/live-catalog.ts";
import { isOnSale, isoDay } from "../offer/shutdown.ts";
import { fetchListing } from "./fetch-listing.ts";
import type { StoredListing, TextListingStore } from "./text-listing-store.ts";

const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 60_000;
/** Number of imports in a row that confirm a listing without half of its earlier models. */
const SHRUNKEN_SEEN = 3;
/** Interval of the search for another process's import, in milliseconds. */
const FOLLOW_MS = 1_000;
/** Milliseconds that a start waits for the first import, so that the services that start next find the models. */
const START_PATIENCE_MS = 1_000;
const UNPRICED =
  "it lists no prices, and our price list has none of its models: write their prices into a file, and name the file in TEXT_PRICE_FILE";

export interface TextImport {
  /** Shows the stored listing. Called before the first request, so that a restart hides no model even for a moment. */
  restore(): Promise<void>;
  /** Returns the upstream's present list; nothing is shown or stored. @throws UnusableListing */
  preview(): Promise<readonly TextModel[]>;
  /**
   * Imports now, after a running import. A listing without most of its earlier models is refused: only the schedule
   * can confirm it by repetition.
   * @throws UnusableListing; nothing has changed then
   */
  sync(): Promise<void>;
  /** State of the last import, scheduled or requested. */
  state(): ImportState;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** `problem` is a sentence for the operator, without its full stop. */
export type ImportState =
  | { readonly state: "running" | "done" }
  | { readonly state: "failed"; readonly problem: string };

export interface TextImportOptions {
  readonly upstream: TextUpstream;
  /** Prices for an upstream that lists none. */
  readonly priceList: TextPriceList;
  readonly store: TextListingStore;
  /** Replaces this upstream's models in the catalogue; resolves when they can be requested. */
  readonly show: (models: readonly TextModel[]) => Promise<void>;
  readonly live: Pick<LiveCatalog, "offersText">;
  readonly events: CatalogEvents;
  readonly clock: Clock;
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

export function createTextImport(options: TextImportOptions): TextImport {
  const { upstream, store, live, events, clock } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let good: readonly TextModel[] = [];
  let shown = 0n;
  let shrunken = 0;
  let state: ImportState = { state: "running" };
  let running: Promise<unknown> | undefined;
  /** One import at a time, so that an older listing never replaces a newer one. */
  const importing = oneAfterTheOther();
  /** The stored and the shown listing change together. If they differ, another process has imported. */
  const showing = oneAfterTheOther();

  /** If the upstream lists no prices, a stored listing is priced by the present price list. */
  async function load(): Promise<StoredListing | undefined> {
    const stored = await store.load(upstream);
    if (stored === undefined || upstream.prices !== "price-list") return stored;
    const models = stored.models.flatMap(({ id, releaseDate }) => {
      const priced = options.priceList.get(id);
      return priced === undefined ? [] : [{ ...priced, releaseDate }];
    });
    return { ...stored, models };
  }

  async function show({ revision, models }: StoredListing): Promise<void> {
    await options.show(models);
    shown = revision;
    good = models;
  }

  /** @throws UnusableListing */
  async function read(): Promise<Listing> {
    const body = await fetchListing(upstream, { timeoutMs: options.timeoutMs, signal });
    const listing = readListing({ kind: upstream.kind, priceList: options.priceList }, body, isoDay(clock));
    if (listing.models.length > 0) return listing;
    // All text models may be the operator's own, which no listing needs to name.
    if (upstream.prices === "price-list" && live.offersText()) return listing;
    if (upstream.prices === "price-list") throw new UnusableListing(UNPRICED);
    throw new UnusableListing(`none of its models can be used (${JSON.stringify(listing.skipped)})`);
  }

  /** Number of models of the last good listing that are still on sale today. */
  const had = () => good.filter(({ shutdownDate }) => isOnSale(shutdownDate, isoDay(clock))).length;
  const lostMost = ({ models }: Listing) => models.length * 2 < had();

  async function accept(listing: Listing): Promise<void> {
    shrunken = 0;
    const { models } = listing;
    await showing(async () => show({ revision: await store.save(upstream, models, clock.now()), models }));
    state = { state: "done" };
    events.textImported(upstream.name, listing);
  }

  async function importOnce(): Promise<void> {
    const listing = await read();
    shrunken = lostMost(listing) ? shrunken + 1 : 0;
    if (shrunken > 0 && shrunken < SHRUNKEN_SEEN) {
      state = { state: "failed", problem: shrunkenSentence(had(), listing.models.length) };
      events.textListingDoubted(upstream.name, had(), listing.models.length);
    } else await accept(listing);
  }

  async function importForever(attempted: () => void): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      let wait = options.intervalMs;
      try {
        await importing(() => importOnce());
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        state = { state: "failed", problem: sentenceOf(error) };
        wait = Math.min(RETRY_FIRST_MS * 2 ** failures, RETRY_MAX_MS, options.intervalMs);
        failures = Math.min(failures + 1, 20);
        events.textImportFailed(upstream.name, sentenceOf(error), wait);
      }
      attempted();
      await pause(wait, signal);
    }
  }

  async function syncOnce(): Promise<void> {
    const listing = await read();
    if (lostMost(listing)) throw new UnusableListing(shrunkenSentence(had(), listing.models.length));
    await accept(listing);
  }

  /** Shows any other revision than the shown one, also an earlier one: an older database was then restored. */
  async function follow(): Promise<void> {
    const revision = await store.revision(upstream);
    if (revision === undefined || revision === shown) return;
    const stored = await load();
    if (stored !== undefined) await show(stored);
  }

  async function followForever(): Promise<void> {
    let failing = false;
    while (!signal.aborted) {
      await pause(FOLLOW_MS, signal);
      try {
        if (!signal.aborted) await showing(follow);
        failing = false;
      } catch (error) {
        // One line for a whole outage of Postgres.
        if (!failing) events.textFollowFailed(upstream.name, sentenceOf(error));
        failing = true;
      }
    }
  }

  return {
    restore: async () => {
      const stored = await load();
      if (stored !== undefined) await show(stored);
    },
    preview: async () => (await read()).models,
    sync: async () => {
      try {
        await importing(() => syncOnce());
      } catch (error) {
        state = { state: "failed", problem: sentenceOf(error) };
        events.textSyncFailed(upstream.name, sentenceOf(error));
        throw error;
      }
    },
    state: () => state,
    start: async () => {
      const first = Promise.withResolvers<void>();
      running = Promise.all([importForever(first.resolve), followForever()]);
      if (shown === 0n) await Promise.race([first.promise, pause(START_PATIENCE_MS, signal)]);
    },
    stop: async () => {
      stopping.abort();
      await Promise.all([running, importing(async () => undefined)]);
    },
  };
}

/** Runs each piece of work after the end of the one before it, successful or not. */
export function oneAfterTheOther() {
  let last: Promise<unknown> = Promise.resolve();
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

function shrunkenSentence(had: number, has: number): string {
  return `it lists ${has} usable models, fewer than half of the ${had} before; the schedule takes this over once ${SHRUNKEN_SEEN} imports in a row have shown it`;
}
