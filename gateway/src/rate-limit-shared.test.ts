// Guarantee of a shared limit: three gateway processes on one Redis admit together as many requests of a key as one
// gateway without Redis admits alone, which is the limit.
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { createKeySecret } from "@gr/identity";
import { connectRedis, createLogger, type Redis, systemClock } from "@gr/runtime";
import { freePort, startChild, testRedis } from "@gr/testing";
import { afterEach, expect, test } from "@jest/globals";
import { call } from "./test/call.ts";
import type { FakeKey } from "./test/fake-keys.ts";
import { startRing } from "./test/ring.ts";

/** A gateway in front of fake modules. */
const CHILD = fileURLToPath(new URL("./test/child/main.ts", import.meta.url));
/** Rate so low, and a burst so long in seconds, that a paused machine loses nothing of it. */
const PER_SECOND = 20;
const BURST_SECONDS = 10;
const BURST = BURST_SECONDS * PER_SECOND;
/** A paused gateway must not count this as an outage, and count alone. */
const PATIENCE = { REDIS_TIMEOUT_MS: "10000" };
const LIMIT = {
  RATE_LIMIT_TEXT_PER_SECOND: String(PER_SECOND),
  RATE_LIMIT_BURST_SECONDS: String(BURST_SECONDS),
};
/** Requests of one run, sent a few at a time: many times the permitted number. */
const REQUESTS = 2_000;
const AT_ONCE = 12;

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** Unix microseconds by the clock that the limit is counted by. */
type ClockUs = () => Promise<number>;

/** Time of a refusal, when nothing of the limit remained. */
interface Refused {
  readonly notBefore: number;
  readonly notAfter: number;
}

class Flood {
  admitted = 0;
  #sent = 0;
  readonly #baseUrls: readonly string[];
  readonly #key: FakeKey;
  readonly #clock: ClockUs;

  constructor(baseUrls: readonly string[], key: FakeKey, clock: ClockUs) {
    this.#baseUrls = baseUrls;
    this.#key = key;
    this.#clock = clock;
  }

  /** Sends these requests, then more of them one by one until a refusal. */
  async send(requests: number): Promise<Refused> {
    const end = this.#sent + requests;
    const sender = async () => {
      while (this.#sent < end) await this.#ask();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sender));
    for (let more = 0; more < REQUESTS; more += 1) {
      const notBefore = await this.#clock();
      if (!(await this.#ask())) return { notBefore, notAfter: await this.#clock() };
    }
    throw new Error("nothing is refused");
  }

  async #ask(): Promise<boolean> {
    this.#sent += 1;
    const baseUrl = this.#baseUrls[this.#sent % this.#baseUrls.length] ?? "";
    const url = `${baseUrl}/v1/compat/chat/completions`;
    const { status } = await call(url, { key: this.#key.secret, method: "POST", body: {} });
    if (status !== 200 && status !== 429) throw new Error(`a request was answered with ${status}`);
    if (status === 200) this.admitted += 1;
    return status === 200;
  }
}

const earned = (us: number) => (us / 1_000_000) * PER_SECOND;

/** Expects the burst plus the rate times the elapsed time, to the hundredth and one request of rounding. */
async function expectExactly(baseUrls: readonly string[], key: FakeKey, clock: ClockUs): Promise<void> {
  const flood = new Flood(baseUrls, key, clock);
  const begun = await clock();
  const emptied = await flood.send(2 * BURST);
  expect(flood.admitted).toBeGreaterThanOrEqual(BURST);
  expect(flood.admitted).toBeLessThanOrEqual(BURST + 1 + 1.01 * earned(emptied.notAfter - begun));
  flood.admitted = 0;
  const ended = await flood.send(REQUESTS);
  expect(flood.admitted).toBeGreaterThanOrEqual(0.99 * earned(ended.notBefore - emptied.notAfter) - 1);
  expect(flood.admitted).toBeLessThanOrEqual(1.01 * earned(ended.notAfter - emptied.notBefore) + 1);
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
  await expectExactly(baseUrls, key, async () => {
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1_000_000 + Number(microseconds);
  });
});

test("one gateway without Redis admits the same", async () => {
  const ring = await startRing("one process", LIMIT, systemClock);
  stops.push(() => ring.stop());
  await expectExactly([ring.baseUrl], ring.keys.add("normal"), async () => Date.now() * 1_000);
});
