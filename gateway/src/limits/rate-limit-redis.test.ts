// Guarantees of gateways on one Redis. An outage of Redis changes one thing for callers: each gateway counts for
// itself.

import { connectRedis, createLogger, type Redis } from "@gr/runtime";
import { freePort, ManualClock, RedisLine, testRedis, until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type CountedRequest, type Decision, rateRule } from "./rate-limit.ts";
import { LocalRateLimiter } from "./rate-limit-local.ts";
import { RedisRateLimiter } from "./rate-limit-redis.ts";

const log = createLogger("silent", "test");
const limit = rateRule({
  name: "test",
  requests: "tests",
  subject: "test",
  perSecond: 0.001,
  burstSeconds: 50_000,
});

const requestOf = (subject: string): CountedRequest => ({
  counts: [{ rule: limit, subject }],
  owner: subject,
});

let line: RedisLine;
let direct: Redis;
let clients: Redis[];
let clock: ManualClock;

/** Returns a limiter that is patient by default: a paused test must not count as an outage. */
async function newLimiter(url: string = line.url, commandTimeoutMs = 10_000): Promise<RedisRateLimiter> {
  const redis = await connectRedis({ url, name: "test", log, commandTimeoutMs });
  clients.push(redis);
  return new RedisRateLimiter(redis, new LocalRateLimiter(), log);
}

function spendMany(limiters: readonly RedisRateLimiter[], count: number): Promise<Decision[]> {
  return Promise.all(
    limiters.flatMap((limiter) =>
      Array.from({ length: count }, () => limiter.spend(requestOf("key"), clock.now())),
    ),
  );
}

const admittedOf = (decisions: readonly Decision[]) =>
  decisions.filter(({ isAdmitted }) => isAdmitted).length;

beforeEach(async () => {
  const { url } = await testRedis();
  line = await RedisLine.to(url);
  clock = new ManualClock();
  direct = await connectRedis({ url, name: "test", log, commandTimeoutMs: 10_000 });
  clients = [direct];
});
afterEach(async () => {
  for (const client of clients) client.disconnect();
  await line.close();
});

test("three gateways at the same time admit the limit together, exactly", async () => {
  const limiters = [await newLimiter(), await newLimiter(), await newLimiter()];
  const decisions = await spendMany(limiters, 40);
  expect(admittedOf(decisions)).toBe(limit.burst);
  const left = decisions.filter(({ isAdmitted }) => isAdmitted).map(({ remaining }) => remaining);
  expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: limit.burst }, (_, index) => index));
});

test("a key of Redis lives no longer than it means anything, and lies in the slot of its subject", async () => {
  const limiter = await newLimiter();
  await limiter.spend(requestOf("key"), clock.now());
  const [name = "", ...others] = await direct.keys("*");
  expect(others).toEqual([]);
  expect(name).toMatch(/\{key\}/);
  const lifetime = await direct.pttl(name);
  expect(lifetime).toBeGreaterThan(0);
  expect(lifetime).toBeLessThanOrEqual(limit.intervalUs / 1_000);
});

test("all counts of a request, and the revocation of its key, lie in the slot of their owner", async () => {
  const limiter = await newLimiter();
  const account = rateRule({ ...limit, name: "account", burstSeconds: 50_000 });
  const counts = [
    { rule: limit, subject: "key" },
    { rule: account, subject: "owner" },
  ];
  await direct.set("revoked:{owner}key", "1", "PX", 15_000);
  const decision = await limiter.spend({ counts, owner: "owner", keyId: "key" }, clock.now());
  expect(decision).toMatchObject({ isAdmitted: true, isRevoked: true });
  expect((await direct.keys("*")).sort()).toEqual([
    "rate-limit:account:{owner}",
    "rate-limit:test:{owner}key",
    "revoked:{owner}key",
  ]);
});

test("an emptied Redis that has forgotten the script too is given it again", async () => {
  const limiter = await newLimiter();
  await spendMany([limiter], 10);
  await direct.flushdb();
  await direct.script("FLUSH");
  const decisions = await spendMany([limiter], limit.burst + 5);
  expect(admittedOf(decisions)).toBe(limit.burst);
});

test.each(["freeze", "cut"] as const)(
  "%s: nobody is refused, then the limits are shared again",
  async (outage) => {
    await spendMany([await newLimiter()], limit.burst);
    const limiter = await newLimiter(line.url, 500);
    line[outage]();
    // Counted by this process alone, which has no earlier request.
    const during = await spendMany([limiter], limit.burst + 5);
    expect(admittedOf(during)).toBe(limit.burst);
    // For some time Redis is not called, and no request waits for it.
    expect(limiter.spend(requestOf("another key"), clock.now())).not.toBeInstanceOf(Promise);
    // Then one request calls Redis, and the others do not wait with it.
    clock.advance(1_000);
    const asking = limiter.spend(requestOf("another key"), clock.now());
    expect(asking).toBeInstanceOf(Promise);
    expect(limiter.spend(requestOf("another key"), clock.now())).not.toBeInstanceOf(Promise);
    expect((await asking).isAdmitted).toBe(true);
    line.mend();
    await until(
      async () => {
        clock.advance(1_000);
        await limiter.spend(requestOf("a third key"), clock.now());
        return (await direct.keys("*{a third key}")).length === 1;
      },
      { timeoutMs: 60_000 },
    );
    // Redis remembers its earlier counts.
    const after = await spendMany([limiter], 5);
    expect(admittedOf(after)).toBe(0);
  },
);

test("a Redis that answers nonsense is one that does not answer", async () => {
  const limiter = await newLimiter();
  await direct.lpush("rate-limit:test:{key}", "not a time");
  expect(admittedOf(await spendMany([limiter], limit.burst + 1))).toBe(limit.burst);
});

test("a Redis that was never there changes nothing", async () => {
  const limiter = await newLimiter(`redis://127.0.0.1:${await freePort()}`);
  expect(admittedOf(await spendMany([limiter], limit.burst + 1))).toBe(limit.burst);
});
