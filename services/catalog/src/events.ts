// Business events of the catalogue: one function each, a log line and a counter.
import type { Logger } from "@gr/runtime";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Snapshot } from "./snapshot.ts";
import type { Listing } from "./text-listing.ts";

const MOST_IDS_LOGGED = 20;

export interface CatalogEvents {
  changed(before: Snapshot, after: Snapshot): void;
  textImported(upstream: string, listing: Listing): void;
  textImportFailed(upstream: string, reason: string, retryInMs: number): void;
  /** @param had models of the last good listing. @param has models of the new one */
  textListingDoubted(upstream: string, had: number, has: number): void;
  textImportImpossible(upstream: string): void;
}

/** What the gauges read when metrics are collected. */
export interface CatalogSizes {
  models(): number;
  watchers(): number;
}

export function createCatalogEvents(log: Logger, metrics: Registry, sizes: CatalogSizes): CatalogEvents {
  const imports = new Counter({
    name: "catalog_text_imports_total",
    help: "Imports of the text upstream's listing, by result",
    labelNames: ["result"],
    registers: [metrics],
  });
  new Gauge({
    name: "catalog_models",
    help: "Models that are listed now",
    registers: [metrics],
    collect() {
      this.set(sizes.models());
    },
  });
  new Gauge({
    name: "catalog_watchers",
    help: "Open watches of the catalogue that wait for a change",
    registers: [metrics],
    collect() {
      this.set(sizes.watchers());
    },
  });
  return {
    changed(before, after) {
      log.info({ version: after.catalog.version, ...difference(before, after) }, "the catalogue changed");
    },
    textImported(upstream, { models: imported, skipped }) {
      imports.inc({ result: "imported" });
      log.info({ upstream, models: imported.length, skipped }, "text models imported");
    },
    textImportFailed(upstream, reason, retryInMs) {
      imports.inc({ result: "failed" });
      log.warn({ upstream, reason, retryInMs }, "text models not imported; the last good ones stay");
    },
    textListingDoubted(upstream, had, has) {
      imports.inc({ result: "doubted" });
      log.warn({ upstream, had, has }, "the text listing shrank a lot; it must stay so to be believed");
    },
    textImportImpossible(upstream) {
      log.warn({ upstream }, "a text upstream of kind openai lists no prices: no text model can be imported");
    },
  };
}

/** Counts, and the first few ids of each kind of change. */
function difference(before: Snapshot, after: Snapshot) {
  const added = after.catalog.models.filter(({ id }) => before.find(id) === undefined);
  const removed = before.catalog.models.filter(({ id }) => after.find(id) === undefined);
  const repriced = after.catalog.models.filter(({ id, price }) => {
    const old = before.find(id);
    return old !== undefined && old.price?.version !== price?.version;
  });
  const shown = (models: typeof added) => models.slice(0, MOST_IDS_LOGGED).map(({ id }) => id);
  return {
    added: { count: added.length, ids: shown(added) },
    removed: { count: removed.length, ids: shown(removed) },
    repriced: { count: repriced.length, ids: shown(repriced) },
  };
}
