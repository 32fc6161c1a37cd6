// Addresses of clients behind proxies: X-Forwarded-For counts from trusted proxies only, read from the right, and a
// forged one changes nothing.
import type { IncomingMessage } from "node:http";
import { createKeySecret } from "@gr/identity";
import { createHttpApp, createLogger } from "@gr/runtime";
import { ManualClock, testRedis } from "@gr/testing";
import { afterEach, describe, expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import { admitRequests } from "../admit-request.ts";
import { SignedInPeople } from "../callers/signed-in-people.ts";
import { gatewayConfig } from "../config.ts";
import { connectionLimits } from "../connections/bound-connections.ts";
import { LocalRateLimiter } from "../limits/rate-limit-local.ts";
import { RequestLimits } from "../limits/request-limits.ts";
import { call, errorOf } from "../test/call.ts";
import type { Seen } from "../test/fake-modules.ts";
import { type Ring, startRing, topologies } from "../test/ring.ts";
import { BadProxyList, parseTrustedProxies, TrustedProxies } from "./trusted-proxies.ts";

const silent = { warn: () => undefined };

function requestOf(remoteAddress: string | undefined, forwarded?: string): IncomingMessage {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  return { headers, socket: { remoteAddress } } as unknown as IncomingMessage;
}

test.each([
  ["", "10.0.0.1", "203.0.113.7", "10.0.0.1"],
  ["0", "10.0.0.1", "203.0.113.7", "10.0.0.1"],
  ["10.0.0.0/8", "10.0.0.1", "203.0.113.7", "203.0.113.7"],
  ["10.0.0.1", "10.0.0.1", "203.0.113.7", "203.0.113.7"],
  ["10.0.0.1", "::ffff:10.0.0.1", "203.0.113.7", "203.0.113.7"],
  ["10.0.0.1", "10.0.0.2", "203.0.113.7", "10.0.0.2"],
  ["10.0.0.0/8", "10.0.0.1", undefined, "10.0.0.1"],
  ["10.0.0.0/8", "10.0.0.1", "198.51.100.1, 203.0.113.7", "203.0.113.7"],
  ["10.0.0.0/8", "10.0.0.1", "198.51.100.1, 203.0.113.7, 10.1.2.3", "203.0.113.7"],
  ["10.0.0.0/8, fd00::/8", "fd00::1", "2001:db8::7,10.1.2.3", "2001:db8::7"],
  ["10.0.0.0/8", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
  ["10.0.0.0/8", "10.0.0.1", "203.0.113.7, unknown", "10.0.0.1"],
  ["10.0.0.0/8", "10.0.0.1", "junk, 203.0.113.7", "203.0.113.7"],
  ["10.0.0.0/8", "10.0.0.1", "203.0.113.7:4711", "203.0.113.7"],
  ["10.0.0.0/8", "10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"],
  ["1", "192.0.2.1", "198.51.100.1, 203.0.113.7", "203.0.113.7"],
  ["2", "192.0.2.1", "198.51.100.1, 203.0.113.7", "198.51.100.1"],
  ["3", "192.0.2.1", "203.0.113.7", "203.0.113.7"],
  ["1", undefined, "203.0.113.7", undefined],
])("with TRUSTED_PROXIES=%s, a request by %s for %s is from %s", (setting, peer, forwarded, client) => {
  const proxies = new TrustedProxies(parseTrustedProxies(setting), silent);
  expect(proxies.clientOf(requestOf(peer, forwarded))).toBe(client);
});

test("a client cannot make the gateway read endless entries", () => {
  const proxies = new TrustedProxies(parseTrustedProxies("10.0.0.0/8"), silent);
  const forwarded = ["203.0.113.7", ...Array<string>(1_000).fill("10.0.0.2")].join(",");
  expect(proxies.clientOf(requestOf("10.0.0.1", forwarded))).toBe("10.0.0.2");
});

test.each([
  "10.0.0.0/33",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "proxy.example",
  "10.0.0.1,,",
  "-1",
  "1.5",
  "33",
  "::/129",
])("TRUSTED_PROXIES=%s is refused", (setting) => {
  expect(() => parseTrustedProxies(setting)).toThrow(BadProxyList);
});

test("a header that does not count causes one warning, which names the setting", () => {
  const warnings: unknown[][] = [];
  const log = { warn: (...line: unknown[]) => void warnings.push(line) };
  const proxies = new TrustedProxies(parseTrustedProxies("10.0.0.1"), log);
  proxies.warnOfForgery(requestOf("10.0.0.2"));
  proxies.warnOfForgery(requestOf("10.0.0.1", "203.0.113.7"));
  expect(warnings).toEqual([]);
  for (const _ of [1, 2]) proxies.warnOfForgery(requestOf("10.0.0.2", "203.0.113.7"));
  expect(warnings).toEqual([[{ peer: "10.0.0.2" }, expect.stringContaining("TRUSTED_PROXIES")]]);
});

test("the first request with such a header causes the warning, whatever it asks for", async () => {
  const warnings: unknown[] = [];
  const proxies = new TrustedProxies(undefined, { warn: (line: unknown) => void warnings.push(line) });
  const clock = new ManualClock();
  const app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "1" });
  const limits = new RequestLimits({
    config: gatewayConfig.parse({}),
    limiter: new LocalRateLimiter(),
    clock,
    metrics: new Registry(),
    people: new SignedInPeople(clock),
    proxies,
  });
  const admission = { authenticate: () => null, isStranger: () => false, limits, proxies, pages: undefined };
  app.addHook("onRequest", admitRequests(admission));
  for (const url of ["/v1/models", "/nowhere"]) {
    await app.inject({ url, headers: { "x-forwarded-for": "203.0.113.7" } });
  }
  await app.close();
  expect(warnings).toEqual([{ peer: "127.0.0.1" }]);
});

