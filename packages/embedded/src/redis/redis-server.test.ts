// The guarantees of an embedded Redis.
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { commandOf } from "../process/process-command.ts";
import { startChild } from "../test/child.ts";
import { startRedis } from "./redis-server.ts";

const CACHE = fileURLToPath(new URL("../../../../.tools", import.meta.url));

async function withClient<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  // A client without a connection waits for that time before its process can end.
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, disconnectTimeout: 1 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    client.disconnect();
  }
}

test("Redis answers whoever has the URL, and nobody without its password", async () => {
  const server = await startRedis({ cacheDir: CACHE });
  const reply = await withClient(server.url, async (client) => {
    await client.set("key", "value");
    return await client.get("key");
  });
  expect(reply).toBe("value");
  const anonymous = new URL(server.url);
  anonymous.password = "";
  await expect(withClient(anonymous.href, (client) => client.get("key"))).rejects.toThrow();
  await server.stop();
  await expect(commandOf(server.pid)).resolves.toBeUndefined();
});

test("settings reach the server", async () => {
  const server = await startRedis({ cacheDir: CACHE, config: { databases: "3" } });
  await expect(withClient(server.url, (client) => client.select(2))).resolves.toBe("OK");
  await expect(withClient(server.url, (client) => client.select(3))).rejects.toThrow("out of range");
  await server.stop();
});

test("Redis comes back, empty, at an address that was used before, password included", async () => {
  const first = await startRedis({ cacheDir: CACHE });
  await withClient(first.url, (client) => client.set("key", "value"));
  process.kill(first.pid, "SIGKILL");
  await first.exited;
  const { port, password } = new URL(first.url);
  const second = await startRedis({ cacheDir: CACHE, port: Number(port), password });
  expect(second.url).toBe(first.url);
  await expect(withClient(first.url, (client) => client.get("key"))).resolves.toBeNull();
  await second.stop();
});

test("Redis ends with the process that started it, kill -9 included", async () => {
  const child = await startChild(`
    const server = await embedded.startRedis({ cacheDir: ${JSON.stringify(CACHE)} });
    console.log(JSON.stringify({ pid: server.pid }));`);
  const { pid } = JSON.parse(child.output);
  await expect(commandOf(pid)).resolves.toContain("redis");
  await child.kill();
  await ended(pid);
});

test("a setting that Redis refuses is named in one sentence", async () => {
  await expect(startRedis({ cacheDir: CACHE, config: { "no-such-setting": "1" } })).rejects.toThrow(
    /^Redis did not start: [^\n]+$/,
  );
});

async function ended(pid: number): Promise<void> {
  while ((await commandOf(pid)) !== undefined) await new Promise((resolve) => setTimeout(resolve, 10));
}
