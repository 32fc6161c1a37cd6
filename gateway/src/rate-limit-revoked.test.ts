// A revocation in Redis ends a cached verification; the keys service then decides about the key.
// Without the message billing still refuses the key, later.
import { connectRedis, createLogger, type Redis } from "@gr/runtime";
import { testRedis } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { call, errorOf } from "./test/call.ts";
import type { FakeKey } from "./test/fake-keys.ts";
import { type Ring, startRing, topologies } from "./test/ring.ts";

describe.each(topologies)("a revocation, %s", (topology) => {
  let ring: Ring;
  let redis: Redis;
  let key: FakeKey;
  beforeAll(async () => {
    const { url } = await testRedis();
    const log = createLogger("silent", "test");
    redis = await connectRedis({ url, name: "test", log, commandTimeoutMs: 10_000 });
    ring = await startRing(topology, { REDIS_URL: url, REDIS_TIMEOUT_MS: "10000" });
  });
  beforeEach(async () => {
    await redis.flushdb();
    ring.keys.broken = false;
    key = ring.keys.add("normal");
    expect((await spend()).status).toBe(200);
  });
  afterAll(async () => {
    await ring.stop();
    redis.disconnect();
  });

  const spend = () =>
    call(`${ring.baseUrl}/v1/compat/chat/completions`, { key: key.secret, method: "POST", body: {} });
  const report = () => redis.set(`revoked:{${key.accountId}}${key.keyId}`, "1", "PX", 15_000);

  test("ends a kept verification at once", async () => {
    ring.keys.delete(key);
    // Kept for some seconds, where billing checks the key again.
    expect((await spend()).status).toBe(200);
    await report();
    const answer = await spend();
    expect(answer.status).toBe(401);
    expect(errorOf(answer)).toEqual({
      message: "The API key is not valid.",
      type: "unauthorized",
      code: "invalid_api_key",
    });
    expect((await spend()).status).toBe(401);
  });

  test("brings the allow-lists that the key has now", async () => {
    ring.keys.allowModels(key, ["openai/*"]);
    expect((await spend()).body).not.toHaveProperty("principal.allowed");
    await report();
    expect((await spend()).body).toMatchObject({ principal: { allowed: { models: ["openai/*"] } } });
  });

  test("of a key that is good again refuses nobody", async () => {
    await report();
    const lookUps = ring.keys.lookUps;
    expect((await spend()).status).toBe(200);
    expect(ring.keys.lookUps).toBe(lookUps + 1);
  });

  test("of another key changes nothing", async () => {
    await redis.set(`revoked:{${key.accountId}}${ring.keys.add("normal").keyId}`, "1", "PX", 15_000);
    const lookUps = ring.keys.lookUps;
    expect((await spend()).status).toBe(200);
    expect(ring.keys.lookUps).toBe(lookUps);
  });

  test("is believed by nobody while the keys service is silent: the request waits for better days", async () => {
    await report();
    ring.keys.broken = true;
    expect((await spend()).status).toBe(503);
  });
});
