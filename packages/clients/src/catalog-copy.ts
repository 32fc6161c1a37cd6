// CatalogCopy is a service's own copy of the catalogue, in memory and fresh through a watch.
// No request waits for the catalogue service. While that service is away, the last copy stays valid.
import { ModelIds } from "@gr/models";
import { ServiceError } from "@gr/proto";
import type { CatalogService, Model } from "@gr/proto/catalog";
import { type Logger, pause, type ServiceClient } from "@gr/runtime";

const RETRY_FIRST_MS = 200;
/** Longest pause. After a break, a change arrives within two seconds of the catalogue's return. */
const RETRY_MAX_MS = 1_000;
const NOT_YET_RETRY_MS = 1_000;

export interface CatalogCopy {
  /**
   * Finds a model by its id or by its bare name.
   * @returns undefined if no model has the name, or several have it
   * @throws ServiceError service_unavailable before the first copy has arrived
   */
  find(name: string): Model | undefined;
  /** @throws ServiceError model_not_found, or as `find` */
  require(name: string): Model;
  /** Returns all models; none before the first copy has arrived. */
  models(): Iterable<Model>;
  /** Version of the copy; empty until the first one has arrived: not yet ready to serve. */
  version(): string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Watches from start() to stop(), reconnecting with backoff. */
export function createCatalogCopy(client: ServiceClient<typeof CatalogService>, log: Logger): CatalogCopy {
  let models = new ModelIds<Model>([]);
  let version = "";
  const stopping = new AbortController();
  let watching: Promise<void> | undefined;

  async function follow(signal: AbortSignal, received: () => void): Promise<void> {
    for await (const { catalog } of client.watchCatalog({}, { signal })) {
      if (catalog === undefined) continue;
      models = new ModelIds(catalog.models.map((model) => [model.id, model]));
      version = catalog.version;
      received();
    }
  }

  async function watch(): Promise<void> {
    let wait = RETRY_FIRST_MS;
    let warned = false;
    while (!stopping.signal.aborted) {
      // A signal for each connection, so that its listeners end with it.
      const connection = new AbortController();
      const end = () => connection.abort();
      stopping.signal.addEventListener("abort", end, { once: true });
      try {
        await follow(connection.signal, () => {
          wait = RETRY_FIRST_MS;
          warned = false;
        });
      } catch (error) {
        if (stopping.signal.aborted) return;
        // One line for each time that it is away, however many tries fail.
        log[warned ? "debug" : "warn"]({ err: error }, "the catalogue cannot be watched; trying again");
        warned = true;
      } finally {
        stopping.signal.removeEventListener("abort", end);
      }
      await pause(wait, stopping.signal);
      wait = Math.min(wait * 2, RETRY_MAX_MS);
    }
  }

  return {
    find: (name) => {
      if (version === "") throw notYet();
      return models.find(name);
    },
    require: (name) => {
      if (version === "") throw notYet();
      return models.require(name);
    },
    models: () => models.values(),
    version: () => version,
    start: async () => {
      watching ??= watch();
    },
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}

function notYet(): ServiceError {
  const message = "The list of models has not arrived here yet; try again shortly.";
  return new ServiceError("service_unavailable", message, { retryAfterMs: NOT_YET_RETRY_MS });
}
