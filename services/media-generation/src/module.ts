// Puts media generation together: tables, providers, storage, routes, and the rounds that run beside them.
import { join } from "node:path";
import { createBilling, createCatalogCopy } from "@gr/clients";
import { PaidRequests } from "@gr/paid-request";
import { BillingService } from "@gr/proto/billing";
import { CatalogService } from "@gr/proto/catalog";
import { createReadyCheck, defineModule, type Module, openPool, startRounds } from "@gr/runtime";
import { type MediaGenerationConfig, mediaGenerationConfig } from "./config.ts";
import { createGenerationEvents } from "./generation/events.ts";
import type { MediaKinds } from "./generation/generation.ts";
import { GenerationRecord } from "./generation/generation-record.ts";
import { MediaLookUp } from "./generation/look-up.ts";
import { type MediaLimits, MediaWork } from "./generation/media-work.ts";
import { MemoryPlaces } from "./generation/memory-places.ts";
import { createGenerationStore } from "./generation/store.ts";
import { createInputBringer } from "./inputs/bring-inputs.ts";
import { createPictureCleaner } from "./inputs/clean-picture.ts";
import { logRpc } from "./log/log-rpc.ts";
import { createLogStore } from "./log/log-store.ts";
import { createArtifactReader } from "./providers/artifact.ts";
import { configuredOrigins, createProviders } from "./providers/create-providers.ts";
import { createOutbound } from "./providers/outbound.ts";
import { mediaGenerationRest } from "./rest.ts";
import { createFolderStorage } from "./storage/folder-storage.ts";
import { createGate } from "./storage/gate.ts";
import { createImageConverter } from "./storage/image-file.ts";

const NAME = "media-generation";
const schema = { name: "media_generation", migrations: join(import.meta.dirname, "../migrations") };
/** Pictures decoded at the same time; leaves half of Node's four worker threads to files and names. */
const CONVERSIONS = 2;
/** Pictures fetched for callers at the same time. */
const DOWNLOADS = 16;
/** Between two rounds over what crashes left in the storage. */
const SWEEP_EVERY_MS = 15 * 60_000;
/** How long a write that was tried counts. */
const WRITABLE_FOR_MS = 3_000;
/** A process has so many chances to keep what it works on. */
const RENEWALS_PER_LEASE = 3;

export const mediaGenerationModule = defineMediaGeneration(createProviders);

/** @param makeProviders replaces the world outside in tests */
export function defineMediaGeneration(makeProviders: typeof createProviders): Module {
  return defineModule({
    name: NAME,
    needs: ["billing", "catalog"],
    config: mediaGenerationConfig,
    schema,
    create: async ({ config, log, clock, metrics, dial }) => {
      const pool = await openPool(config, schema, log);
      const memory = new MemoryPlaces(config.MEDIA_MAX_IN_MEMORY);
      const outbound = createOutbound({
        trustedOrigins: configuredOrigins(config),
        beforeLarge: (signal) => memory.take(signal),
      });
      // What callers name is never fetched from our own hosts, not even from configured ones.
      const callersOutbound = createOutbound();
      const close = async () => {
        await outbound.close();
        await callersOutbound.close();
        await pool.end();
      };
      try {
        const { HOLD_GRACE_MS: graceMs, MEDIA_LEASE_MS: leaseMs } = config;
        const limits = limitsOf(config);
        const events = createGenerationEvents(log, metrics);
        const store = createGenerationStore(pool);
        const storage = await createFolderStorage(join(config.DATA_DIR, "media"));
        const catalog = createCatalogCopy(dial("catalog", CatalogService), log);
        const providers = makeProviders(config, outbound);
        const conversions = createGate(CONVERSIONS);
        const convert = createImageConverter(conversions);
        const parts = { store, storage, catalog, providers, events, clock, memory };
        const read = createArtifactReader(outbound, clock);
        const work = new MediaWork({ ...parts, read, convert, limits, graceMs });
        const billing = createBilling(dial("billing", BillingService), clock);
        const requests: PaidRequests<MediaKinds> = new PaidRequests({
          service: NAME,
          billing,
          record: new GenerationRecord({
            ...parts,
            leaseMs,
            resumeOf: (generation) => work.resumeOf(generation),
            passed: (id) => requests.running.giveUp(id, "another process has taken it"),
            givenUp: (id) => work.giveUp(id),
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
        const generationLog = createLogStore(pool);
        const rest = mediaGenerationRest({
          ...parts,
          billing,
          generationLog,
          requests,
          work,
          publicBaseUrl,
          maxFormBytes: config.MEDIA_MAX_FORM_BYTES,
          maxInputBytes: config.MEDIA_MAX_INPUT_BYTES,
          bring: createInputBringer({
            outbound: callersOutbound,
            downloads: createGate(DOWNLOADS),
            clean: createPictureCleaner(conversions),
            storage,
            publicBaseUrl,
            clock,
          }),
          holdForMs: {
            image: limits.timeoutMs.image + graceMs,
            video: limits.timeoutMs.video + graceMs,
          },
        });
        const rpc = [logRpc(generationLog, publicBaseUrl)];
        return { rest, rpc, ...lifecycle({ ...parts, requests }, close) };
      } catch (error) {
        await close();
        throw error;
      }
    },
  });
}

function limitsOf(config: MediaGenerationConfig): MediaLimits {
  return {
    timeoutMs: { image: config.MEDIA_TIMEOUT_MS, video: config.VIDEO_TIMEOUT_MS },
    mostVideoBytes: config.MEDIA_MAX_VIDEO_BYTES,
    mostBase64Bytes: config.MEDIA_MAX_BASE64_VIDEO_BYTES,
  };
}

type Parts = Pick<
  Parameters<typeof mediaGenerationRest>[0],
  "catalog" | "requests" | "storage" | "events"
> & {
  readonly store: ReturnType<typeof createGenerationStore>;
  readonly clock: Parameters<typeof startRounds>[0]["clock"];
};

function lifecycle({ catalog, requests, store, storage, events, clock }: Parts, close: () => Promise<void>) {
  const writable = createReadyCheck({
    work: () => storage.check(),
    problem: "the media folder cannot be written",
    keptMs: WRITABLE_FOR_MS,
    clock,
  });
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
        writable(),
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
