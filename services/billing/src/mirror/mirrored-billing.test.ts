// Billing with its mirror: a flood of hopeless places reaches PostgreSQL once a second, nobody is refused whom
// PostgreSQL would not refuse, and whoever answers a deposit, an adjustment or a change has made room.
import { randomUUID } from "node:crypto";
import { OutcomeCode, SpendPeriod } from "@gr/proto/billing";
import { connectRedis, createLogger, type Redis } from "@gr/runtime";
import { RedisLine, testRedis } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { inTime } from "../test/in-time.ts";
import {
  type BillingProcess,
  type BillingUnderTest,
  startBilling,
  startBillingOn,
} from "../test/start-billing.ts";
import * as wallet from "../test/wallet.ts";
import { NUMBERS_LIFETIME_MS } from "./spend-mirror.ts";

const { DONE, INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED } = OutcomeCode;
const DAY = 86_400_000;
const HOPELESS = 200;

let ledger: BillingUnderTest;
let line: RedisLine;
let redis: Redis;
let shared: readonly BillingProcess[];
beforeAll(async () => {
  ledger = await startBilling();
  const { url } = await testRedis();
  const log = createLogger("silent", "test");
  redis = await connectRedis({ url, name: "test", log, commandTimeoutMs: 10_000 });
  line = await RedisLine.to(url);
  // A test that stands still for a moment must not take that for an outage.
  const patient = { REDIS_URL: url, REDIS_TIMEOUT_MS: "10000" };
  shared = [
    await startBillingOn(ledger.url, ledger.clock, patient),
    await startBillingOn(ledger.url, ledger.clock, patient),
    await startBillingOn(ledger.url, ledger.clock, { REDIS_URL: line.url, REDIS_TIMEOUT_MS: "900" }),
  ];
});
afterAll(async () => {
  expect((await ledger.inProcess.verifyLedger({})).differences).toEqual([]);
  for (const each of shared) await each.stop();
  await line.close();
  redis.disconnect();
  await ledger.stop();
});

/** A place whose hold is younger than any numbers, as a request's is whose id was made a moment ago. */
const place = (mine: wallet.Wallet, credits: bigint) =>
  wallet.place(mine, credits, { holdId: uuidv7({ msecs: ledger.clock.now() + 1 }) });

async function countOf(process: BillingProcess, metric: string): Promise<number> {
  const line = (await process.metrics()).split("\n").find((each) => each.startsWith(`${metric} `));
  return Number(line?.split(" ")[1] ?? 0);
}

