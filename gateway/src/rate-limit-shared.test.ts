// Guarantee of a shared limit: three gateway processes on one Redis admit together as many requests of a key as one
// gateway without Redis admits alone, which is the limit.
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { createKeySecret } from "@gr/identity";
import { connectRedis, createLogger, type Redis } from "@gr/runtime";
import { freePort, ManualClock, startChild, testRedis, until } from "@gr/testing";
import { afterEach, expect, test } from "@jest/globals";
import { call } from "./test/call.ts";
import type { FakeKey } from "./test/fake-keys.ts";
import { advanceRedis } from "./test/redis-time.ts";
import { startRing } from "./test/ring.ts";

/** A gateway in front of fake modules. */
const CHILD = fileURLToPath(new URL("./test/child/main.ts", import.meta.url));
/**
 * Requests follow each other faster than they are earned, on the slowest machine too. Two requests in half a second are enough for a
 * refusal.
 */
const PER_SECOND = 2;
const BURST_SECONDS = 60;
const BURST = BURST_SECONDS * PER_SECOND;
/** A paused gateway must not count this as an outage, and count alone. */
const PATIENCE = { REDIS_TIMEOUT_MS: "10000" };
const LIMIT = {
  RATE_LIMIT_TEXT_PER_SECOND: String(PER_SECOND),
  RATE_LIMIT_BURST_SECONDS: String(BURST_SECONDS),
};
/** Time that passes after the burst, and the requests that it earns. */
const LATER_SECONDS = 25;
const LATER = LATER_SECONDS * PER_SECOND;
const AT_ONCE = 12;

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** The clock by which the limit is counted. */
interface LimitClock {
  /** Unix microseconds. */
  now(): Promise<number>;
  advance(seconds: number): Promise<void>;
}

/** Sends requests with one key to several gateways in turn. */
class Flood {
  #sent = 0;
  readonly #baseUrls: readonly string[];
  readonly #key: FakeKey;

  constructor(baseUrls: readonly string[], key: FakeKey) {
    this.#baseUrls = baseUrls;
    this.#key = key;
  }

  /** Sends these requests a few at a time, then more of them one by one until a refusal. @returns admitted requests */
  async send(requests: number): Promise<number> {
    let admitted = 0;
    const end = this.#sent + requests;
    const sender = async () => {
      while (this.#sent < end) if (await this.isAdmitted()) admitted += 1;
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sender));
    while (await this.isAdmitted()) admitted += 1;
    return admitted;
  }

  async isAdmitted(): Promise<boolean> {
    this.#sent += 1;
    const baseUrl = this.#baseUrls[this.#sent % this.#baseUrls.length] ?? "";
    const url = `${baseUrl}/v1/compat/chat/completions`;
    const { status } = await call(url, { key: this.#key.secret, method: "POST", body: {} });
    if (status !== 200 && status !== 429) throw new Error(`a request was answered with ${status}`);
    return status === 200;
  }
}

/** Expects the burst, then the requests that a later time has earned, each with the requests earned meanwhile. */
async function expectExactly(flood: Flood, clock: LimitClock): Promise<void> {
  const begun = await clock.now();
  /** Requests that time itself has earned since the beginning, to the hundredth and one request of rounding. */
  const meanwhile = async () => 1 + 1.01 * (((await clock.now()) - begun) / 1_000_000) * PER_SECOND;
  const burst = await flood.send(2 * BURST);
  expect(burst).toBeGreaterThanOrEqual(BURST);
  expect(burst).toBeLessThanOrEqual(BURST + (await meanwhile()));
  await clock.advance(LATER_SECONDS);
  const later = await flood.send(2 * LATER);
  expect(later).toBeGreaterThanOrEqual(LATER);
  expect(burst + later).toBeLessThanOrEqual(BURST + LATER + (await meanwhile()));
}

async function redisOf(url: string): Promise<Redis> {
  const log = createLogger("silent", "test");
  const redis = await connectRedis({ url, name: "test", log, commandTimeoutMs: 10_000 });
  stops.push(() => redis.disconnect());
  return redis;
}

/** Starts a gateway as a process of its own. @param key the only valid key. @returns its public address */
async function startGateway(
  { secret, keyId, accountId }: FakeKey,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const port = String(await freePort());
  const child = await startChild(CHILD, {
    HOST: "127.0.0.1",
    PORT: port,
    INTERNAL_AUTH_SECRET: "a secret for tests that is long enough",
    LOG_LEVEL: "silent",
    TEST_KEY_SECRET: secret,
    TEST_KEY_ID: keyId,
    TEST_ACCOUNT_ID: accountId,
    ...env,
  });
  stops.push(() => child.kill());
  return `http://127.0.0.1:${port}`;
}

test("three gateway processes on one Redis admit as many requests of a key as the limit allows", async () => {
  const key = { secret: createKeySecret("normal"), keyId: randomUUID(), accountId: randomUUID() };
  const { url } = await testRedis();
  const redis = await redisOf(url);
  const baseUrls = await Promise.all(
    Array.from({ length: 3 }, () => startGateway(key, { ...LIMIT, ...PATIENCE, REDIS_URL: url })),
  );
  const flood = new Flood(baseUrls, key);
  await expectExactly(flood, {
    now: async () => {
      const [seconds, microseconds] = await redis.time();
      return Number(seconds) * 1_000_000 + Number(microseconds);
    },
    advance: (seconds) => advanceRedis(redis, seconds),
  });
  await until(() => flood.isAdmitted(), { timeoutMs: 60_000 });
});

test("one gateway without Redis admits the same", async () => {
  const clock = new ManualClock(Date.now());
  const ring = await startRing("one process", LIMIT, clock);
  stops.push(() => ring.stop());
  await expectExactly(new Flood([ring.baseUrl], ring.keys.add("normal")), {
    now: async () => clock.now() * 1_000,
    advance: async (seconds) => clock.advance(seconds * 1_000),
  });
});
