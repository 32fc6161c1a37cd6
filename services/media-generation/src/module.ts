// MediaGenerationModule assembles media generation: tables, providers, storage, routes, and its periodic jobs.
import { join } from "node:path";
import { createBilling, createCatalogCopy, createRouteHealth, type RouteHealth } from "@gr/clients";
import { losingRoutes, PaidRequests } from "@gr/paid-request";
import { ActivityService } from "@gr/proto/activity";
import { BillingService, TextLogService } from "@gr/proto/billing";
import { CatalogOperatorService, CatalogService } from "@gr/proto/catalog";
import { RouteHealthService } from "@gr/proto/routes";
import { SavedTextService } from "@gr/proto/saved-texts";
import {
  carefulTime,
  createReadyCheck,
  defineModule,
  type Logger,
  type Module,
  nextTurn,
  openPool,
  type Pool,
  startRounds,
  type Timer,
} from "@gr/runtime";
import type { Registry } from "prom-client";
import { type MediaGenerationConfig, mediaGenerationConfig } from "./config.ts";
import { createGenerationEvents } from "./generation/events.ts";
import { FailingAccounts } from "./generation/failing-accounts.ts";
import type { MediaKinds } from "./generation/generation.ts";
import { GenerationRecord } from "./generation/generation-record.ts";
import { MediaLookUp } from "./generation/look-up.ts";
import { createMediaGates } from "./generation/media-gates.ts";
import { type MediaLimits, MediaWork } from "./generation/media-work.ts";
import { MemoryPlaces } from "./generation/memory-places.ts";
import { createProgressStore } from "./generation/progress-store.ts";
import { createGenerationStore } from "./generation/store.ts";
import { createPictureCleaner } from "./inputs/clean-picture.ts";
import { createInputs } from "./inputs/prepare-inputs.ts";
import { createLogStore } from "./log/log-store.ts";
import { startNamingKinds } from "./log/name-kinds.ts";
import { memoryBudgetOf } from "./memory-budget.ts";
import { createPreviews } from "./previews/previews.ts";
import { createArtifactReader } from "./providers/artifact.ts";
import { configuredOrigins, createProviders } from "./providers/configured-providers.ts";
import { createOutbound, type Outbound } from "./providers/outbound.ts";
import { nameServerQueries } from "./providers/public-address.ts";
import { mediaGenerationRest } from "./rest.ts";
import { deleteRemovedAgain, expireMedia } from "./retention/expire-media.ts";
import { createRetentionEvents } from "./retention/retention-events.ts";
import { createRetentionStore } from "./retention/retention-store.ts";
import { mediaGenerationRpc } from "./rpc.ts";
import { createImageConverter } from "./storage/image-file.ts";
import { type OpenStorage, openStorage } from "./storage/open-storage.ts";
import { createCallbacks } from "./webhooks/callbacks.ts";
import { createDeliveryStore } from "./webhooks/delivery-store.ts";
import { createReceiverStore } from "./webhooks/receiver-store.ts";
import { createWebhookEvents } from "./webhooks/webhook-events.ts";
import { WebhookSender } from "./webhooks/webhook-sender.ts";

const NAME = "media-generation";
const schema = { name: "media_generation", migrations: join(import.meta.dirname, "../migrations") };
/** Silence after which a download from a client's URL ends and releases its place, in milliseconds. */
const DOWNLOAD_SILENCE_MS = 3_000;
/** Pause between two sweeps of crashed uploads, and of expired and removed media, in milliseconds. */
export const SWEEP_EVERY_MS = 15 * 60_000;
/** Number of attempts to renew a lease before it expires. */
const RENEWALS_PER_LEASE = 3;

export const mediaGenerationModule = defineMediaGeneration(createProviders);

