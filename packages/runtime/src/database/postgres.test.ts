// Guarantees of connections that break or lead to the wrong server: their user gets an error, the process continues,
// and the next connection is a good one.
import { randomUUID } from "node:crypto";
import { until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { createLogger } from "../process/logger.ts";
import { connectPostgres, inTransaction, isConnectionError, type Pool, type PoolClient } from "./postgres.ts";

const SERVER = process.env["TEST_POSTGRES_URL"] ?? "";
const name = `connections_${randomUUID().replaceAll("-", "")}`;
const log = createLogger("silent", "test");
const SILENCE_MS = 5_000;

/** Connection to the server's own database, from which the tests cause the faults. */
let admin: Pool;
const url = new URL(SERVER);
url.pathname = `/${name}`;

beforeAll(async () => {
  admin = await connectPostgres({ url: SERVER, poolSize: 2, schema: "public", log });
  await admin.query(`CREATE DATABASE ${name}`);
});
afterAll(async () => {
  await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await admin.end();
});
beforeEach(() => allowWrites(true));

const allowWrites = (does: boolean) =>
  admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${does ? "off" : "on"}`);

async function withPool<T>(work: (pool: Pool) => Promise<T>, answerTimeoutMs = 60_000): Promise<T> {
  const pool = await connectPostgres({ url: url.href, poolSize: 2, schema: "public", log, answerTimeoutMs });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

async function pidOf(client: Pick<PoolClient, "query">): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const [row] = rows;
  if (row === undefined) throw new Error("the server does not know who it is");
  return row.pid;
}

/** Returns the rejection of a call; undefined without one. */
const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

test("an idle connection that is lost is said, but not of a pool that ends", async () => {
  const messages: unknown[] = [];
  const hearing = Object.assign(createLogger("silent", "test"), {
    warn: (...words: unknown[]) => void messages.push(words[1]),
  });
  const pool = await connectPostgres({ url: url.href, poolSize: 1, schema: "public", log: hearing });
  const pid = await pidOf(pool);
  await admin.query("SELECT pg_terminate_backend($1)", [pid]);
  await until(() => messages.length === 1, { timeoutMs: 60_000 });
  expect(messages).toEqual(["an idle postgres connection was lost"]);
  const client = await pool.connect();
  client.release();
  const ended = pool.end();
  pool.emit("error", new Error("the server stops"), client);
  await ended;
  expect(messages).toHaveLength(1);
});

test("a connection that the server ends fails the transaction on it, and no other", async () => {
  await withPool(async (pool) => {
    for (const during of ["a query", "a pause"]) {
      const error = await errorOf(
        inTransaction(pool, async (client) => {
          const pid = await pidOf(client);
          const slow = during === "a query" ? errorOf(client.query("SELECT pg_sleep(60)")) : undefined;
          const ended = new Promise((resolve) => client.once("end", resolve));
          await admin.query("SELECT pg_terminate_backend($1)", [pid]);
          await ended;
          expect(isConnectionError((await slow) ?? new Error("connection"))).toBe(true);
          await client.query("SELECT 1");
        }),
      );
      expect(isConnectionError(error)).toBe(true);
      await expect(inTransaction(pool, pidOf)).resolves.toBeGreaterThan(0);
    }
  });
});

test("a server that says nothing any more is given up, and the next connection is a new one", async () => {
  await withPool(async (pool) => {
    const silent = await pool.connect();
    const pid = await pidOf(silent);
    process.kill(pid, "SIGSTOP");
    try {
      silent.release();
      const error = await errorOf(inTransaction(pool, pidOf));
      expect(isConnectionError(error)).toBe(true);
      await expect(inTransaction(pool, pidOf)).resolves.not.toBe(pid);
    } finally {
      process.kill(pid, "SIGCONT");
    }
  }, SILENCE_MS);
});

test("no connection is made to a server that takes no writes, and none has to be ended when it does", async () => {
  await withPool(async (pool) => {
    await allowWrites(false);
    // The earlier connection is in use.
    await inTransaction(pool, async () => {
      for (let call = 0; call < 3; call += 1) {
        const error = await errorOf(pool.query("SELECT 1"));
        expect(isConnectionError(error)).toBe(true);
        expect(error).toMatchObject({ message: "the server accepts no writes" });
      }
      await allowWrites(true);
      await expect(pool.query("SELECT 1 AS one")).resolves.toMatchObject({ rows: [{ one: 1 }] });
    });
  });
});

test("a start on a server that takes no writes is refused in one sentence", async () => {
  await allowWrites(false);
  await expect(withPool(async () => undefined)).rejects.toThrow(
    /^PostgreSQL at \S+ is not usable: the server accepts no writes\.$/,
  );
});

test.each([
  ["an error of another service, whose code is a number", Object.assign(new Error("no"), { code: 3 }), false],
  ["an error without a code", new Error("Query read timeout"), true],
  ["a duplicate", Object.assign(new Error("connection_pkey"), { code: "23505" }), false],
  ["a write on a standby", Object.assign(new Error("read-only"), { code: "25006" }), true],
  ["a shutdown", Object.assign(new Error("bye"), { code: "57P01" }), true],
  ["a reset", Object.assign(new Error("reset"), { code: "ECONNRESET" }), true],
  ["nothing", null, false],
])("%s is judged by what it says of the connection", (_, error, broken) => {
  expect(isConnectionError(error)).toBe(broken);
});

test("a transaction that nobody goes on with ends, and frees its locks", async () => {
  await withPool(async (pool) => {
    await pool.query("CREATE TABLE lockable (id integer)");
    const { rows } = await pool.query("SHOW idle_in_transaction_session_timeout");
    expect(rows).toEqual([{ idle_in_transaction_session_timeout: "30s" }]);
    const forgotten = inTransaction(pool, async (client) => {
      // Shortens the wait of half a minute.
      await client.query("SET LOCAL idle_in_transaction_session_timeout = 1; LOCK TABLE lockable");
      await new Promise((resolve) => client.once("end", resolve));
      return client.query("SELECT");
    });
    expect(isConnectionError(await errorOf(forgotten))).toBe(true);
    await pool.query("LOCK TABLE lockable NOWAIT; DROP TABLE lockable");
  });
});