describe.each([
  ["in one process", () => ledger],
  ["through Redis", () => shared[0] ?? ledger],
] as const)("billing with its mirror %s", (_name, processOf) => {
  const billing = () => processOf().inProcess;
  const postOne = (operation: wallet.OperationInit) => wallet.postOne(billing(), operation);
  const batches = () => countOf(processOf(), "billing_batch_operations_count");
  const mirrored = () => countOf(processOf(), "billing_mirror_refusals_total");

  test("whether a spender can pay for anything costs PostgreSQL nothing while the mirror knows", async () => {
    const mine = await wallet.openWallet(billing(), 0n);
    const check = async () => (await billing().checkSpender(mine)).outcome?.code;
    const before = await mirrored();
    for (let asked = 0; asked < HOPELESS; asked += 1) expect(await check()).toBe(INSUFFICIENT_CREDITS);
    expect((await mirrored()) - before).toBeGreaterThan(0);
    await wallet.deposit(billing(), mine.accountId, 1n);
    expect(await check()).toBe(DONE);
  });

  test("hopeless places cost one batch a second, however many they are", async () => {
    const mine = await wallet.openWallet(billing(), 100n);
    const [batchesBefore, refusalsBefore] = [await batches(), await mirrored()];
    const begun = performance.now();
    for (let sent = 0; sent < HOPELESS; sent += 1) {
      expect((await postOne(place(mine, 101n))).code).toBe(INSUFFICIENT_CREDITS);
    }
    const seconds = (performance.now() - begun) / NUMBERS_LIFETIME_MS;
    const asked = (await batches()) - batchesBefore;
    expect(asked).toBeGreaterThanOrEqual(1);
    // Numbers may die a millisecond early: Redis has whole ones.
    expect(asked).toBeLessThanOrEqual(1 + 2 * Math.ceil(seconds));
    expect((await mirrored()) - refusalsBefore).toBe(HOPELESS - asked);
  });

  test("the mirror says what PostgreSQL said", async () => {
    const poor = await wallet.openWallet(billing(), 100n);
    const spent = await wallet.openWallet(billing(), 100n, { capCredits: 50n, period: SpendPeriod.WEEK });
    for (const [mine, code] of [
      [poor, INSUFFICIENT_CREDITS],
      [spent, SPEND_LIMIT_EXCEEDED],
    ] as const) {
      const small = place(mine, 10n);
      expect((await postOne(small)).code).toBe(DONE);
      const first = await postOne(place(mine, 101n));
      expect(first).toMatchObject({ code, inFlight: false, availableCredits: 90n });
      expect(await postOne(place(mine, 101n))).toEqual(first);
    }
    // Only the open hold is in its way.
    expect(await postOne(place(poor, 95n))).toMatchObject({ code: INSUFFICIENT_CREDITS, inFlight: true });
  });

  test("what only open holds are in the way of is asked each time", async () => {
    const mine = await wallet.openWallet(billing(), 100n);
    const running = place(mine, 60n);
    await postOne(running);
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await postOne(place(mine, 60n))).toMatchObject({ code: INSUFFICIENT_CREDITS, inFlight: true });
    }
    await postOne(wallet.release(running.holdId));
    expect((await postOne(place(mine, 60n))).code).toBe(DONE);
  });

  test("a deposit, an adjustment, a higher cap and a new period make room before they answer", async () => {
    const mine = await wallet.openWallet(billing(), 100n, { capCredits: 100n });
    const refuse = async (credits: bigint) => {
      for (const _ of [1, 2]) expect((await postOne(place(mine, credits))).code).not.toBe(DONE);
    };
    const spend = async (credits: bigint) => {
      const hold = place(mine, credits);
      expect((await postOne(hold)).code).toBe(DONE);
      await postOne(wallet.capture(hold.holdId, credits));
    };
    await refuse(150n);
    await wallet.putSpender(billing(), mine.accountId, { ...mine, capCredits: 150n });
    await refuse(150n);
    await wallet.deposit(billing(), mine.accountId, 50n);
    await spend(150n);
    await refuse(10n);
    const adjustment = {
      adjustmentId: randomUUID(),
      accountId: mine.accountId,
      credits: 10n,
      reason: "test",
    };
    await billing().putAdjustment(adjustment);
    await refuse(10n);
    await wallet.putSpender(billing(), mine.accountId, {
      ...mine,
      capCredits: 150n,
      period: SpendPeriod.DAY,
    });
    await spend(10n);
  });

  test("a window's end makes room", async () => {
    const mine = await wallet.openWallet(billing(), 1_000n, { capCredits: 100n, period: SpendPeriod.DAY });
    const hold = place(mine, 100n);
    await postOne(hold);
    await postOne(wallet.capture(hold.holdId, 100n));
    for (const _ of [1, 2]) expect((await postOne(place(mine, 1n))).code).toBe(SPEND_LIMIT_EXCEEDED);
    ledger.clock.advance(DAY);
    expect((await postOne(place(mine, 100n))).code).toBe(DONE);
  });

  test("of a window in which nothing was placed yet, nothing is used", async () => {
    const mine = await wallet.openWallet(billing(), 1_000n, { capCredits: 100n, period: SpendPeriod.DAY });
    const hold = place(mine, 100n);
    await postOne(hold);
    await postOne(wallet.capture(hold.holdId, 100n));
    ledger.clock.advance(DAY);
    expect((await postOne(place(mine, 101n))).code).toBe(SPEND_LIMIT_EXCEEDED);
    expect((await postOne(place(mine, 100n))).code).toBe(DONE);
  });

  test("an expiry is told as one", async () => {
    const expiresAt = BigInt(ledger.clock.now() + 1_000);
    const mine = await wallet.openWallet(billing(), 10n, { expiresAt });
    for (const _ of [1, 2]) expect((await postOne(place(mine, 11n))).code).toBe(INSUFFICIENT_CREDITS);
    ledger.clock.advance(1_000);
    expect((await postOne(place(mine, 11n))).code).toBe(OutcomeCode.SPENDER_EXPIRED);
  });

  test("free models, claims and repeated places are PostgreSQL's", async () => {
    const mine = await wallet.openWallet(billing(), 100n);
    const first = place(mine, 40n);
    await postOne(first);
    const taken = { accountId: mine.accountId, credits: -90n, reason: "an overrun" };
    await billing().putAdjustment({ ...taken, adjustmentId: uuidv7({ msecs: ledger.clock.now() }) });
    ledger.clock.advance(1);
    for (const _ of [1, 2]) expect((await postOne(place(mine, 20n))).code).toBe(INSUFFICIENT_CREDITS);
    const before = await mirrored();
    expect((await postOne(first)).code).toBe(DONE);
    expect((await postOne(place(mine, 0n))).code).toBe(DONE);
    const holdId = uuidv7({ msecs: ledger.clock.now() + 1 });
    const claiming = wallet.place(mine, 20n, { holdId, claim: wallet.claimOf(holdId) });
    expect((await postOne(claiming)).code).toBe(INSUFFICIENT_CREDITS);
    expect(await mirrored()).toBe(before);
  });

  test("in a batch the others are done, in their order", () =>
    inTime(async () => {
      const poor = await wallet.openWallet(billing(), 10n);
      const rich = await wallet.openWallet(billing(), 100n);
      const running = place(rich, 50n);
      await postOne(running);
      await postOne(place(poor, 11n));
      const before = await mirrored();
      const outcomes = await wallet.post(
        billing(),
        place(poor, 11n),
        wallet.capture(running.holdId, 50n),
        place(poor, 12n),
        place(rich, 51n),
        place(poor, 10n),
        place(poor, 13n),
      );
      expect(outcomes.map(({ code }) => code)).toEqual([
        INSUFFICIENT_CREDITS,
        DONE,
        INSUFFICIENT_CREDITS,
        INSUFFICIENT_CREDITS,
        DONE,
        INSUFFICIENT_CREDITS,
      ]);
      expect((await mirrored()) - before).toBeGreaterThanOrEqual(3);
    }));
});