test.each([
  ["10.0.0.0/8", "10.1.2.3", true],
  ["10.0.0.0/8", "::ffff:10.1.2.3", true],
  ["10.0.0.0/8", "203.0.113.7", false],
  ["1", "203.0.113.7", true],
  ["", "127.0.0.1", false],
])("with TRUSTED_PROXIES=%s, a connection from %s is a proxy's: %s", (setting, peer, expected) => {
  expect(new TrustedProxies(parseTrustedProxies(setting), silent).isProxy(peer)).toBe(expected);
});

test.each([
  ["203.0.113.0/24", "203.0.113.7", undefined],
  ["203.0.113.0/24", "198.51.100.9", "198.51.100.9"],
  ["1", "203.0.113.7", "203.0.113.7"],
  ["32", "203.0.113.7", "203.0.113.7"],
  ["1", "10.0.0.1", undefined],
])("with TRUSTED_PROXIES=%s, connections from %s count for %s", (setting, peer, owner) => {
  const config = gatewayConfig.parse({});
  const proxies = new TrustedProxies(parseTrustedProxies(setting), silent);
  expect(connectionLimits(config, proxies, new Registry()).ownerOf?.(peer)).toBe(owner);
});

/** 5 requests of an address at once, 50 of its network. */
const TIGHT = {
  RATE_LIMIT_ANONYMOUS_PER_SECOND: "1",
  RATE_LIMIT_DOWNLOADS_PER_SECOND: "1",
  RATE_LIMIT_BURST_SECONDS: "5",
  TRUSTED_PROXIES: "127.0.0.1",
};

const send = (ring: Ring, path: string, forwarded: string) =>
  call(`${ring.baseUrl}${path}`, { headers: { "x-forwarded-for": forwarded } });

/** Sends as one of the addresses after the other until a request is refused. @returns its message */
async function exhaust(ring: Ring, path: string, addresses: readonly string[]): Promise<string> {
  const requests = Array.from({ length: 80 }, (_, index) => addresses[index % addresses.length] ?? "");
  for (let round = 0; round < 50; round += 1) {
    const answers = await Promise.all(requests.map((address) => send(ring, path, address)));
    const refused = answers.find(({ status }) => status === 429);
    if (refused !== undefined) return errorOf(refused).message;
  }
  throw new Error("nothing was refused");
}

const addressesOf = (form: (index: number) => string) =>
  Array.from({ length: 80 }, (_, index) => form(index));

