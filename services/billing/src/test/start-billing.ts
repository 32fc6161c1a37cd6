// The billing module in a process with its own ports, over a database of its own. Tests reach it as its peers do:
// RPC over the network with a service token, REST with a signed principal.
import assert from "node:assert/strict";
import type { Principal } from "@gr/identity";
import { ActivityService } from "@gr/proto/activity";
import { BillingReportService, BillingService, StatementService, TextLogService } from "@gr/proto/billing";
import { BudgetService } from "@gr/proto/budgets";
import { SavedTextService } from "@gr/proto/saved-texts";
import {
  createRemoteTransport,
  createServiceClient,
  PRINCIPAL_HEADER,
  type ServiceClient,
  signPrincipal,
  startProcess,
  systemClock,
  type Timer,
} from "@gr/runtime";
import { ManualClock, until } from "@gr/testing";
import pg from "pg";
import { billingModule } from "../module.ts";
import { lockWaiters } from "./ledger-store.ts";
import { migratedDatabase } from "./migrated-database.ts";

const SECRET = "internal-secret-of-the-billing-tests-0123456789";
const INT8_OID = 20;
/** A slow machine is no failed call. Deadline of calls, milliseconds. */
const PATIENCE_MS = 120_000;

export type BillingClient = ServiceClient<typeof BillingService>;

export interface BillingProcess {
  readonly billing: BillingClient;
  /** The same service without the network between, and so without tokens that a moved clock makes invalid. */
  readonly inProcess: BillingClient;
  readonly reports: ServiceClient<typeof BillingReportService>;
  readonly texts: ServiceClient<typeof TextLogService>;
  readonly budgets: ServiceClient<typeof BudgetService>;
  readonly savedTexts: ServiceClient<typeof SavedTextService>;
  readonly activity: ServiceClient<typeof ActivityService>;
  readonly statements: ServiceClient<typeof StatementService>;
  readonly rpcUrl: string;
  rest(
    path: string,
    as: Principal | null,
    method?: string,
  ): Promise<{ status: number; body: ReturnType<typeof JSON.parse> }>;
  /** Prometheus text of the process. */
  metrics(): Promise<string>;
  readyz(): Promise<{ status: number; body: unknown }>;
  /** OpenAPI path items of the module. */
  describe(): Promise<Record<string, ReturnType<typeof JSON.parse>>>;
  stop(): Promise<void>;
}

export interface BillingUnderTest extends BillingProcess {
  readonly clock: ManualClock;
  readonly url: string;
  /** A superuser on billing's tables; bigint for 64-bit integers. */
  readonly db: pg.Pool;
  /** A connection in an open transaction, whose locks stand in the way of others until it ends. */
  transaction(): Promise<pg.Client>;
  /** Lets no writer store a step until it is unblocked; reads are answered. */
  blockSteps(): Promise<{ unblock(): Promise<void> }>;
  /** Waits until so many sessions wait for a lock. */
  waitForLocks(sessions: number): Promise<void>;
  /** @throws when the books do not add up */
  stopSound(): Promise<void>;
}

/** Noon of a Thursday, so that neither day, week nor month are about to end. */
export const THURSDAY = Date.UTC(2026, 0, 15, 12);

/** @param env settings beside the usual ones */
export async function startBilling(env: Record<string, string> = {}): Promise<BillingUnderTest> {
  const database = await migratedDatabase();
  const clock = new ManualClock(THURSDAY);
  const running = await startBillingOn(database.url, clock, env);
  const db = new pg.Pool({
    connectionString: database.url,
    max: 2,
    options: "-c search_path=billing -c timezone=UTC",
    types: {
      getTypeParser: ((oid: number) =>
        oid === INT8_OID ? BigInt : pg.types.getTypeParser(oid)) as typeof pg.types.getTypeParser,
    },
  });
  // A database is dropped with whoever is still connected to it: a connection that is just closing hears of that.
  db.on("error", () => undefined);
  const stop = async () => {
    await db.end();
    await running.stop();
    await database.drop();
  };
  const transaction = async () => {
    const client = new pg.Client({ connectionString: database.url, options: "-c search_path=billing" });
    await client.connect();
    await client.query("BEGIN");
    return client;
  };
  return {
    ...running,
    clock,
    url: database.url,
    db,
    transaction,
    blockSteps: async () => {
      const client = await transaction();
      await client.query("LOCK TABLE step IN EXCLUSIVE MODE");
      return {
        unblock: async () => {
          await client.query("ROLLBACK");
          await client.end();
        },
      };
    },
    waitForLocks: (sessions) =>
      until(async () => (await lockWaiters(db)) === sessions, { timeoutMs: PATIENCE_MS }),
    stop,
    stopSound: async () => {
      // A process that stays would disturb the next test file of its worker.
      const { differences } = await running.inProcess
        .verifyLedger({}, { timeoutMs: PATIENCE_MS })
        .finally(stop);
      assert.deepEqual(differences, []);
    },
  };
}

/** A client that chooses among processes as a service of a cluster does. @param addresses RPC URLs of the live ones */
export function dialProcesses(addresses: () => readonly string[]): BillingClient {
  const resolve = async () => addresses();
  const transport = createRemoteTransport("http://billing:8082", SECRET, systemClock, resolve);
  return createServiceClient(BillingService, "billing", transport, PATIENCE_MS);
}

/** A process on a database that others may use too. */
export async function startBillingOn(
  url: string,
  clock: Timer = systemClock,
  env: Record<string, string> = {},
): Promise<BillingProcess> {
  const running = await startProcess([billingModule], {
    env: {
      DATABASE_URL: url,
      DATABASE_POOL_SIZE: "4",
      INTERNAL_AUTH_SECRET: SECRET,
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      LOG_LEVEL: "silent",
      SERVICE_CALL_TIMEOUT_MS: "50000",
      ...env,
    },
    clock,
  });
  const httpUrl = `http://127.0.0.1:${running.httpPort}`;
  const rpcUrl = `http://127.0.0.1:${running.rpcPort}`;
  const transport = createRemoteTransport(rpcUrl, SECRET, clock);
  return {
    rpcUrl,
    billing: createServiceClient(BillingService, "billing", transport, PATIENCE_MS),
    inProcess: running.dial("billing", BillingService),
    reports: running.dial("billing", BillingReportService),
    texts: running.dial("billing", TextLogService),
    budgets: running.dial("billing", BudgetService),
    savedTexts: running.dial("billing", SavedTextService),
    activity: running.dial("billing", ActivityService),
    statements: running.dial("billing", StatementService),
    rest: async (path, as, method = "GET") => {
      const headers = { [PRINCIPAL_HEADER]: signPrincipal(SECRET, "billing", as, clock) };
      const response = await fetch(httpUrl + path, { method, headers });
      return { status: response.status, body: await response.json() };
    },
    metrics: async () => (await fetch(`${httpUrl}/metrics`)).text(),
    readyz: async () => {
      const response = await fetch(`${httpUrl}/readyz`);
      return { status: response.status, body: await response.json() };
    },
    describe: async () => {
      const answer = (await (await fetch(`${httpUrl}/openapi-paths.json`)).json()) as {
        billing: Record<string, unknown>;
      };
      return answer.billing;
    },
    stop: () => running.stop(),
  };
}
