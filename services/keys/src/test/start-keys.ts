// The keys module in a process with its own ports, over a database of its own, with the fake billing beside it.
// Tests reach it as its peers do: RPC over the network with a service token, REST with a signed principal.

import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import type { Principal } from "@gr/identity";
import { FakeBilling } from "@gr/ledger-model";
import type { Spender } from "@gr/proto/billing";
import { CatalogService } from "@gr/proto/catalog";
import { KeysService } from "@gr/proto/keys";
import {
  type Clock,
  connectPostgres,
  createLogger,
  createRemoteTransport,
  createServiceClient,
  defineModule,
  type Environment,
  implement,
  migrate,
  PRINCIPAL_HEADER,
  type ServiceClient,
  signPrincipal,
  startProcess,
} from "@gr/runtime";
import { ManualClock, type TestDatabase, testDatabase } from "@gr/testing";
import pg from "pg";
import { z } from "zod";
import { keysModule, SETTLE_EVERY_MS } from "../module.ts";
import { type CuttableProxy, startCuttableProxy } from "./cuttable-proxy.ts";

const SECRET = "internal-secret-of-the-keys-tests-0123456789";
export const TOKEN_KEY = generateKeyPairSync("ed25519").privateKey;
export const PEPPER = "pepper-of-the-keys-tests-0123456789-abcdef";

export interface KeysUnderTest {
  readonly keys: ServiceClient<typeof KeysService>;
  readonly billing: BillingOfKeys;
  readonly clock: KeysClock;
  readonly db: pg.Pool;
  readonly databaseUrl: string;
  /** Between the module and its database. */
  readonly proxy: CuttableProxy;
  /** Calls a REST path of the module as this principal. */
  rest(
    method: string,
    path: string,
    as: Principal | null,
    body?: string | object,
    headers?: Readonly<Record<string, string>>,
  ): Promise<RestAnswer>;
  /** Prometheus text of the process. */
  metrics(): Promise<string>;
  readyz(): Promise<{ status: number; body: unknown }>;
  /** Refuses each row of a key without this condition while `work` runs, as a crash before the write would. */
  withCrash(condition: string, work: () => Promise<void>): Promise<void>;
  /** Runs one round of settleKeys a minute later. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

/** Models of the catalogue beside the keys module. */
const MODELS = [
  { id: "openai/gpt-5", routes: [{ provider: "openai" }, { provider: "openrouter" }] },
  { id: "openai/gpt-5-mini", routes: [{ provider: "openai" }] },
  { id: "bfl/flux-2", routes: [{ provider: "bfl" }] },
];

const catalogModule = defineModule({
  name: "catalog",
  needs: [],
  config: z.object({}),
  create: async () => {
    const catalog = { version: "1", models: MODELS };
    const closing = new AbortController();
    const service = implement(CatalogService, {
      getCatalog: async () => ({ catalog }),
      async *watchCatalog(_request, { signal }) {
        yield { catalog };
        const ended = AbortSignal.any([signal, closing.signal]);
        if (!ended.aborted) await new Promise((resolve) => ended.addEventListener("abort", resolve));
      },
    });
    return { rpc: [service], stop: async () => closing.abort() };
  },
});

/** A database with the module's tables, migrated once per jest run. */
function migratedDatabase(): Promise<TestDatabase> {
  return testDatabase("keys", async (url) => {
    const log = createLogger("silent", "test");
    const pool = await connectPostgres({ url, poolSize: 2, schema: "keys", log });
    await migrate(pool, { name: "keys", migrations: join(import.meta.dirname, "../../migrations") });
    await pool.end();
  });
}

/** @param settings more of the environment; empty = not set. */
export async function startKeys(settings: Environment = {}): Promise<KeysUnderTest> {
  const database = await migratedDatabase();
  // pg accepts a server in a URL by host and port, or by the folder of its socket.
  const { host, port } = new pg.Client({ connectionString: database.url });
  const proxy = await startCuttableProxy(
    host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port },
  );
  const moduleUrl = new URL(database.url);
  moduleUrl.search = "";
  moduleUrl.host = `127.0.0.1:${proxy.port}`;
  const clock = new KeysClock(Date.now());
  const billing = new BillingOfKeys(clock);
  const running = await startProcess([keysModule, billing.module, catalogModule], {
    env: {
      DATABASE_URL: moduleUrl.href,
      DATABASE_POOL_SIZE: "4",
      KEY_PEPPER: PEPPER,
      WEB_TOKEN_PRIVATE_KEY: TOKEN_KEY.export({ format: "pem", type: "pkcs8" }).toString(),
      INTERNAL_AUTH_SECRET: SECRET,
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      LOG_LEVEL: "silent",
      ...settings,
    },
    clock,
  });
  const db = new pg.Pool({ connectionString: database.url, max: 2 });
  // A dropped database ends its connections, and a closing connection reports that as an error.
  db.on("error", () => undefined);
  const httpUrl = `http://127.0.0.1:${running.httpPort}`;
  const transport = createRemoteTransport(`http://127.0.0.1:${running.rpcPort}`, SECRET, clock);
  return {
    keys: createServiceClient(KeysService, "keys", transport),
    billing,
    clock,
    db,
    databaseUrl: database.url,
    proxy,
    rest: restCaller(httpUrl, "keys", SECRET, clock),
    metrics: async () => (await fetch(`${httpUrl}/metrics`)).text(),
    readyz: async () => {
      const response = await fetch(`${httpUrl}/readyz`);
      return { status: response.status, body: await response.json() };
    },
    withCrash: async (condition, work) => {
      await db.query(`ALTER TABLE keys.api_key ADD CONSTRAINT crash CHECK (${condition}) NOT VALID`);
      try {
        await work();
      } finally {
        await db.query("ALTER TABLE keys.api_key DROP CONSTRAINT crash");
      }
    },
    settle: async () => {
      clock.advance(61_000);
      await clock.runRound();
    },
    stop: async () => {
      await db.end();
      await running.stop();
      await proxy.cut();
      await database.drop();
    },
  };
}

