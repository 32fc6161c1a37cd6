// Puts media generation together: tables, providers, storage, routes, and the rounds that run beside them.
import { join } from "node:path";
import { createBilling, createCatalogCopy } from "@gr/clients";
import { PaidRequests } from "@gr/paid-request";
import { BillingService } from "@gr/proto/billing";
import { CatalogService } from "@gr/proto/catalog";
import { defineModule, type Module, openSchema, startRounds } from "@gr/runtime";
import { mediaGenerationConfig } from "./config.ts";
import { createGenerationEvents } from "./generation/events.ts";
import type { MediaKinds } from "./generation/generation.ts";
import { GenerationRecord } from "./generation/generation-record.ts";
import { MediaLookUp } from "./generation/look-up.ts";
import { MediaWork } from "./generation/media-work.ts";
import { createGenerationStore } from "./generation/store.ts";
import { createArtifactReader } from "./providers/artifact.ts";
import { configuredOrigins, createProviders } from "./providers/create-providers.ts";
import { createOutbound } from "./providers/outbound.ts";
import { mediaGenerationRest } from "./rest.ts";
import { createFolderStorage } from "./storage/folder-storage.ts";
import { createGate } from "./storage/gate.ts";
import { createImageConverter } from "./storage/image-file.ts";

const NAME = "media-generation";
/** Pictures decoded at the same time; leaves half of Node's four worker threads to files and names. */
const CONVERSIONS = 2;
/** Between two rounds over what crashes left in the storage. */
const SWEEP_EVERY_MS = 15 * 60_000;
/** A process has so many chances to keep what it works on. */
const RENEWALS_PER_LEASE = 3;

export const mediaGenerationModule = defineMediaGeneration(createProviders);

/** @param makeProviders replaces the world outside in tests */
export function defineMediaGeneration(makeProviders: typeof createProviders): Module {
  return defineModule({
    name: NAME,
    needs: ["billing", "catalog"],
    config: mediaGenerationConfig,
    create: async ({ config, log, clock, metrics, dial }) => {
      const pool = await openSchema(config, {
        schema: "media_generation",
        migrations: join(import.meta.dirname, "../migrations"),
        log,
      });
      const outbound = createOutbound({ trustedOrigins: configuredOrigins(config) });
      const close = async () => {
        await outbound.close();
        await pool.end();
      };
      try {
        const { MEDIA_TIMEOUT_MS: timeoutMs, HOLD_GRACE_MS: graceMs, MEDIA_LEASE_MS: leaseMs } = config;
        const events = createGenerationEvents(log, metrics);
        const store = createGenerationStore(pool);
        const storage = await createFolderStorage(join(config.DATA_DIR, "media"));
        const catalog = createCatalogCopy(dial("catalog", CatalogService), log);
        const providers = makeProviders(config, outbound);
        const convert = createImageConverter(createGate(CONVERSIONS));
        const parts = { store, storage, catalog, providers, events, clock };
        const read = createArtifactReader(outbound, clock);
        const work = new MediaWork({ ...parts, read, convert, timeoutMs, graceMs });
        const requests: PaidRequests<MediaKinds> = new PaidRequests({
          service: NAME,
          billing: createBilling(dial("billing", BillingService), clock),
          record: new GenerationRecord({
            ...parts,
            leaseMs,
            resumeOf: (generation) => work.resumeOf(generation),
            passed: (id) => requests.running.giveUp(id, "another process has taken it"),
          }),
          lookUp: new MediaLookUp(providers, events, clock),
          events,
          clock,
          settings: {
            mostRunning: config.MEDIA_MAX_RUNNING,
            graceMs,
            resolveEveryMs: config.RESOLVE_INTERVAL_MS,
            leaseMs,
            renewEveryMs: Math.ceil(leaseMs / RENEWALS_PER_LEASE),
          },
        });
        const publicBaseUrl = config.PUBLIC_BASE_URL;
        const rest = mediaGenerationRest({
          ...parts,
          requests,
          work,
          publicBaseUrl,
          holdForMs: timeoutMs + graceMs,
        });
        return { rest, ...lifecycle({ ...parts, requests }, close) };
      } catch (error) {
        await close();
        throw error;
      }
    },
  });
}

type Parts = Pick<
  Parameters<typeof mediaGenerationRest>[0],
  "catalog" | "requests" | "storage" | "events"
> & {
  readonly store: ReturnType<typeof createGenerationStore>;
  readonly clock: Parameters<typeof startRounds>[0]["clock"];
};

function lifecycle({ catalog, requests, store, storage, events, clock }: Parts, close: () => Promise<void>) {
  let stopSweeping: (() => Promise<void>) | undefined;
  return {
    start: async () => {
      await catalog.start();
      requests.start();
      const round = () => storage.sweep();
      stopSweeping = startRounds({ clock, pauseMs: SWEEP_EVERY_MS, round, failed: events.roundFailed });
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
      await stopSweeping?.();
      await requests.stop();
      await catalog.stop();
      await close();
    },
  };
}
