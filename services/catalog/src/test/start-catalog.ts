// The catalogue in a process with its own ports, over a database of its own. Tests reach it as its peers do: RPC over
// the network with a service token, REST with a signed principal.
import type { AllowLists } from "@gr/identity";
import { CatalogOperatorService, CatalogService } from "@gr/proto/catalog";
import {
  createRemoteTransport,
  createServiceClient,
  type Module,
  PRINCIPAL_HEADER,
  type RunningProcess,
  type ServiceClient,
  signPrincipal,
  startProcess,
} from "@gr/runtime";
import { ManualClock, type TestDatabase, until } from "@gr/testing";
import { catalogModule } from "../module.ts";
import { migratedDatabase } from "./migrated-database.ts";

export const SECRET = "internal-secret-of-the-catalogue-tests-01234";

export interface CatalogUnderTest {
  readonly catalog: ServiceClient<typeof CatalogService>;
  readonly operator: ServiceClient<typeof CatalogOperatorService>;
  readonly database: TestDatabase;
  readonly clock: ManualClock;
  readonly process: RunningProcess;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** Sends the request of a key with these allow-lists. */
  getAs(path: string, allowed: AllowLists): Promise<Response>;
  head(path: string, headers?: Record<string, string>): Promise<Response>;
  /** Ids that are listed now, text models included. */
  ids(): Promise<string[]>;
  metric(name: string): Promise<number>;
  /** Stops the process; the database stays. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly env?: Record<string, string>;
  readonly clock?: ManualClock;
  readonly database?: TestDatabase;
  /** Other modules of the same process. */
  readonly beside?: readonly Module[];
  /** For an upstream that never answers: the start does not wait for the first import. */
  readonly unattended?: boolean;
}

export async function startCatalog(options: StartOptions = {}): Promise<CatalogUnderTest> {
  const database = options.database ?? (await migratedDatabase());
  const clock = options.clock ?? new ManualClock(Date.UTC(2026, 10, 20, 12));
  const running = await startProcess([catalogModule, ...(options.beside ?? [])], {
    env: {
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: "2",
      INTERNAL_AUTH_SECRET: SECRET,
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      LOG_LEVEL: "silent",
      MEDIA_PROVIDERS: "openai/image",
      ...options.env,
    },
    clock,
  });
  const http = `http://127.0.0.1:${running.httpPort}`;
  const transport = createRemoteTransport(`http://127.0.0.1:${running.rpcPort}`, SECRET, clock);
  const catalog = createServiceClient(CatalogService, "catalog", transport);
  const ask = (method: string) => (path: string, headers?: Record<string, string>) =>
    fetch(http + path, {
      method,
      headers: { [PRINCIPAL_HEADER]: signPrincipal(SECRET, "catalog", null, clock), ...headers },
    });
  const metric = async (name: string) => {
    const text = await (await fetch(`${http}/metrics`)).text();
    const line = text.split("\n").find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{`));
    return Number(line?.split(" ").at(-1) ?? Number.NaN);
  };
  // A start has its patience; a slow machine has none.
  const { TEXT_UPSTREAM_BASE_URL: url = "" } = options.env ?? {};
  if (url !== "" && options.unattended !== true) {
    await until(async () => (await metric("catalog_text_imports_total")) >= 1, { timeoutMs: 60_000 });
  }
  return {
    catalog,
    operator: createServiceClient(CatalogOperatorService, "catalog", transport),
    database,
    clock,
    process: running,
    get: ask("GET"),
    getAs: (path, allowed) => {
      const principal = { accountId: "a", keyId: "k", kind: "normal", allowed };
      return ask("GET")(path, { [PRINCIPAL_HEADER]: signPrincipal(SECRET, "catalog", principal, clock) });
    },
    head: ask("HEAD"),
    ids: async () => (await catalog.getCatalog({})).catalog?.models.map(({ id }) => id) ?? [],
    metric,
    stop: () => running.stop(),
  };
}