/** Time that only a test moves; the rounds of the module wait for the test, too. */
class KeysClock extends ManualClock {
  #paused = Promise.withResolvers<() => void>();

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms !== SETTLE_EVERY_MS) return super.sleep(ms, signal);
    return new Promise((resolve) => {
      signal?.addEventListener("abort", () => resolve());
      this.#paused.resolve(resolve);
    });
  }

  /** Ends the pause before a round, and waits for the pause after it. */
  async runRound(): Promise<void> {
    const begin = await this.#paused.promise;
    this.#paused = Promise.withResolvers();
    begin();
    await this.#paused.promise;
  }
}

export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON of any shape. */
  readonly body: ReturnType<typeof JSON.parse>;
}

function restCaller(baseUrl: string, module: string, secret: string, clock: Clock) {
  return async (
    method: string,
    path: string,
    as: Principal | null,
    body?: string | object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<RestAnswer> => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        ...headers,
        [PRINCIPAL_HEADER]: signPrincipal(secret, module, as, clock),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
}

export class BillingOfKeys extends FakeBilling {
  readonly openedAccounts: string[] = [];
  /** Every spender that was put, in order. */
  readonly spenders: Spender[] = [];
  /** Runs before a spender is put; the caller gets its rejection. */
  beforePutSpender: (spender: Spender) => Promise<void> = async () => undefined;
  beforeOpenAccount: (accountId: string) => Promise<void> = async () => undefined;

  constructor(clock: Clock) {
    super({ clock, credit: 0n });
    this.before = async ({ kind, spender, accountId }) => {
      if (kind === "openAccount") await this.beforeOpenAccount(accountId);
      else if (spender !== undefined) await this.beforePutSpender(spender);
    };
    this.after = async ({ kind, spender, accountId }) => {
      if (kind === "openAccount") this.openedAccounts.push(accountId);
      else if (spender !== undefined) this.spenders.push(spender);
    };
  }
}
