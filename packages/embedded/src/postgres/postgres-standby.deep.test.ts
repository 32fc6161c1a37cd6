// The guarantees of a standby: it follows its primary and refuses writes. Once promoted it has all that its primary
// confirmed.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import pg from "pg";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";
import { createStandby } from "./postgres-standby.ts";

const FOLLOWED = { wal_level: "replica", max_wal_senders: 4 };
const PRIMARY = { ...FOLLOWED, synchronous_standby_names: "follower" };

let primaryDir: string;
let dataDir: string;
let servers: PostgresServer[];

beforeEach(async () => {
  servers = [];
  primaryDir = await mkdtemp(join(tmpdir(), "postgres-primary-"));
  dataDir = await mkdtemp(join(tmpdir(), "postgres-standby-"));
});

afterEach(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await Promise.all([primaryDir, dataDir].map((folder) => rm(folder, { recursive: true, force: true })));
});

async function start(folder: string, settings: Record<string, string | number>): Promise<PostgresServer> {
  const server = await startPostgres({ dataDir: folder, durable: false, settings });
  servers.push(server);
  return server;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

test("a promoted standby has what its primary confirmed before kill -9, and can be written to", async () => {
  const first = await start(primaryDir, PRIMARY);
  await first.stop();
  await createStandby({ primaryDir, dataDir, primaryUrl: first.url, name: "follower" });
  const primary = await start(primaryDir, PRIMARY);
  const standby = await start(dataDir, FOLLOWED);
  await query(primary.url, "SET synchronous_commit = on; CREATE TABLE note AS SELECT 'kept' AS text");
  process.kill(primary.pid, "SIGKILL");
  await primary.exited;
  await expect(query(standby.url, "CREATE TABLE other ()")).rejects.toThrow("read-only transaction");
  await query(standby.url, "SELECT pg_promote()");
  await expect(query(standby.url, "SELECT text FROM note")).resolves.toEqual([{ text: "kept" }]);
  await query(standby.url, "CREATE TABLE other ()");
});

test("a running primary is not copied, and no database is overwritten", async () => {
  const first = await start(primaryDir, {});
  const options = { primaryDir, dataDir, primaryUrl: first.url, name: "follower" };
  await expect(createStandby(options)).rejects.toThrow(`in use by process ${process.pid}`);
  await first.stop();
  await createStandby(options);
  await expect(createStandby(options)).rejects.toThrow("There is a database in");
});
