// The guarantees of an embedded PostgreSQL: real servers, real kills.
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import pg from "pg";
import { commandOf } from "../process/process-command.ts";
import { startChild } from "../test/child.ts";
import { findPostgres } from "./postgres-binaries.ts";
import { startPostgres, startPostgresAs } from "./postgres-server.ts";
import { AS_NOBODY, chooseAccount, IN_USER_NAMESPACE, runAs } from "./server-account.ts";

/** Folder of a cluster that each test copies, because a new one needs more time than a whole test. */
let template: string;
let dataDir: string;

beforeAll(async () => {
  template = await mkdtemp(join(tmpdir(), "postgres-test-"));
  const server = await startPostgres({ dataDir: template, durable: false });
  await server.stop();
});

afterAll(() => rm(template, { recursive: true, force: true }));

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "postgres-test-"));
  await copyTemplate(dataDir);
});

async function copyTemplate(folder: string): Promise<void> {
  for (const part of ["cluster", "password"]) {
    await cp(join(template, part), join(folder, part), { recursive: true });
  }
}

afterEach(() => rm(dataDir, { recursive: true, force: true }));

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function ended(pid: number): Promise<void> {
  while ((await commandOf(pid)) !== undefined) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** A server in a process of its own that has committed one row. */
function startInChild(options: object) {
  return startChild(`
    const { url, pid } = await embedded.startPostgres(${JSON.stringify({ dataDir, ...options })});
    const pg = (await import(${JSON.stringify(import.meta.resolve("pg"))})).default;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query("CREATE TABLE IF NOT EXISTS note AS SELECT 'kept' AS text");
    console.log(JSON.stringify({ pid }));`);
}

test("committed rows survive kill -9 of the process that started the server, and the server ends with it", async () => {
  const child = await startInChild({ durable: true });
  const { pid } = JSON.parse(child.output);
  await child.kill();
  // Started at once, while the old server may still shut down.
  const server = await startPostgres({ dataDir, durable: true });
  await expect(query(server.url, "SELECT text FROM note")).resolves.toEqual([{ text: "kept" }]);
  await ended(pid);
  await server.stop();
  await ended(server.pid);
});

test("committed rows survive kill -9 of the server itself", async () => {
  const server = await startPostgres({ dataDir, durable: true });
  await query(server.url, "CREATE TABLE note AS SELECT 'kept' AS text");
  process.kill(server.pid, "SIGKILL");
  await server.exited;
  const again = await startPostgres({ dataDir, durable: true });
  await expect(query(again.url, "SELECT text FROM note")).resolves.toEqual([{ text: "kept" }]);
  await again.stop();
});

test("a server that is told to end when its clients have left ends at once: it takes no new ones", async () => {
  const server = await startPostgres({ dataDir, durable: false });
  const client = new pg.Client({ connectionString: server.url });
  const left = new Promise((resolve) => client.on("error", resolve));
  await client.connect();
  process.kill(server.pid, "SIGTERM");
  await Promise.all([server.exited, left]);
  const again = await startPostgres({ dataDir, durable: false });
  await expect(query(again.url, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  await again.stop();
});

test("a server whose guard was killed is stopped all the same", async () => {
  const server = await startPostgres({ dataDir, durable: false });
  process.kill(Number(execFileSync("ps", ["-o", "ppid=", "-p", String(server.pid)])), "SIGKILL");
  await expect(query(server.url, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  await server.stop();
  await ended(server.pid);
});

test("a pid file that names an unrelated process does not keep the server from starting", async () => {
  const server = await startPostgres({ dataDir, durable: false });
  process.kill(server.pid, "SIGKILL");
  await server.exited;
  const file = join(dataDir, "cluster", "postmaster.pid");
  const lines = (await readFile(file, "utf8")).split("\n");
  await writeFile(file, [process.pid, ...lines.slice(1)].join("\n"));
  const again = await startPostgres({ dataDir, durable: false });
  await expect(query(again.url, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  await again.stop();
});

test("a server that was left running is shut down first", async () => {
  const { postgres } = findPostgres();
  const { prefix, user } = await chooseAccount(postgres);
  const cluster = join(dataDir, "cluster");
  const settings = ["-c", "listen_addresses=", "-c", `unix_socket_directories=${cluster}`];
  const [program = "", ...args] = [...prefix, postgres, "-D", cluster, ...settings];
  const orphan = spawn(program, args, { cwd: "/", stdio: "ignore", ...user });
  const gone = new Promise((resolve) => orphan.once("close", resolve));
  while (!existsSync(join(cluster, "postmaster.pid")))
    await new Promise((resolve) => setTimeout(resolve, 10));
  const server = await startPostgres({ dataDir, durable: false });
  await gone;
  await expect(query(server.url, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  await server.stop();
});

test("a database that was half made when its maker was killed is made anew", async () => {
  await rm(join(dataDir, "cluster"), { recursive: true });
  await mkdir(join(dataDir, "cluster.new", "base"), { recursive: true });
  await writeFile(join(dataDir, "cluster.new", "PG_VERSION"), "18\n");
  const server = await startPostgres({ dataDir, durable: false });
  await expect(query(server.url, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  expect(existsSync(join(dataDir, "cluster.new"))).toBe(false);
  await server.stop();
});

test("a second server on the same folder is refused while the first runs on", async () => {
  const server = await startPostgres({ dataDir, durable: false });
  await expect(startPostgres({ dataDir, durable: false })).rejects.toThrow(
    `in use by process ${process.pid}`,
  );
  await expect(query(server.url, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  await server.stop();
});

test("nobody gets in without the password, by socket or by port", async () => {
  const { freePort } = await import("../process/free-port.ts");
  const port = await freePort();
  const server = await startPostgres({ dataDir, durable: false, port });
  const bySocket = new URL(server.url);
  bySocket.searchParams.set("host", join(dataDir, "cluster"));
  for (const url of [new URL(server.url), bySocket]) {
    await expect(query(url.href, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
    url.password = "guess";
    await expect(query(url.href, "SELECT 1")).rejects.toThrow("password authentication failed");
  }
  await server.stop();
});

test("a folder whose path is too long for a socket works as well", async () => {
  const long = join(dataDir, "x".repeat(100));
  await mkdir(long);
  await copyTemplate(long);
  const server = await startPostgres({ dataDir: long, durable: false });
  const sockets = new URL(server.url).searchParams.get("host") ?? "";
  await expect(query(server.url, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  process.kill(server.pid, "SIGKILL");
  await server.exited;
  expect(existsSync(sockets)).toBe(false);
  // A restarted server has the same address for its clients.
  const again = await startPostgres({ dataDir: long, durable: false });
  expect(again.url).toBe(server.url);
  await expect(query(server.url, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  await again.stop();
  expect(existsSync(sockets)).toBe(false);
});

test("a folder with commas, quotes, spaces and backslashes in its name works as well", async () => {
  const folder = join(dataDir, 'a,b, "c" d\'e\\f');
  await mkdir(folder);
  await copyTemplate(folder);
  const server = await startPostgres({ dataDir: folder, durable: false });
  await expect(query(server.url, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  expect(existsSync(join(folder, "cluster", ".s.PGSQL.5432"))).toBe(true);
  await server.stop();
});

test("a temporary database is gone when its user is killed", async () => {
  const child = await startInChild({ durable: false, temporary: true });
  await child.kill();
  while (existsSync(dataDir)) await new Promise((resolve) => setTimeout(resolve, 10));
});

test("the same data can be used under every account that this machine offers", async () => {
  const { postgres } = findPostgres();
  const candidates = process.getuid?.() === 0 ? [IN_USER_NAMESPACE, AS_NOBODY, IN_USER_NAMESPACE] : [];
  const works = await Promise.all(candidates.map((account) => runAs(account, [postgres, "--version"])));
  const accounts = candidates.filter((_, index) => works[index]?.code === 0);
  for (const account of accounts) {
    const server = await startPostgresAs(account, { dataDir, durable: false });
    await query(server.url, "CREATE TABLE IF NOT EXISTS note AS SELECT 'kept' AS text");
    await expect(query(server.url, "SELECT text FROM note")).resolves.toEqual([{ text: "kept" }]);
    await server.stop();
  }
});

test("why a server does not start is said in one sentence", async () => {
  await writeFile(join(dataDir, "cluster", "postgresql.conf"), "shared_buffers = nonsense\n");
  await expect(startPostgres({ dataDir, durable: false })).rejects.toThrow(
    /^PostgreSQL did not start: [^\n]*postgresql\.conf[^\n]*$/,
  );
});
