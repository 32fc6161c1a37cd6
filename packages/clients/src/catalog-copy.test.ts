// Guarantees of the catalogue copy: it is always the last catalogue that arrived, despite failures of the watch.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type CatalogSchema, CatalogService } from "@gr/proto/catalog";
import { createLogger, defineModule, implement, type RunningProcess, startProcess } from "@gr/runtime";
import { until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { z } from "zod";
import { type CatalogCopy, createCatalogCopy } from "./catalog-copy.ts";

type Catalog = MessageInitShape<typeof CatalogSchema>;
type Watch = (signal: AbortSignal) => AsyncIterable<Catalog | undefined>;

const PATIENCE = { timeoutMs: 60_000 };
const catalogOf = (version: string, ...ids: string[]): Catalog => ({
  version,
  models: ids.map((id) => ({ id })),
});

let running: RunningProcess;
let copy: CatalogCopy;
let watches: AbortSignal[];
let watch: Watch;

const fakeCatalog = defineModule({
  name: "catalog",
  needs: [],
  config: z.object({}),
  create: async () => ({
    rpc: [
      implement(CatalogService, {
        getCatalog: async () => {
          throw new Error("a copy has no business calling this");
        },
        async *watchCatalog(_request, { signal }) {
          watches.push(signal);
          for await (const catalog of watch(signal)) yield catalog === undefined ? {} : { catalog };
        },
      }),
    ],
  }),
});

beforeAll(async () => {
  running = await startProcess([fakeCatalog], {
    env: {
      INTERNAL_AUTH_SECRET: "internal-secret-of-the-client-tests-0123",
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      LOG_LEVEL: "silent",
    },
  });
});
afterAll(async () => {
  await running?.stop();
});
beforeEach(() => {
  watches = [];
  copy = createCatalogCopy(running.dial("catalog", CatalogService), createLogger("silent", "test"));
});
afterEach(async () => {
  await copy.stop();
});

const forever = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

test("calls no model unknown before the first catalogue, then has the newest one whole", async () => {
  const more = Promise.withResolvers<void>();
  watch = async function* (signal) {
    yield undefined;
    yield catalogOf("1", "a", "b");
    await more.promise;
    yield catalogOf("2", "b", "c");
    await forever(signal);
  };
  expect(copy.version()).toBe("");
  expect(() => copy.find("a")).toThrow(expect.objectContaining({ reason: "service_unavailable" }));
  await copy.start();
  await until(() => copy.version() === "1", PATIENCE);
  expect(copy.find("a")?.id).toBe("a");
  more.resolve();
  await until(() => copy.version() === "2", PATIENCE);
  expect([copy.find("a"), copy.find("c")?.id]).toEqual([undefined, "c"]);
});

test("keeps what it has while the watch is broken, and watches again", async () => {
  let broken = true;
  watch = async function* (signal) {
    if (watches.length === 1) {
      yield catalogOf("1", "a");
      throw new Error("the connection broke");
    }
    if (broken) throw new Error("still broken");
    yield catalogOf("2", "b");
    await forever(signal);
  };
  await copy.start();
  await until(() => watches.length >= 3, PATIENCE);
  expect([copy.version(), copy.find("a")?.id]).toEqual(["1", "a"]);
  broken = false;
  await until(() => copy.version() === "2", PATIENCE);
});

test("watches again when the other side just ends the stream", async () => {
  watch = async function* () {
    yield catalogOf(String(watches.length), "a");
  };
  await copy.start();
  await until(() => watches.length >= 4, PATIENCE);
  expect(copy.find("a")?.id).toBe("a");
});

test("starts one watch, however often it is started, and ends it on stop", async () => {
  watch = async function* (signal) {
    yield catalogOf("1", "a");
    await forever(signal);
  };
  await Promise.all([copy.start(), copy.start()]);
  await until(() => copy.version() === "1", PATIENCE);
  expect(watches).toHaveLength(1);
  await copy.stop();
  await until(() => watches[0]?.aborted === true, PATIENCE);
  expect(copy.find("a")?.id).toBe("a");
});

test("can be stopped while it waits to try again, and without ever having been started", async () => {
  await createCatalogCopy(running.dial("catalog", CatalogService), createLogger("silent", "test")).stop();
  // biome-ignore lint/correctness/useYield: a watch that fails before it has anything
  watch = async function* () {
    throw new Error("down");
  };
  await copy.start();
  await until(() => watches.length >= 2, PATIENCE);
  await copy.stop();
  const asked = watches.length;
  await new Promise((resolve) => setImmediate(resolve));
  expect(watches).toHaveLength(asked);
});
