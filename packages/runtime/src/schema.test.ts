// Guarantees of a process and its schema: the process migrates it, or waits for another that does, alive and not ready.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@gr/embedded";
import { type TestDatabase, testDatabase, until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { defineModule } from "./module.ts";
import { postgresConfig } from "./process/config.ts";
import { createLogger } from "./process/logger.ts";
import { type RunningProcess, startProcess } from "./run.ts";
import { migrateSchemas, openPool, placedSchemas } from "./schema.ts";

const log = createLogger("silent", "test");
let database: TestDatabase;
let root: string;
let env: Record<string, string>;
let stopping: AbortController;
let starting: Promise<RunningProcess>;

beforeEach(async () => {
  database = await testDatabase("empty");
  root = await mkdtemp(join(tmpdir(), "schema-"));
  await mkdir(join(root, "migrations"));
  await writeFile(join(root, "migrations/0001-one.sql"), "CREATE TABLE one (id int8 PRIMARY KEY)");
  env = {
    DATABASE_URL: database.url,
    SERVICE_HTTP_PORT: String(await freePort()),
    SERVICE_RPC_PORT: "0",
    INTERNAL_AUTH_SECRET: "a secret for tests that is long enough",
    LOG_LEVEL: "silent",
  };
  stopping = new AbortController();
});
afterEach(async () => {
  stopping.abort();
  await starting.then(
    (running) => running.stop(),
    () => undefined,
  );
  await database.drop();
  await rm(root, { recursive: true });
});

const keeper = () => {
  const schema = { name: "keeper", migrations: join(root, "migrations") };
  return defineModule({
    name: "keeper",
    needs: [],
    config: postgresConfig,
    schema,
    create: async ({ config }) => {
      const pool = await openPool(config, schema, log);
      await pool.query("SELECT id FROM one");
      return { stop: () => pool.end() };
    },
  });
};
const start = (more: Record<string, string>) => {
  starting = startProcess([keeper()], { env: { ...env, ...more }, stopping: stopping.signal });
  return starting;
};
const ask = async (path: string) => {
  const answer = await fetch(`http://127.0.0.1:${env["SERVICE_HTTP_PORT"]}${path}`);
  return { status: answer.status, body: (await answer.json()) as { problems?: string[] } };
};
const waits = async (sentence: string) => {
  await until(async () => (await ask("/readyz")).body.problems?.includes(sentence) === true, {
    timeoutMs: 60_000,
  });
};
const lacking = (files: string) =>
  `the schema keeper lacks ${files}; run its service with the argument "migrate"`;

test("with MIGRATE=off a process waits for its schema, alive and not ready, until somebody has migrated it", async () => {
  const running = start({ MIGRATE: "off" });
  await waits(lacking("0001-one.sql"));
  expect((await ask("/readyz")).status).toBe(503);
  expect((await ask("/livez")).status).toBe(200);
  const placed = placedSchemas([keeper()], env);
  expect(await migrateSchemas(placed, log)).toEqual(["keeper: applied 0001-one.sql."]);
  expect(await migrateSchemas(placed, log)).toEqual(["keeper: nothing to do."]);
  await running;
  expect(await ask("/readyz")).toEqual({ status: 200, body: { status: "ok", problems: [] } });
});

test("what a process waits for may be a later migration", async () => {
  await migrateSchemas(placedSchemas([keeper()], env), log);
  await writeFile(join(root, "migrations/0002-two.sql"), "CREATE TABLE two (id int8)");
  const running = start({ MIGRATE: "off" });
  await waits(lacking("0002-two.sql"));
  await migrateSchemas(placedSchemas([keeper()], env), log);
  await running;
});

test("a process waits for its PostgreSQL, too, and not when it was told to stop", async () => {
  const nobody = `127.0.0.1:${await freePort()}`;
  const running = start({ MIGRATE: "off", DATABASE_URL: `postgres://user:secret@${nobody}/db` });
  await until(async () => (await ask("/readyz")).body.problems?.[0]?.includes(nobody) === true, {
    timeoutMs: 60_000,
  });
  stopping.abort();
  await expect(running).rejects.toThrow("the process was stopped before its schema was there");
  await expect(ask("/livez")).rejects.toThrow();
});

test("with MIGRATE=on it migrates before it is created", async () => {
  await start({ MIGRATE: "on" });
  expect((await ask("/readyz")).status).toBe(200);
});
