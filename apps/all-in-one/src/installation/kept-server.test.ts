// Guarantee of a kept server: it is started again at its address after each end that nobody asked for, and stops once.
import { until } from "@gr/testing";
import { beforeEach, expect, test } from "@jest/globals";
import { keepServer } from "./kept-server.ts";

const PATIENCE = { timeoutMs: 60_000 };

/** Servers that were started, oldest first. */
let servers: { readonly end: () => void; stops: number }[];
/** Address that each start got. */
let asked: (string | undefined)[];
let sentences: string[];
/** Starts that fail before the next one succeeds. */
let failures: number;

beforeEach(() => {
  servers = [];
  asked = [];
  sentences = [];
  failures = 0;
});

async function start(url: string | undefined) {
  asked.push(url);
  if (url !== undefined && failures > 0) {
    failures -= 1;
    throw new Error("the folder is in use");
  }
  const { promise: exited, resolve: end } = Promise.withResolvers<void>();
  const server = { end, stops: 0 };
  servers.push(server);
  const stop = async () => {
    server.stops += 1;
    end();
  };
  return { url: "server", exited, stop };
}

test("a server that ends by itself is started again, as often as it ends", async () => {
  const kept = await keepServer("PostgreSQL", start, (sentence) => sentences.push(sentence));
  for (let time = 1; time <= 2; time += 1) {
    servers.at(-1)?.end();
    await until(() => servers.length === time + 1, PATIENCE);
  }
  expect(sentences).toEqual(Array(2).fill("PostgreSQL has ended; it is started again."));
  expect(asked).toEqual([undefined, "server", "server"]);
  await kept.stop();
  expect(servers.at(-1)?.stops).toBeGreaterThan(0);
  expect(servers.length).toBe(3);
});

test("starts that fail are reported and repeated", async () => {
  const kept = await keepServer("PostgreSQL", start, (sentence) => sentences.push(sentence));
  failures = 2;
  servers[0]?.end();
  await until(() => servers.length === 2, PATIENCE);
  const failed = "PostgreSQL cannot be started again yet: the folder is in use";
  expect(sentences.slice(1)).toEqual([failed, failed]);
  await kept.stop();
});