describe("billing processes on one Redis", () => {
  const [one, two, three] = [0, 1, 2].map((index) => () => {
    const process = shared[index];
    if (process === undefined) throw new Error("not started");
    return process;
  }) as [() => BillingProcess, () => BillingProcess, () => BillingProcess];
  const postOne = (process: () => BillingProcess, operation: wallet.OperationInit) =>
    wallet.postOne(process().inProcess, operation);

  test("a deposit at one is seen by the other at once", async () => {
    const mine = await wallet.openWallet(one().inProcess, 10n);
    for (const process of [one, two, one, two]) {
      expect((await postOne(process, place(mine, 11n))).code).toBe(INSUFFICIENT_CREDITS);
    }
    await wallet.deposit(one().inProcess, mine.accountId, 1n);
    expect((await postOne(two, place(mine, 11n))).code).toBe(DONE);
  });

  test("whoever can pay leaves no trace in Redis, and neither do captures and releases", async () => {
    await redis.flushdb();
    const mine = await wallet.openWallet(one().inProcess, 100n);
    const [charged, freed] = [place(mine, 10n), place(mine, 10n)];
    await wallet.post(one().inProcess, charged, freed);
    await wallet.post(one().inProcess, wallet.capture(charged.holdId, 10n), wallet.release(freed.holdId));
    expect(await redis.keys("*")).toEqual([]);
  });

  test("an account is one key in a slot of its own, which lives a second", async () => {
    const mine = await wallet.openWallet(one().inProcess, 10n);
    await postOne(one, place(mine, 11n));
    for (const name of await redis.keys(`*${mine.accountId}*`)) {
      expect(name).toBe(`spend:{${mine.accountId}}`);
      expect(await redis.pttl(name)).toBeLessThanOrEqual(NUMBERS_LIFETIME_MS);
    }
  });

  test("nonsense in Redis is asked of PostgreSQL", async () => {
    const mine = await wallet.openWallet(one().inProcess, 10n);
    await postOne(one, place(mine, 11n));
    const name = `spend:{${mine.accountId}}`;
    for (const text of ["", "x", `${Date.now() + 500} 1 2`, `${Date.now() + 500} 0 0 - 0 year 0 0 0`]) {
      await redis.hset(name, mine.spenderId, text);
      expect((await postOne(one, place(mine, 10n))).code).not.toBe(SPEND_LIMIT_EXCEEDED);
    }
  });

  test("scripts that Redis has forgotten are given to it again", () =>
    inTime(async () => {
      const mine = await wallet.openWallet(one().inProcess, 10n);
      const before = await countOf(one(), "billing_mirror_refusals_total");
      for (const _ of [1, 2]) {
        await redis.script("FLUSH");
        expect((await postOne(one, place(mine, 11n))).code).toBe(INSUFFICIENT_CREDITS);
      }
      expect(await countOf(one(), "billing_mirror_refusals_total")).toBe(before + 1);
    }));

  test("a Redis that takes no writes, as a replica or one without memory, is as none", async () => {
    const { url } = await testRedis();
    const reader = `reader-${randomUUID()}`;
    await redis.acl("SETUSER", reader, "on", ">secret", "~*", "+@all", "-@write");
    const asReader = Object.assign(new URL(url), { username: reader, password: "secret" });
    const reading = await startBillingOn(ledger.url, ledger.clock, { REDIS_URL: asReader.href });
    try {
      const mine = await wallet.openWallet(reading.inProcess, 10n);
      for (const _ of [1, 2, 3]) {
        expect((await wallet.postOne(reading.inProcess, place(mine, 11n))).code).toBe(INSUFFICIENT_CREDITS);
      }
      await wallet.deposit(reading.inProcess, mine.accountId, 1n);
      expect((await wallet.postOne(reading.inProcess, place(mine, 11n))).code).toBe(DONE);
    } finally {
      await reading.stop();
      await redis.acl("DELUSER", reader);
    }
  });

  test.each(["freeze", "cut"] as const)(
    "%s: without Redis, PostgreSQL answers, and deposits too",
    async (outage) => {
      const mine = await wallet.openWallet(three().inProcess, 10n);
      expect((await postOne(three, place(mine, 11n))).code).toBe(INSUFFICIENT_CREDITS);
      line[outage]();
      try {
        for (const _ of [1, 2, 3]) {
          expect((await postOne(three, place(mine, 11n))).code).toBe(INSUFFICIENT_CREDITS);
        }
        await wallet.deposit(three().inProcess, mine.accountId, 1n);
        expect((await postOne(three, place(mine, 11n))).code).toBe(DONE);
      } finally {
        line.mend();
      }
    },
  );
});