// The clock of these rings is frozen, so that limits stay exhausted.
describe.each(topologies)("behind a proxy, %s", (topology) => {
  let ring: Ring;
  const start = async (settings: Record<string, string> = {}) => {
    ring = await startRing(topology, { ...TIGHT, ...settings });
  };
  afterEach(() => ring.stop());
  const left = async (path: string, forwarded: string) =>
    Number((await send(ring, path, forwarded)).headers.get("x-ratelimit-remaining-requests"));

  test("clients count by the address that the proxy names, not by what they write before it", async () => {
    await start();
    expect(await exhaust(ring, "/v1/models", ["203.0.113.7"])).toMatch(/1 per second and IP address/);
    expect(await left("/v1/models", "203.0.113.7, 198.51.100.1")).toBe(4);
    expect(await left("/v1/models", "203.0.113.7, 198.51.100.1")).toBe(3);
  });

  test.each([
    ["/v1/models", addressesOf((index) => `203.0.113.${index}`), "203.0.112.1"],
    ["/media/a", addressesOf((index) => `203.0.113.${index}`), "203.0.112.1"],
    ["/v1/models", addressesOf((index) => `2001:db8:1:${index}::1`), "2001:db8:2::1"],
  ])("%s: many addresses of one network have ten times the limit of one", async (path, addresses, other) => {
    await start();
    expect(await exhaust(ring, path, addresses)).toMatch(/10 per second and IP network, 50 at once/);
    expect((await send(ring, path, other)).status).toBe(200);
  });

  test("a network over its limit costs no look-up of a key that was never seen", async () => {
    await start();
    const known = ring.keys.add("normal").secret;
    const sendKey = (key: string) =>
      call(`${ring.baseUrl}/v1/credits`, { key, headers: { "x-forwarded-for": "203.0.113.200" } });
    expect((await sendKey(known)).status).toBe(200);
    await exhaust(
      ring,
      "/v1/models",
      addressesOf((index) => `203.0.113.${index}`),
    );
    const before = ring.keys.lookUps;
    expect((await sendKey(createKeySecret("normal"))).status).toBe(429);
    expect(ring.keys.lookUps).toBe(before);
    expect((await sendKey(known)).status).toBe(200);
  });

  test("addresses of one IPv6 /64 count as one", async () => {
    await start();
    expect(await left("/v1/models", "2001:db8:1:2::1")).toBe(4);
    expect(await left("/v1/models", "2001:db8:1:2:ffff::9")).toBe(3);
  });

  test("the length of an IPv4 prefix is set by the operator", async () => {
    await start({ RATE_LIMIT_IPV4_PREFIX: "16" });
    const addresses = addressesOf((index) => `203.0.${index}.1`);
    expect(await exhaust(ring, "/v1/models", addresses)).toMatch(/IP network/);
  });

  test("the console sees the network of the client", async () => {
    await start();
    const { body } = await send(ring, "/console/api/session", "198.51.100.1, 203.0.113.7");
    expect((body as Seen).headers).toMatchObject({ "x-client-network": "203.0.113.7" });
    expect((body as Seen).headers).not.toHaveProperty("x-forwarded-for");
  });

  test("a forged header of a stranger changes nothing", async () => {
    await start({ TRUSTED_PROXIES: "10.0.0.0/8" });
    expect(await left("/v1/models", "203.0.113.7")).toBe(4);
    expect(await left("/v1/models", "203.0.113.8")).toBe(3);
    const { body } = await send(ring, "/console/api/session", "203.0.113.9");
    expect((body as Seen).headers).toMatchObject({ "x-client-network": "127.0.0.1" });
  });
});

test("gateways on one Redis count networks together", async () => {
  const { url } = await testRedis();
  const shared = { ...TIGHT, REDIS_URL: url, REDIS_TIMEOUT_MS: "10000" };
  const rings = await Promise.all([1, 2].map(() => startRing("one process", shared)));
  try {
    for (const ring of rings) {
      const addresses = addressesOf((index) => `203.0.113.${index}`);
      expect(await exhaust(ring, "/v1/models", addresses)).toMatch(
        /10 per second and IP network, 50 at once/,
      );
    }
  } finally {
    for (const ring of rings) await ring.stop();
  }
});

test("a bad list of proxies is one sentence at start", async () => {
  await expect(startRing("one process", { TRUSTED_PROXIES: "10.0.0.0/33" })).rejects.toThrow(
    /TRUSTED_PROXIES: must be a comma-separated list of addresses and networks, .*; "10\.0\.0\.0\/33" is none/,
  );
});
