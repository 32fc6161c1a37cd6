// A router for the CLI's tests: the real keys module over a database of its own, real or fake billing, a fake
// catalogue, and the runtime.json that a running router writes.
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { keysModule } from "@gr/keys";
import {
  connectPostgres,
  createLogger,
  type Environment,
  type Module,
  migrate,
  startProcess,
} from "@gr/runtime";
import { testDatabase } from "@gr/testing";
import { type CliOutcome, runWith } from "../simulated.ts";
import { createFakePeers, type FakePeers } from "./fake-peers.ts";

/** Deadline of calls, milliseconds. */
export const PATIENCE_MS = 120_000;
export const SECRET = "internal-secret-of-the-cli-tests-0123456789";

export interface RouterUnderTest {
  readonly peers: FakePeers;
  readonly rpcUrl: string;
  readonly dataDir: string;
  readonly databaseUrl: string;
  /** Runs a command against this router. */
  cli(...args: string[]): Promise<CliOutcome>;
  /** Runs a command with --json; returns the parsed output of any shape. */
  json(...args: string[]): Promise<ReturnType<typeof JSON.parse>>;
  stop(): Promise<void>;
}

/** @param options.billing instead of the fake one. */
export async function startRouter(options: { billing?: Module } = {}): Promise<RouterUnderTest> {
  const peers = createFakePeers();
  const modules = [
    keysModule,
    options.billing ?? peers.billingModule,
    peers.catalogModule,
    peers.mediaModule,
    peers.textProxyModule,
  ];
  const schemas = modules.map(({ schema }) => schema).filter((schema) => schema !== undefined);
  const database = await testDatabase(`cli ${schemas.map(({ name }) => name)}`, async (url) => {
    const log = createLogger("silent", "test");
    for (const schema of schemas) {
      const pool = await connectPostgres({ url, poolSize: 1, schema: schema.name, log });
      await migrate(pool, schema);
      await pool.end();
    }
  });
  const running = await startProcess(modules, {
    env: {
      DATABASE_URL: database.url,
      KEY_PEPPER: "pepper-of-the-cli-tests-0123456789-abcdef",
      WEB_TOKEN_PRIVATE_KEY: generateKeyPairSync("ed25519")
        .privateKey.export({ format: "pem", type: "pkcs8" })
        .toString(),
      INTERNAL_AUTH_SECRET: SECRET,
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      LOG_LEVEL: "silent",
      // A slow machine is no failed call.
      SERVICE_CALL_TIMEOUT_MS: "50000",
    },
  });
  const rpcUrl = `http://127.0.0.1:${running.rpcPort}`;
  const dataDir = await mkdtemp(join(tmpdir(), "generation-router-cli-"));
  await writeRuntimeFile(dataDir, rpcUrl, SECRET);
  const cli = (...args: string[]) => runWith({ DATA_DIR: dataDir }, ...args);
  return {
    peers,
    rpcUrl,
    dataDir,
    databaseUrl: database.url,
    cli,
    json: async (...args) => {
      const { out, err } = await cli(...args, "--json");
      if (err !== "") throw new Error(err);
      return JSON.parse(out);
    },
    stop: async () => {
      await running.stop();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export async function writeRuntimeFile(dataDir: string, rpcUrl: string, secret: string): Promise<void> {
  const content = {
    rpc_urls: {
      keys: rpcUrl,
      billing: rpcUrl,
      catalog: rpcUrl,
      "media-generation": rpcUrl,
      "text-proxy": rpcUrl,
    },
    internal_auth_secret: secret,
  };
  await writeFile(join(dataDir, "runtime.json"), JSON.stringify(content), { mode: 0o600 });
}

const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));

/** Runs the command in a process of its own, with this environment and no other. */
export function runMain(env: Environment, ...args: string[]): Promise<CliOutcome> {
  return new Promise((resolve) => {
    const childEnv = { ...env };
    execFile(process.execPath, [MAIN, ...args], { env: childEnv, timeout: 120_000 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err }),
    );
  });
}
