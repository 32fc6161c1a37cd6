// When connections run out: the one that is idle longest is closed for a new one, those of customers last.
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { until } from "@gr/testing";
import { afterEach, expect, test } from "@jest/globals";
import type { FastifyInstance } from "fastify";
import { createLogger } from "../process/logger.ts";
import { closeHttpApp, createHttpApp } from "./http-app.ts";
import { admitStranger, type ConnectionLimits, trustConnection } from "./open-connections.ts";

let app: FastifyInstance;
let closed: string[];
let entered: number;
let released: PromiseWithResolvers<void>;
const clients: Socket[] = [];
const PATIENCE = { timeoutMs: 60_000 };
afterEach(async () => {
  released.resolve();
  for (const client of clients.splice(0)) client.destroy();
  await closeHttpApp(app, 0);
});

async function start(limits: Partial<ConnectionLimits>): Promise<void> {
  closed = [];
  entered = 0;
  released = Promise.withResolvers();
  const connections = { ownerOf: () => "somebody", closed: (which: string) => closed.push(which), ...limits };
  app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "the-id", connections });
  app.addHook("onRequest", (request, reply, done) => {
    if (request.headers.authorization !== undefined) trustConnection(request, reply);
    else admitStranger(request);
    done();
  });
  app.get("/", async () => "served");
  app.get("/wait", async () => {
    entered += 1;
    await released.promise;
    return "served";
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
}

/** A connection that the server has seen. */
async function open(): Promise<Socket> {
  const client = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  clients.push(client);
  client.on("error", () => client.destroy());
  const accepted = once(app.server, "connection");
  await accepted;
  return client;
}

/** Returns the answer, or "" if the connection is closed instead. */
async function ask(client: Socket, path = "/", header = ""): Promise<string> {
  client.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n${header}\r\n`);
  return new Promise((resolve) => {
    client.once("data", (answer) => resolve(String(answer)));
    client.once("close", () => resolve(""));
  });
}
const KEY = "authorization: Bearer x\r\n";
const isClosed = (client: Socket) => until(() => client.closed || client.readableEnded, PATIENCE);

test("a crowd of idle connections keeps nobody out", async () => {
  await start({ most: 5 });
  const crowd: Socket[] = [];
  for (let count = 0; count < 20; count += 1) crowd.push((await open()).resume());
  const customer = await open();
  expect(await ask(customer)).toContain("served");
  expect(closed).toEqual(Array(16).fill("idle"));
  for (const idle of crowd.slice(0, 16)) await isClosed(idle);
  expect(crowd.slice(16).map(({ closed }) => closed)).toEqual([false, false, false, false]);
});

test("connections that showed a valid key are closed last, and a running request never", async () => {
  await start({ most: 3 });
  const running = await open();
  const answer = ask(running, "/wait");
  const customer = await open();
  expect(await ask(customer, "/", KEY)).toContain("served");
  const stranger = await open();
  expect(await ask(stranger)).toContain("served");
  const second = await open();
  await isClosed(stranger.resume());
  const pending = ask(second, "/wait");
  // Only the customer's is idle.
  const third = await open();
  await isClosed(customer.resume());
  const last = ask(third, "/wait");
  await until(() => entered === 3, PATIENCE);
  await isClosed((await open()).resume());
  expect(closed).toEqual(["idle", "idle", "refused"]);
  released.resolve();
  for (const each of [answer, pending, last]) expect(await each).toContain("served");
});

test("running requests without a valid key leave places for customers", async () => {
  await start({ most: 8 });
  const waiting: Promise<string>[] = [];
  for (let count = 0; count < 6; count += 1) waiting.push(ask(await open(), "/wait"));
  await until(() => entered === 6, PATIENCE);
  const crowd: Socket[] = [];
  for (let count = 0; count < 4; count += 1) {
    const stranger = await open();
    crowd.push(stranger);
    expect(await ask(stranger, "/wait")).toMatch(/^HTTP\/1.1 503.*service_unavailable/s);
  }
  const customer = await open();
  expect(await ask(customer, "/", KEY)).toContain("served");
  expect(await ask(customer)).toContain("served");
  expect(closed).toEqual(["idle", "idle", "idle"]);
  released.resolve();
  for (const each of waiting) expect(await each).toContain("served");
  expect(await ask(crowd.at(-1) as Socket)).toContain("served");
});

test("an owner has its connections and no more, and loses its own only", async () => {
  const owners = ["a", "b", "a", "a"];
  await start({ most: 10, mostOfOwner: 2, ownerOf: () => owners.shift() });
  const [first, other, second] = [await open(), await open(), await open()];
  for (const client of [first, other, second]) expect(await ask(client)).toContain("served");
  const third = await open();
  await isClosed(first.resume());
  expect(await ask(third)).toContain("served");
  expect([other.closed, second.closed, closed]).toEqual([false, false, ["idle"]]);
});

test("a connection is told how long it may be idle: shortly without a valid key, long with one", async () => {
  await start({});
  const client = await open();
  expect(await ask(client)).toMatch(/keep-alive: timeout=5\r\n/i);
  expect(await ask(client, "/nowhere")).toMatch(/keep-alive: timeout=5\r\n/i);
  expect(await ask(client, "/", KEY)).toMatch(/keep-alive: timeout=75\r\n/i);
  expect(await ask(client)).toMatch(/keep-alive: timeout=75\r\n/i);
});

test("a connection without a valid key is closed when it has been idle for a short time", async () => {
  await start({});
  const [stranger, customer] = [await open(), await open()];
  await ask(stranger);
  await ask(customer, "/", KEY);
  await isClosed(stranger.resume());
  expect(customer.closed).toBe(false);
});

test("a connection of nobody in particular may be that of a proxy, and is kept long", async () => {
  await start({ ownerOf: () => undefined });
  expect(await ask(await open())).toMatch(/keep-alive: timeout=75\r\n/i);
});
