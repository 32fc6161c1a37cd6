// Guarantees of notices of deleted and disabled keys and of other allow-lists through a real Redis: gateways receive
// them, and all works without Redis.
import { KeyKind } from "@gr/proto/keys";
import { connectRedis, createLogger, type Redis } from "@gr/runtime";
import { RedisLine, testRedis, until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type KeysUnderTest, startKeys } from "../test/start-keys.ts";

/** Time for which a gateway reuses a verification. */
const KEPT_MS = 5_000;

let line: RedisLine;
let redis: Redis;
let world: KeysUnderTest;
/** Module that declares Redis lost soon; the other one must not do so on a slow machine. */
let immediate: KeysUnderTest;
let accountId: string;
let keyId: string;

beforeAll(async () => {
  const { url } = await testRedis();
  line = await RedisLine.to(url);
  redis = await connectRedis({
    url,
    name: "test",
    log: createLogger("silent", "test"),
    commandTimeoutMs: 10_000,
  });
  world = await startKeys({ REDIS_URL: line.url, REDIS_TIMEOUT_MS: "10000" });
  immediate = await startKeys({ REDIS_URL: line.url, REDIS_TIMEOUT_MS: "900" });
});
afterAll(async () => {
  await Promise.all([world.stop(), immediate.stop()]);
  await line.close();
  redis.disconnect();
});
beforeEach(async () => {
  await begin(world);
});
afterEach(() => line.mend());

async function begin(at: KeysUnderTest): Promise<void> {
  accountId = (await at.keys.createAccount({ name: "Acme" })).accountId;
  keyId = await mint(at);
}

async function mint(at = world): Promise<string> {
  const { key } = await at.keys.mintKey({ accountId, name: "a key", kind: KeyKind.NORMAL });
  return key?.keyId ?? "";
}

const isReported = async (id = keyId) => (await redis.exists(`revoked:{${accountId}}${id}`)) === 1;
const untilReported = (reported: boolean) =>
  until(async () => (await isReported()) === reported, { timeoutMs: 60_000 });

describe("gateways are told", () => {
  test("of a rotated key, whose earlier secrets they may remember", async () => {
    await world.keys.rotateKey({ accountId, keyId, overlapMs: 0n });
    await untilReported(true);
  });

  test("of a deleted key, for longer than they keep a verification", async () => {
    await world.keys.deleteKey({ accountId, keyId });
    await untilReported(true);
    expect(await redis.pttl(`revoked:{${accountId}}${keyId}`)).toBeGreaterThan(KEPT_MS);
  });

  test("of a disabled key, until it is enabled", async () => {
    await world.keys.updateKey({ accountId, keyId, active: false });
    await untilReported(true);
    await world.keys.updateKey({ accountId, keyId, active: true });
    await untilReported(false);
  });

  test("of other allow-lists, also when the key is enabled afterwards", async () => {
    const names = ["openai"];
    await until(
      async () => {
        const providers = { case: "allowedProviders", value: { names } } as const;
        return world.keys.updateKey({ accountId, keyId, providers }).then(
          () => true,
          // The catalogue has not arrived yet.
          () => false,
        );
      },
      { timeoutMs: 60_000 },
    );
    await untilReported(true);
    for (const active of [false, true]) await world.keys.updateKey({ accountId, keyId, active });
    const other = await mint();
    await world.keys.deleteKey({ accountId, keyId: other });
    await until(() => isReported(other), { timeoutMs: 60_000 });
    expect(await isReported()).toBe(true);
  });

  test("of another choice about saved texts", async () => {
    await world.keys.updateKey({ accountId, keyId, savesTexts: true });
    await untilReported(true);
  });

  test("of nothing else: not of other changes, not of a deletion that billing did not learn of", async () => {
    const other = await mint();
    await world.keys.updateKey({ accountId, keyId: other, name: "renamed" });
    world.billing.beforePutSpender = () => Promise.reject(new Error("billing is away"));
    await expect(world.keys.deleteKey({ accountId, keyId: other })).rejects.toThrow();
    world.billing.beforePutSpender = async () => undefined;
    // Sent on the same connection, so all earlier notices have arrived.
    await world.keys.deleteKey({ accountId, keyId });
    await untilReported(true);
    expect(await isReported(other)).toBe(false);
  });
});

test.each(["freeze", "cut"] as const)(
  "%s: a Redis that does not answer fails no deletion, and later ones are told again",
  async (outage) => {
    await begin(immediate);
    line[outage]();
    await immediate.keys.deleteKey({ accountId, keyId });
    const { keys } = await immediate.keys.listKeys({ accountId });
    expect(keys.map((key) => key.keyId)).not.toContain(keyId);
    line.mend();
    await until(
      async () => {
        immediate.clock.advance(1_000);
        const next = await mint(immediate);
        await immediate.keys.deleteKey({ accountId, keyId: next });
        await until(() => isReported(next), { timeoutMs: 500 });
        return true;
      },
      { timeoutMs: 60_000 },
    );
  },
);
