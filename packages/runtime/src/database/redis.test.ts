// Guarantees of Redis clients while Redis is unreliable.

import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { freePort } from "@gr/embedded";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createLogger } from "../process/logger.ts";
import { connectRedis, type Redis, redisScript } from "./redis.ts";

const log = createLogger("silent", "test");
let server: ReturnType<typeof createServer>;
let sockets: Set<Socket>;
let redis: Redis | undefined;

/** Starts a server that accepts connections and never answers. */
beforeEach(async () => {
  sockets = new Set();
  server = createServer((socket) => {
    sockets.add(socket);
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  redis?.disconnect();
  redis = undefined;
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const address = () => `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;

test("a script runs in one step, and again after Redis has forgotten it", async () => {
  const url = process.env["TEST_REDIS_URL"];
  if (url === undefined) throw new Error("tests need Redis: run them with `npm test`, which starts one");
  redis = await connectRedis({ url, name: "test", log, commandTimeoutMs: 30_000 });
  const echo = redisScript(redis, "echoBoth", "return {KEYS[1], ARGV[1], ARGV[2]}");
  await expect(echo(["key"], ["a", 2])).resolves.toEqual(["key", "a", "2"]);
  await redis.script("FLUSH");
  await expect(echo(["key"], ["b", 3])).resolves.toEqual(["key", "b", "3"]);
});

test("a silent server fails commands and nothing else", async () => {
  redis = await connectRedis({ url: address(), name: "test", log });
  await expect(redis.get("key")).rejects.toThrow();
});

test("a server that is not there fails commands at once and nothing else", async () => {
  redis = await connectRedis({ url: `redis://127.0.0.1:${await freePort()}`, name: "test", log });
  await expect(redis.get("key")).rejects.toThrow();
});
