// Guarantees of the watch over the network, through the catalogue copy of every service.
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createCatalogCopy } from "@gr/clients";
import { CatalogService } from "@gr/proto/catalog";
import { createLogger, defineModule, type Module, type RunningProcess, startProcess } from "@gr/runtime";
import { freePort, ManualClock, type TestDatabase, until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { z } from "zod";
import { type FakeUpstream, listing, openRouterRow, startFakeUpstream } from "./test/fake-upstream.ts";
import { migratedDatabase } from "./test/migrated-database.ts";
import { type CatalogUnderTest, SECRET, startCatalog } from "./test/start-catalog.ts";

const PATIENCE = { timeoutMs: 60_000 };
// Each process reads the other's service tokens, so both use one clock.
const clock = new ManualClock();
type Copy = ReturnType<typeof createCatalogCopy>;

let upstream: FakeUpstream;
let database: TestDatabase;
let rpcPort: number;
let server: CatalogUnderTest | undefined;
const readers: RunningProcess[] = [];

beforeEach(async () => {
  upstream = await startFakeUpstream(listing(openRouterRow("vendor/one")));
  database = await migratedDatabase();
  rpcPort = await freePort();
});
afterEach(async () => {
  await stopReaders();
  await server?.stop();
  await database.drop();
  await upstream.close();
  server = undefined;
});

async function stopReaders(): Promise<void> {
  for (const reader of readers.splice(0)) await reader.stop();
}

async function startServer(beside: Module[] = []): Promise<void> {
  const env = {
    TEXT_UPSTREAM_BASE_URL: upstream.url,
    TEXT_IMPORT_INTERVAL_MS: "20",
    SERVICE_RPC_PORT: String(rpcPort),
  };
  server = await startCatalog({ database, env, clock, beside });
}

/** A module with a copy of the catalogue, which is complete when the module has been created. */
function readerModule(): { module: Module; copy: () => Copy } {
  let copy: Copy | undefined;
  const module: Module = defineModule({
    name: "reader",
    needs: ["catalog"],
    config: z.object({}),
    create: async ({ dial }) => {
      const created = createCatalogCopy(dial("catalog", CatalogService), createLogger("silent", "reader"));
      copy = created;
      return { start: created.start, stop: created.stop };
    },
  });
  return {
    module,
    copy: () => {
      if (copy === undefined) throw new Error("the reader was not created");
      return copy;
    },
  };
}

/** Starts another process, with a copy of the catalogue. */
async function startReader(port = rpcPort): Promise<Copy> {
  const { module, copy } = readerModule();
  const env = {
    INTERNAL_AUTH_SECRET: SECRET,
    SERVICE_HTTP_PORT: "0",
    SERVICE_RPC_PORT: "0",
    LOG_LEVEL: "silent",
    CATALOG_RPC_URL: `http://127.0.0.1:${port}`,
  };
  readers.push(await startProcess([module], { clock, env }));
  return copy();
}

test("a change is in every copy soon: in the catalogue's own process and in two others", async () => {
  const beside = readerModule();
  await startServer([beside.module]);
  const copies = [beside.copy(), await startReader(), await startReader()];
  const served = async () => (await server?.catalog.getCatalog({}))?.catalog?.version;
  for (const listed of [["one", "two"], ["two"], ["two", "three", "four"]]) {
    upstream.respond = listing(...listed.map((name) => openRouterRow(`vendor/${name}`)));
    const last = `vendor/${listed.at(-1)}`;
    await until(() => copies.every((copy) => copy.find(last) !== undefined), PATIENCE);
    await until(
      () => copies.every((copy) => (copy.find("vendor/one") !== undefined) === listed.includes("one")),
      PATIENCE,
    );
    const version = await served();
    expect(copies.map((copy) => copy.version())).toEqual(copies.map(() => version));
  }
});

test("a copy in another process has every change", async () => {
  await startServer();
  const copy = await startReader();
  await until(() => copy.find("vendor/one") !== undefined, PATIENCE);
  const version = copy.version();
  upstream.respond = listing(openRouterRow("vendor/one"), openRouterRow("vendor/two"));
  await until(() => copy.find("vendor/two") !== undefined, PATIENCE);
  expect(copy.version()).not.toBe(version);
  expect(copy.version()).toBe((await server?.catalog.getCatalog({}))?.catalog?.version);
});

test("a copy waits for a catalogue that starts later", async () => {
  const copy = await startReader();
  expect(copy.version()).toBe("");
  await startServer();
  await until(() => copy.find("vendor/one") !== undefined, PATIENCE);
});

test("a copy serves on while the catalogue is away, and catches up when it is back", async () => {
  await startServer();
  const copy = await startReader();
  await until(() => copy.find("vendor/one") !== undefined, PATIENCE);
  await server?.stop();
  server = undefined;
  upstream.respond = listing(openRouterRow("vendor/two"));
  expect(copy.find("vendor/one")).toBeDefined();
  expect(copy.find("openai/gpt-image-2")).toBeDefined();
  await startServer();
  await until(() => copy.find("vendor/two") !== undefined && copy.find("vendor/one") === undefined, PATIENCE);
});

test("a copy catches up after its connection was cut", async () => {
  await startServer();
  const line = await startLine();
  const copy = await startReader(line.port);
  await until(() => copy.find("vendor/one") !== undefined, PATIENCE);
  line.cut();
  upstream.respond = listing(openRouterRow("vendor/two"));
  await until(() => copy.find("vendor/two") !== undefined && copy.find("vendor/one") === undefined, PATIENCE);
  expect(line.connections()).toBeGreaterThan(1);
  await stopReaders();
  await line.close();
});

test("the catalogue keeps nothing of a reader that has left", async () => {
  await startServer();
  const copy = await startReader();
  await until(() => copy.version() !== "", PATIENCE);
  await until(async () => (await server?.metric("catalog_watchers")) === 1, PATIENCE);
  await stopReaders();
  await until(async () => (await server?.metric("catalog_watchers")) === 0, PATIENCE);
});

/** A line to the catalogue that can be cut. */
async function startLine() {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((near) => {
    connections += 1;
    const far = connect(rpcPort, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on("error", () => other.destroy());
      socket.on("close", () => sockets.delete(socket));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    cut,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
