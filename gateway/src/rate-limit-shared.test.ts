// One key, one limit: three gateway processes on one Redis admit together what one gateway without Redis admits
// alone, which is what the limit says.
import { randomUUID } from "node:crypto";
import { makeKeySecret } from "@gr/clients";
import { connectRedis, createLogger, type Redis } from "@gr/runtime";
import { testRedis } from "@gr/testing";
import { afterEach, expect, test } from "@jest/globals";
import { call } from "./test/call.ts";
import type { FakeKey } from "./test/fake-keys.ts";
import { startRing } from "./test/ring.ts";
import { startChild } from "./test/start-child.ts";

const PER_SECOND = 50;
const BURST = 2 * PER_SECOND;
/** A gateway that stands still for a moment must not take that for an outage, and count alone. */
const PATIENCE = { REDIS_TIMEOUT_MS: "10000" };
const LIMIT = { RATE_LIMIT_TEXT_PER_SECOND: String(PER_SECOND), RATE_LIMIT_BURST_SECONDS: "2" };
/** Requests of one run, sent a few at a time: many times what is allowed meanwhile. */
const REQUESTS = 2_400;
const AT_ONCE = 12;
const MOST_MORE = 500;

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** Unix microseconds by the clock that the limit is counted by. */
type ClockUs = () => Promise<number>;

interface Run {
  readonly admitted: number;
  /** What the limit allows between two moments that the run lies between, and between two that lie within it. */
  readonly most: number;
  readonly least: number;
}

async function flood(baseUrls: readonly string[], { secret }: FakeKey, clock: ClockUs): Promise<Run> {
  let admitted = 0;
  const ask = async (baseUrl: string): Promise<boolean> => {
    const { status } = await call(`${baseUrl}/v1/compat/chat/completions`, {
      key: secret,
      method: "POST",
      body: {},
    });
    if (status !== 200 && status !== 429) throw new Error(`a request was answered with ${status}`);
    if (status === 200) admitted += 1;
    return status === 200;
  };
  const urlOf = (index: number) => baseUrls[index % baseUrls.length] ?? "";
  const before = await clock();
  await ask(urlOf(0));
  const begun = await clock();
  let sent = 0;
  const sender = async () => {
    while (sent < REQUESTS) {
      sent += 1;
      await ask(urlOf(sent));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  // It ends with a refusal: at that moment nothing was left.
  for (let more = 0; more < MOST_MORE; more += 1) {
    const ending = await clock();
    if (await ask(urlOf(more))) continue;
    const after = await clock();
    return { admitted, most: allowed(after - before), least: allowed(ending - begun) };
  }
  throw new Error("nothing was refused");
}

const allowed = (us: number) => BURST + (us / 1_000_000) * PER_SECOND;

function expectExact({ admitted, most, least }: Run): void {
  expect(admitted).toBeLessThanOrEqual(most * 1.01);
  expect(admitted).toBeGreaterThanOrEqual(least * 0.99);
  // The burst alone would be no proof.
  expect(admitted).toBeGreaterThan(BURST);
}

async function redisOf(url: string): Promise<Redis> {
  const log = createLogger("silent", "test");
  const redis = await connectRedis({ url, name: "test", log, commandTimeoutMs: 10_000 });
  stops.push(() => redis.disconnect());
  return redis;
}

test("three gateway processes on one Redis admit as many requests of a key as the limit allows", async () => {
  const key = { secret: makeKeySecret("normal"), keyId: randomUUID(), accountId: randomUUID() };
  const { url } = await testRedis();
  const redis = await redisOf(url);
  const children = await Promise.all(
    Array.from({ length: 3 }, () => startChild(key, { ...LIMIT, ...PATIENCE, REDIS_URL: url })),
  );
  stops.push(...children.map(({ stop }) => stop));
  const run = await flood(
    children.map(({ baseUrl }) => baseUrl),
    key,
    async () => {
      const [seconds, microseconds] = await redis.time();
      return Number(seconds) * 1_000_000 + Number(microseconds);
    },
  );
  expectExact(run);
}, 120_000);

test("one gateway without Redis admits the same", async () => {
  const ring = await startRing("one process", LIMIT);
  stops.push(() => ring.stop());
  const run = await flood([ring.baseUrl], ring.keys.add("normal"), async () => Date.now() * 1_000);
  expectExact(run);
}, 120_000);
