// The catalogue module: seed files, the operator's own folder and the last good text listing at start,
// then imports, watches and lists.
import { join } from "node:path";
import { defineModule, openPool, startRounds } from "@gr/runtime";
import { textUpstreamsOf } from "@gr/text-upstream";
import { createPreview } from "./answers/preview.ts";
import { catalogRest } from "./answers/rest.ts";
import { catalogOperatorRpc, catalogRpc } from "./answers/rpc.ts";
import { catalogConfig } from "./config.ts";
import { createCatalogEvents } from "./events.ts";
import { readSeed, readSeedFiles, SEED_DIRECTORY, type SeedFile } from "./files/seed.ts";
import { readTextPriceList } from "./files/text-price-list.ts";
import { healthRpc, REPORTS_KEPT_MS, WINDOWS_KEPT_MS } from "./health/health-rpc.ts";
import { createHealthStore } from "./health/health-store.ts";
import { createLiveCatalog, type LiveCatalog } from "./offer/live-catalog.ts";
import { createPastPriceStore } from "./prices/past-price-store.ts";
import { createOfferReader } from "./sources/offer-reader.ts";
import { createOwnFolder, readCatalogFolder } from "./sources/own-folder.ts";
import { createTextImports } from "./sources/text-imports.ts";
import { createTextListingStore } from "./sources/text-listing-store.ts";

/** Interval of the date check, in milliseconds: a new day may hide a model. */
const DAY_CHECK_MS = 1_000;
/** Pause between two removals of old reports, in milliseconds. */
const SWEEP_EVERY_MS = 3_600_000;

const schema = { name: "catalog", migrations: join(import.meta.dirname, "../migrations") };

export const catalogModule = defineModule({
  name: "catalog",
  needs: [],
  config: catalogConfig,
  schema,
  async create({ config, log, clock, metrics }) {
    const upstreams = textUpstreamsOf(config);
    const readOffer = createOfferReader(config, upstreams);
    const seed = readSeed(await readSeedFiles(SEED_DIRECTORY));
    const ownFiles = config.CATALOG_DIR === undefined ? [] : await readCatalogFolder(config.CATALOG_DIR);
    const offer = readOffer(seed, ownFiles);
    const events = createCatalogEvents(log, metrics, {
      models: () => live.current().catalog.models.length,
      watchers: () => live.waiting(),
      folderUsable: () => folder?.usable() ?? true,
    });
    const live: LiveCatalog = createLiveCatalog({ offer, clock, onChange: events.changed });
    const pool = await openPool(config, schema, log, metrics);
    const prices = createPastPriceStore(pool);
    const health = createHealthStore(pool);
    const textImports = createTextImports({
      upstreams,
      priceList: await readTextPriceList(config.TEXT_PRICE_FILE),
      store: createTextListingStore(pool),
      prices,
      live,
      events,
      clock,
      intervalMs: config.TEXT_IMPORT_INTERVAL_MS,
      timeoutMs: config.TEXT_IMPORT_TIMEOUT_MS,
    });
    /** A charge may name a price as soon as it is shown, so it is stored before. */
    const apply = async (files: readonly SeedFile[]) => {
      const next = readOffer(seed, files);
      await prices.keep(next.models, clock.now());
      live.setOffer(next);
      events.folderUnserved(next.notes);
    };
    const folder =
      config.CATALOG_DIR === undefined
        ? undefined
        : createOwnFolder({ directory: config.CATALOG_DIR, files: ownFiles, apply, events });
    events.folderUnserved(offer.notes);
    await prices.keep(offer.models, clock.now());
    await textImports.restore();
    const preview = createPreview({
      offer: async (files) => {
        const { CATALOG_DIR: directory } = config;
        const own = files.own ?? (directory === undefined ? [] : await readCatalogFolder(directory));
        return readOffer(readSeed(files.seed ?? (await readSeedFiles(SEED_DIRECTORY))), own);
      },
      ...{ live, textImports, clock },
    });
    const days = setInterval(live.refresh, DAY_CHECK_MS).unref();
    let stopSweeping: (() => Promise<void>) | undefined;
    return {
      rpc: [catalogRpc(live), catalogOperatorRpc({ preview, prices, textImports }), healthRpc(health, clock)],
      rest: catalogRest(live),
      start: async () => {
        folder?.start();
        stopSweeping = startRounds({
          clock,
          pauseMs: SWEEP_EVERY_MS,
          round: () => health.sweep(clock.now() - WINDOWS_KEPT_MS, clock.now() - REPORTS_KEPT_MS),
          failed: (err) => log.warn({ err }, "old reports of the health of routes are not deleted yet"),
        });
        await textImports.start();
      },
      // The seed is in memory by now, and only imports and new prices need Postgres.
      ready: async () => true,
      stop: async () => {
        clearInterval(days);
        live.close();
        await stopSweeping?.();
        await folder?.stop();
        await textImports.stop();
        await pool.end();
      },
    };
  },
});
