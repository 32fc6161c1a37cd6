// Media generation between fakes at the edge of the process: billing, catalogue, a listener instead of the gateway,
// and the test's own upstream. Database and files are real and survive a restart within a test.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeBilling } from "@gr/ledger-model";
import type { Model } from "@gr/proto/catalog";
import { type RunningProcess, startProcess, systemClock, type Timer } from "@gr/runtime";
import { type TestDatabase, until } from "@gr/testing";
import pg from "pg";
import { defineMediaGeneration } from "../module.ts";
import { createProviders } from "../providers/configured-providers.ts";
import { caller, edgeModule, KEY_HEADER } from "./edge.ts";
import { catalogOf, fixedModels } from "./fixed-catalog.ts";
import { readRow } from "./log-store.ts";
import { migratedDatabase } from "./migrated-database.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Any parsed JSON: tests read answers of many shapes. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export const INTERNAL_AUTH_SECRET = "internal-secret-of-the-media-tests-0123456789";

/** Deadlines that are soon over: for tests that wait for that, since a slow machine does not work in so little time. */
export const QUICK = {
  MEDIA_TIMEOUT_MS: "1500",
  MEDIA_LEASE_MS: "600",
  HOLD_GRACE_MS: "300",
  RESOLVE_INTERVAL_MS: "50",
};

/** Like QUICK, with enough time for the work. */
export const PATIENT = { ...QUICK, MEDIA_TIMEOUT_MS: "60000" };

/** Like PATIENT, and a paused process does not count as dead, so that each operation happens once. */
export const UNDISTURBED = { ...PATIENT, MEDIA_LEASE_MS: "60000" };

export interface MediaUnderTest {
  readonly billing: FakeBilling;
  readonly db: pg.Pool;
  readonly dataDir: string;
  readonly database: TestDatabase;
  url(): string;
  /** The address for peers. */
  rpcUrl(): string;
  /** Returns an entry of the log, as its API shows it, with the client's key or the named one. */
  logged(id: string | null, key?: string): Promise<Answer>;
  /** Requests images as JSON; a string is sent unchanged. */
  generate(body: object | string, path?: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The only row there is. */
  row(): Promise<Record<string, unknown>>;
  /** Files under the media folder. */
  files(): Promise<string[]>;
  /** Returns the files without thumbnails and posters. */
  outputs(): Promise<string[]>;
  metrics(): Promise<string>;
  readyz(): Promise<Answer>;
  /** Stops the process and starts another one on the same data, in a world that may have changed. */
  restart(changed?: Restart): Promise<void>;
  /** The first half of it. */
  stopProcess(): Promise<void>;
  stop(): Promise<void>;
}

export interface Restart {
  /** Models of the catalogue. */
  readonly models?: readonly Model[];
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Timer;
}

export interface MediaOptions {
  readonly upstreamUrl: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly providers?: typeof createProviders;
}

/** For accounts with enough credit for every request. */
export function createBilling(): FakeBilling {
  return new FakeBilling({ credit: 1_000_000_000n });
}

const MOVES = new Set(["place", "capture", "release", "nextAttempt"]);

/** Operations on holds, in order. */
export function movesOf({ calls }: FakeBilling): string[] {
  return calls.map(({ kind }) => kind).filter((kind) => MOVES.has(kind));
}

export async function startMedia(options: MediaOptions): Promise<MediaUnderTest> {
  const database = await migratedDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "media-generation-"));
  const billing = createBilling();
  const db = new pg.Pool({
    connectionString: database.url,
    max: 2,
    options: "-c search_path=media_generation",
  });
  db.on("error", () => undefined);
  const start = async ({ models = fixedModels, env = {}, clock = systemClock }: Restart = {}) => {
    const media = defineMediaGeneration(options.providers ?? createProviders);
    const started = await startProcess([media, billing.module, catalogOf(models), edgeModule], {
      env: { ...environment(database.url, dataDir, options), ...env },
      clock,
    });
    const readyUrl = `http://127.0.0.1:${started.httpPort}/readyz`;
    await until(async () => (await fetch(readyUrl)).status === 200, { timeoutMs: 60_000 });
    return started;
  };
  let running: RunningProcess = await start();
  const url = () => running.publicUrl("edge") ?? "";
  return {
    billing,
    db,
    dataDir,
    database,
    url,
    rpcUrl: () => `http://127.0.0.1:${running.rpcPort}`,
    logged: async (id, key = caller.keyId) => {
      const response = await fetch(`${url()}/v1/generations/${id}`, { headers: { [KEY_HEADER]: key } });
      return answerOf(response);
    },
    generate: (body, path = "/v1/compat/images/generations", headers = {}) =>
      postJson(url() + path, body, headers),
    row: () => readRow(db),
    files: async () => filesUnder(join(dataDir, "media")),
    outputs: async () => (await filesUnder(join(dataDir, "media"))).filter((name) => !isPreview(name)),
    readyz: async () => answerOf(await fetch(`http://127.0.0.1:${running.httpPort}/readyz`)),
    metrics: async () => (await fetch(`http://127.0.0.1:${running.httpPort}/metrics`)).text(),
    restart: async (changed) => {
      await running.stop();
      running = await start(changed);
    },
    stopProcess: () => running.stop(),
    stop: async () => {
      await running.stop();
      await db.end();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export function environment(databaseUrl: string, dataDir: string, { upstreamUrl, env }: MediaOptions) {
  return {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: "4",
    DATA_DIR: dataDir,
    INTERNAL_AUTH_SECRET,
    SERVICE_HTTP_PORT: "0",
    SERVICE_RPC_PORT: "0",
    LOG_LEVEL: "silent",
    PUBLIC_BASE_URL: "https://media.example/",
    OPENAI_API_KEY: "sandbox",
    OPENAI_BASE_URL: `${upstreamUrl}/openai/v1`,
    MEDIA_LOOKUP_URL: `${upstreamUrl}/bill`,
    ...env,
  };
}

export async function postJson(
  url: string,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return answerOf(response);
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

export const isPreview = (file: string) => file.includes(".preview.");

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}
