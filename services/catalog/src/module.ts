// The catalogue module: seed files and the last good text listing at start, then imports, watches and lists.
import { join } from "node:path";
import { defineModule, openSchema } from "@gr/runtime";
import { textUpstreamOf } from "@gr/text-upstream";
import { catalogConfig } from "./config.ts";
import { createCatalogEvents } from "./events.ts";
import { createLiveCatalog, type LiveCatalog } from "./live-catalog.ts";
import { offeredModels } from "./offer.ts";
import { createPreview } from "./preview.ts";
import { createPriceStore } from "./price-store.ts";
import { catalogRest } from "./rest.ts";
import { catalogOperatorRpc, catalogRpc } from "./rpc.ts";
import { readSeedFiles, SEED_DIRECTORY, type SeedFile, seedModels } from "./seed.ts";
import { createTextStore } from "./store.ts";
import { createTextImport } from "./text-import.ts";
import { readTextPriceList } from "./text-price-list.ts";

/** How often the date is checked: a new day may hide a model. */
const DAY_CHECK_MS = 1_000;

export const catalogModule = defineModule({
  name: "catalog",
  needs: [],
  config: catalogConfig,
  async create({ config, log, clock, metrics }) {
    const offer = (files: readonly SeedFile[]) =>
      offeredModels(seedModels(files, { sandbox: config.SANDBOX_MODELS }), config.MEDIA_PROVIDERS);
    const seed = offer(await readSeedFiles(SEED_DIRECTORY));
    const events = createCatalogEvents(log, metrics, {
      models: () => live.current().catalog.models.length,
      watchers: () => live.waiting(),
    });
    const live: LiveCatalog = createLiveCatalog({ seed, clock, onChange: events.changed });
    const migrations = join(import.meta.dirname, "../migrations");
    const pool = await openSchema(config, { schema: "catalog", migrations, log });
    const prices = createPriceStore(pool);
    const upstream = textUpstreamOf(config);
    const textImport =
      upstream === undefined
        ? undefined
        : createTextImport({
            upstream,
            priceList: await readTextPriceList(config.TEXT_PRICE_FILE),
            store: createTextStore(pool),
            prices,
            live,
            events,
            clock,
            intervalMs: config.TEXT_IMPORT_INTERVAL_MS,
            timeoutMs: config.TEXT_IMPORT_TIMEOUT_MS,
          });
    await prices.keep(seed, clock.now());
    await textImport?.restore();
    const preview = createPreview({ offer, live, textImport, clock });
    const days = setInterval(live.refresh, DAY_CHECK_MS).unref();
    return {
      rpc: [catalogRpc(live), catalogOperatorRpc({ preview, prices, textImport })],
      rest: catalogRest(live),
      start: async () => textImport?.start(),
      // The seed is in memory by now, and only imports need Postgres.
      ready: async () => true,
      stop: async () => {
        clearInterval(days);
        live.close();
        await textImport?.stop();
        await pool.end();
      },
    };
  },
});
