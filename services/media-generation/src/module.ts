// Puts media generation together: tables, providers, storage, routes, and the resolver that runs beside them.
import { join } from "node:path";
import { createBilling, createCatalogCopy } from "@gr/clients";
import { BillingService } from "@gr/proto/billing";
import { CatalogService } from "@gr/proto/catalog";
import { defineModule, type Module, openSchema } from "@gr/runtime";
import { mediaGenerationConfig } from "./config.ts";
import { createGenerationEvents } from "./generation/events.ts";
import { createGenerationStore } from "./generation/store.ts";
import { createLeaseKeeper } from "./lease-keeper.ts";
import { createProviders } from "./providers/create-providers.ts";
import { createOutbound } from "./providers/outbound.ts";
import { type ResolverDeps, resolveRound } from "./resolver.ts";
import { mediaGenerationRest } from "./rest.ts";
import { startRounds } from "./rounds.ts";
import { createFolderStorage } from "./storage/folder-storage.ts";
import { createGate } from "./storage/gate.ts";
import { createImageConverter } from "./storage/image-file.ts";

/** Pictures decoded at the same time; leaves half of Node's four worker threads to files and names. */
const CONVERSIONS = 2;

export const mediaGenerationModule = defineMediaGeneration(createProviders);

/** @param makeProviders replaces the world outside in tests */
export function defineMediaGeneration(makeProviders: typeof createProviders): Module {
  return defineModule({
    name: "media-generation",
    needs: ["billing", "catalog"],
    config: mediaGenerationConfig,
    create: async ({ config, log, clock, metrics, dial }) => {
      const pool = await openSchema(config, {
        schema: "media_generation",
        migrations: join(import.meta.dirname, "../migrations"),
        log,
      });
      const outbound = createOutbound();
      const close = async () => {
        await outbound.close();
        await pool.end();
      };
      try {
        const events = createGenerationEvents(log, metrics);
        const store = createGenerationStore(pool);
        const billingService = dial("billing", BillingService);
        const deps: ResolverDeps = {
          config,
          clock,
          events,
          store,
          storage: await createFolderStorage(join(config.DATA_DIR, "media")),
          billing: createBilling(billingService, clock),
          billingService,
          catalog: createCatalogCopy(dial("catalog", CatalogService), log),
          providers: makeProviders(config, outbound),
          convert: createImageConverter(createGate(CONVERSIONS)),
          leases: createLeaseKeeper(store, config.MEDIA_LEASE_MS, events),
        };
        return { rest: mediaGenerationRest(deps), ...lifecycle(deps, close) };
      } catch (error) {
        await close();
        throw error;
      }
    },
  });
}

function lifecycle(deps: ResolverDeps, close: () => Promise<void>) {
  const { catalog, leases, store, storage, config, events } = deps;
  let stopRounds: (() => Promise<void>) | undefined;
  return {
    start: async () => {
      await catalog.start();
      leases.start();
      stopRounds = startRounds(() => resolveRound(deps), config.RESOLVE_INTERVAL_MS, events.roundFailed);
    },
    ready: async () => {
      if (catalog.version() === "") return "the catalogue has not arrived yet";
      const broken = (what: string) => () => what;
      const checks = await Promise.all([
        store.ping().then(() => true as const, broken("PostgreSQL does not answer")),
        storage.check().then(() => true as const, broken("the media folder is not writable")),
      ]);
      return checks.find((check) => check !== true) ?? true;
    },
    stop: async () => {
      await stopRounds?.();
      await leases.stop();
      await catalog.stop();
      await close();
    },
  };
}
