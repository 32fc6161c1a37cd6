// Business events of the catalogue: one function each, a log line and a counter.
import { equals } from "@bufbuild/protobuf";
import { formatPicoUsd } from "@gr/money";
import { type Model, ModelSchema } from "@gr/proto/catalog";
import type { Logger } from "@gr/runtime";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Listing } from "./files/text-listing.ts";
import type { Snapshot } from "./offer/snapshot.ts";
import { comparedAmountsOf } from "./prices/model-pricing.ts";

const MOST_IDS_LOGGED = 20;
/** A price change above this factor is probably a mistake. */
const JUMP = 10n;

export interface CatalogEvents {
  changed(before: Snapshot, after: Snapshot): void;
  textImported(upstream: string, listing: Listing): void;
  textImportFailed(upstream: string, reason: string, retryInMs: number): void;
  /** @param had models of the last good listing. @param has models of the new one */
  textListingDoubted(upstream: string, had: number, has: number): void;
  /** An operator's import failed. */
  textSyncFailed(upstream: string, reason: string): void;
  /** Postgres did not answer the question whether another process has imported. */
  textFollowFailed(upstream: string, reason: string): void;
  /** The files in the folder of the operator's own catalogue are in force from now on. */
  folderApplied(folder: string, files: number): void;
  /** The folder was refused, and the earlier files stay in force. */
  folderRefused(folder: string, reason: string): void;
  /** Models that the operator's own catalogue names are not listed. @param notes a sentence for each */
  folderUnserved(notes: readonly string[]): void;
}

/** Values of the gauges at each collection of metrics. */
export interface CatalogSizes {
  models(): number;
  watchers(): number;
  /** True if all files in the folder of the operator's own catalogue are in force. */
  folderUsable(): boolean;
}

export function createCatalogEvents(log: Logger, metrics: Registry, sizes: CatalogSizes): CatalogEvents {
  const imports = new Counter({
    name: "catalog_text_imports_total",
    help: "Imports of the text upstream's listing, by result",
    labelNames: ["result"],
    registers: [metrics],
  });
  const jumps = new Counter({
    name: "catalog_price_jumps_total",
    help: "Prices of models that rose or fell more than tenfold at once",
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
  new Gauge({
    name: "catalog_folder_usable",
    help: "1 = the files of CATALOG_DIR are in force, or it is not set; 0 = they have an error, and an earlier state is in force",
    registers: [metrics],
    collect() {
      this.set(sizes.folderUsable() ? 1 : 0);
    },
  });
  return {
    changed(before, after) {
      log.info({ version: after.catalog.version, ...difference(before, after) }, "the catalogue changed");
      const jumped = jumpsBetween(before, after);
      if (jumped.length === 0) return;
      jumps.inc(jumped.length);
      log.warn(
        { count: jumped.length, models: jumped.slice(0, MOST_IDS_LOGGED) },
        "prices rose or fell more than tenfold; they are in force",
      );
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
      log.warn({ upstream, had, has }, "the text listing shrank a lot; the next listing must confirm it");
    },
    textSyncFailed(upstream, reason) {
      imports.inc({ result: "failed" });
      log.warn({ upstream, reason }, "text models not imported on request; the last good ones stay");
    },
    textFollowFailed(upstream, reason) {
      log.warn({ upstream, reason }, "cannot read the imports of other processes; retrying each second");
    },
    folderApplied(folder, files) {
      log.info({ folder, files }, "the catalogue folder is in force");
    },
    folderRefused(folder, reason) {
      log.warn({ folder, reason }, "the catalogue folder is not in force; its last good state stays");
    },
    folderUnserved(notes) {
      if (notes.length === 0) return;
      log.warn(
        { count: notes.length, notes: notes.slice(0, MOST_IDS_LOGGED) },
        "the catalogue folder names models that nobody serves here",
      );
    },
  };
}

/** Returns each model of both snapshots in its old and new form. */
function pairsOf(before: Snapshot, after: Snapshot) {
  return after.catalog.models.flatMap((model) => {
    const was = before.find(model.id);
    return was === undefined ? [] : [{ was, model }];
  });
}

/**
 * Amounts under one name before and after, in USD: each meter of a text model, else the default request, the
 * cheapest and the dearest. From nothing or to nothing also counts as a jump.
 */
function jumpsBetween(before: Snapshot, after: Snapshot) {
  return pairsOf(before, after).flatMap(({ was, model }) => {
    if (was.price?.version === model.price?.version) return [];
    const old = comparedAmountsOf(was);
    for (const [of, to] of comparedAmountsOf(model)) {
      const from = old.get(of);
      if (from === undefined || (from * JUMP >= to && to * JUMP >= from)) continue;
      return [{ id: model.id, of, from: formatPicoUsd(from), to: formatPicoUsd(to) }];
    }
    return [];
  });
}

/** Counts, and the first few ids of each kind of change: the same kinds as in `catalog diff` and `catalog sync`. */
function difference(before: Snapshot, after: Snapshot) {
  const counted = (models: readonly Model[]) => ({
    count: models.length,
    ids: models.slice(0, MOST_IDS_LOGGED).map(({ id }) => id),
  });
  const both = pairsOf(before, after);
  const among = (differs: (was: Model, model: Model) => boolean) =>
    counted(both.filter(({ was, model }) => differs(was, model)).map(({ model }) => model));
  return {
    added: counted(after.catalog.models.filter(({ id }) => before.find(id) === undefined)),
    removed: counted(before.catalog.models.filter(({ id }) => after.find(id) === undefined)),
    repriced: among((was, model) => was.price?.version !== model.price?.version),
    changed: among((was, model) => !equals(ModelSchema, unpriced(was), unpriced(model))),
  };
}

/** Returns all facts except the price, which has its own count of changes. */
function unpriced({ price: _price, ...facts }: Model): Model {
  return facts;
}