/** @param makeProviders replaces the real providers in tests */
export function defineMediaGeneration(providersOf: typeof createProviders): Module {
  return defineModule({
    name: NAME,
    needs: ["billing", "catalog"],
    config: mediaGenerationConfig,
    schema,
    memoryWeight: 2,
    create: async ({ config, log, clock, metrics, memoryBytes, dial }) => {
      const pool = await openPool(config, schema, log, metrics);
      const budget = memoryBudgetOf(memoryBytes);
      const memory = new MemoryPlaces(config.MEDIA_MAX_IN_MEMORY ?? budget.places);
      const outbound = createOutbound({
        trustedOrigins: configuredOrigins(config),
        beforeLarge: (signal) => memory.acquire(signal),
      });
      // An address from a client is never fetched from our own hosts, not even from configured ones.
      const callersOutbound = createOutbound({ downloadSilenceMs: DOWNLOAD_SILENCE_MS });
      const webhookOutbound = createOutbound({
        trustedOrigins: config.WEBHOOK_PRIVATE_ORIGINS,
        resolveAll: nameServerQueries(),
      });
      const close = async () => {
        for (const each of [outbound, callersOutbound, webhookOutbound]) await each.close();
        await pool.end();
      };
      try {
        const { HOLD_GRACE_MS: graceMs, MEDIA_LEASE_MS: leaseMs } = config;
        const limits = limitsOf(config);
        const providers = providersOf(config, outbound);
        const closings = () => requests.losses.closings();
        const failing = new FailingAccounts(clock);
        const events = createGenerationEvents(log, metrics, [...providers.keys()], closings, failing);
        const store = createGenerationStore(pool);
        const opened = await openStorage(config, clock);
        const { storage } = opened;
        const catalog = createCatalogCopy(dial("catalog", CatalogService), log);
        const { inputs, downloads, results, posters } = createMediaGates();
        const convert = createImageConverter(results);
        const parts = { store, storage, catalog, providers, events, clock, memory };
        const read = createArtifactReader(outbound, clock);
        const ffmpeg = config.FFMPEG_PATH;
        const progress = createProgressStore(pool);
        const previews = createPreviews({ storage, gate: results, posters, ffmpeg, log, metrics });
        const work = new MediaWork({ ...parts, read, convert, previews, progress, limits, graceMs });
        const billing = createBilling(dial("billing", BillingService), clock, nextTurn);
        const health = createRouteHealth(dial("catalog", RouteHealthService), {
          service: NAME,
          states: () => losingRoutes(requests.losses),
          failed: (err) =>
            log.warn({ err }, "the health of routes is not reported; operators see older figures"),
          clock,
        });
        const requests: PaidRequests<MediaKinds> = new PaidRequests({
          service: NAME,
          billing,
          health,
          record: new GenerationRecord({
            ...parts,
            leaseMs,
            resumeOf: (generation) => work.resumeOf(generation),
            passed: (id) => requests.running.cancel(id, "another process has taken it"),
            cancelled: (id) => work.cancel(id),
          }),
          lookUp: new MediaLookUp(providers, events, clock),
          events,
          clock,
          attempts: { operation: "generate_content", outputOf: ({ kind }) => kind },
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
        const texts = dial("billing", TextLogService);
        const savedTexts = dial("billing", SavedTextService);
        const webhooks = createWebhooks(pool, webhookOutbound, { log, metrics, clock });
        const rest = mediaGenerationRest({
          ...parts,
          ...webhooks,
          billing,
          generationLog,
          ...{ texts, savedTexts },
          prices: dial("catalog", CatalogOperatorService),
          requests,
          work,
          publicBaseUrl,
          maxFormBytes: config.MEDIA_MAX_FORM_BYTES,
          maxInputBytes: config.MEDIA_MAX_INPUT_BYTES ?? budget.inputBytes,
          inputs: createInputs({
            outbound: callersOutbound,
            downloads,
            clean: createPictureCleaner(inputs),
            storage,
            publicBaseUrl,
            clock,
          }),
          holdForMs: {
            image: limits.timeoutMs.image + graceMs,
            video: limits.timeoutMs.video + graceMs,
          },
        });
        const retention = createRetentionStore(pool);
        const days = config.MEDIA_RETENTION_DAYS;
        const rpc = mediaGenerationRpc({
          ...{ storage, events, work, generationLog, texts, publicBaseUrl, clock },
          ...webhooks,
          ...{ retention, retentionDays: days, losses: requests.losses },
        });
        const removal = { retention, storage, days, events: createRetentionEvents(log, metrics) };
        const expire = async (stopping: AbortSignal) => {
          const now = await carefulTime(pool, clock.now());
          await expireMedia({ ...removal, now }, stopping);
          await deleteRemovedAgain({ ...removal, now }, stopping);
        };
        const { sender } = webhooks;
        const nameKinds = () =>
          startNamingKinds({
            ...{ catalog, clock, activity: dial("billing", ActivityService) },
            failed: (err) =>
              log.warn({ err }, "billing did not receive the kinds of models; each second is another try"),
          });
        return {
          ...{ rest, rpc },
          ...lifecycle({ ...parts, ...opened, requests, health, expire, sender, nameKinds }, close),
        };
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

function createWebhooks(
  pool: Pool,
  outbound: Outbound,
  { log, metrics, clock }: { readonly log: Logger; readonly metrics: Registry; readonly clock: Timer },
) {
  const deliveries = createDeliveryStore(pool);
  const receivers = createReceiverStore(pool);
  const events = createWebhookEvents(log, metrics);
  const sender = new WebhookSender({ deliveries, receivers, outbound, events, clock });
  return { deliveries, receivers, callbacks: createCallbacks(receivers, outbound), sender };
}

type Parts = Pick<Parameters<typeof mediaGenerationRest>[0], "catalog" | "requests" | "events"> &
  OpenStorage & {
    readonly store: ReturnType<typeof createGenerationStore>;
    readonly clock: Parameters<typeof startRounds>[0]["clock"];
    readonly expire: (stopping: AbortSignal) => Promise<void>;
    readonly sender: WebhookSender;
    readonly health: RouteHealth;
    readonly nameKinds: () => () => Promise<void>;
  };

function lifecycle(
  {
    catalog,
    requests,
    store,
    storage,
    unwritable,
    checkedForMs,
    events,
    clock,
    expire,
    sender,
    health,
    nameKinds,
  }: Parts,
  close: () => Promise<void>,
) {
  const writable = createReadyCheck({
    work: () => storage.check(),
    problem: unwritable,
    keptMs: checkedForMs,
    clock,
  });
  let stopSweeping: (() => Promise<unknown>) | undefined;
  return {
    start: async () => {
      await catalog.start();
      requests.start();
      health.start();
      sender.start();
      const every = { clock, pauseMs: SWEEP_EVERY_MS, failed: events.roundFailed };
      const ends = [() => storage.sweep(), expire, () => sender.sweep()].map((round) =>
        startRounds({ ...every, round }),
      );
      ends.push(nameKinds());
      stopSweeping = () => Promise.all(ends.map((end) => end()));
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
      await health.stop();
      await sender.stop();
      await catalog.stop();
      await close();
    },
  };
}
