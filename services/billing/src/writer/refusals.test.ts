// Refusals for lack of money: a flood of hopeless places costs PostgreSQL one read a second. No refusal differs from that of the stored
// state, and each ends with the answer to a deposit.
import { randomUUID } from "node:crypto";
import { MOST_OPEN_HOLDS } from "@gr/ledger";
import { OutcomeCode, SpendPeriod } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { type BillingUnderTest, startBilling, startBillingOn } from "../test/start-billing.ts";
import * as wallet from "../test/wallet.ts";

const { DONE, INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED } = OutcomeCode;
const DAY = 86_400_000;
const HOPELESS = 200;
/** Milliseconds for which a read account refuses without another read. */
const CONFIRMED_FOR_MS = 1_000;

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
afterAll(() => ledger.stopSound());

/** Place with a hold that is younger than each read of its account, as for a request of this moment. */
const place = (mine: wallet.Wallet, credits: bigint) =>
  wallet.place(mine, credits, { holdId: uuidv7({ msecs: ledger.clock.now() + 1 }) });
const postOne = (operation: wallet.OperationInit) => wallet.postOne(ledger.inProcess, operation);

async function fromMemory(): Promise<number> {
  const line = /^billing_mirror_refusals_total (\d+)$/m.exec(await ledger.metrics());
  return Number(line?.[1]);
}

describe("refusals", () => {
  test("of hopeless places cost one read a second, however many they are", async () => {
    const mine = await wallet.openWallet(ledger.inProcess, 100n);
    const before = await fromMemory();
    const begun = performance.now();
    for (let sent = 0; sent < HOPELESS; sent += 1) {
      expect((await postOne(place(mine, 101n))).code).toBe(INSUFFICIENT_CREDITS);
    }
    const seconds = (performance.now() - begun) / CONFIRMED_FOR_MS;
    const asked = HOPELESS - ((await fromMemory()) - before);
    expect(asked).toBeLessThanOrEqual(1 + Math.ceil(seconds));
  });

  test("of a check end with a deposit", async () => {
    const mine = await wallet.openWallet(ledger.inProcess, 0n);
    const check = async () => (await ledger.inProcess.checkSpender(mine)).outcome?.code;
    for (const _ of [1, 2]) expect(await check()).toBe(INSUFFICIENT_CREDITS);
    await wallet.deposit(ledger.inProcess, mine.accountId, 1n);
    expect(await check()).toBe(DONE);
  });

  test("are the answers of the stored state, word by word", async () => {
    const poor = await wallet.openWallet(ledger.inProcess, 100n);
    const spent = await wallet.openWallet(ledger.inProcess, 100n, {
      capCredits: 50n,
      period: SpendPeriod.WEEK,
    });
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

  test("for open holds alone are decided anew each time", async () => {
    const mine = await wallet.openWallet(ledger.inProcess, 100n);
    const running = place(mine, 60n);
    await postOne(running);
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await postOne(place(mine, 60n))).toMatchObject({ code: INSUFFICIENT_CREDITS, inFlight: true });
    }
    await postOne(wallet.release(running.holdId));
    expect((await postOne(place(mine, 60n))).code).toBe(DONE);
  });

  test("end with the answer to a deposit, an adjustment, a higher limit or a new period", async () => {
    const mine = await wallet.openWallet(ledger.inProcess, 100n, { capCredits: 100n });
    const refuse = async (credits: bigint) => {
      for (const _ of [1, 2]) expect((await postOne(place(mine, credits))).code).not.toBe(DONE);
    };
    const spend = async (credits: bigint) => {
      const hold = place(mine, credits);
      expect((await postOne(hold)).code).toBe(DONE);
      await postOne(wallet.capture(hold.holdId, credits));
    };
    await refuse(150n);
    await wallet.putSpender(ledger.inProcess, mine.accountId, { ...mine, capCredits: 150n });
    await refuse(150n);
    await wallet.deposit(ledger.inProcess, mine.accountId, 50n);
    await spend(150n);
    await refuse(10n);
    const adjustment = {
      adjustmentId: randomUUID(),
      accountId: mine.accountId,
      credits: 10n,
      reason: "test",
    };
    await ledger.inProcess.putAdjustment(adjustment);
    await refuse(10n);
    await wallet.putSpender(ledger.inProcess, mine.accountId, {
      ...mine,
      capCredits: 150n,
      period: SpendPeriod.DAY,
    });
    await spend(10n);
  });

  test("end with the window", async () => {
    const mine = await wallet.openWallet(ledger.inProcess, 1_000n, {
      capCredits: 100n,
      period: SpendPeriod.DAY,
    });
    const hold = place(mine, 100n);
    await postOne(hold);
    await postOne(wallet.capture(hold.holdId, 100n));
    for (const _ of [1, 2]) expect((await postOne(place(mine, 1n))).code).toBe(SPEND_LIMIT_EXCEEDED);
    ledger.clock.advance(DAY);
    expect((await postOne(place(mine, 100n))).code).toBe(DONE);
  });

  test("count nothing in a window without a hold", async () => {
    const mine = await wallet.openWallet(ledger.inProcess, 1_000n, {
      capCredits: 100n,
      period: SpendPeriod.DAY,
    });
    const hold = place(mine, 100n);
    await postOne(hold);
    await postOne(wallet.capture(hold.holdId, 100n));
    ledger.clock.advance(DAY);
    expect((await postOne(place(mine, 101n))).code).toBe(SPEND_LIMIT_EXCEEDED);
    expect((await postOne(place(mine, 100n))).code).toBe(DONE);
  });

  test("name an expiry as such", async () => {
    const expiresAt = BigInt(ledger.clock.now() + 1_000);
    const mine = await wallet.openWallet(ledger.inProcess, 10n, { expiresAt });
    for (const _ of [1, 2]) expect((await postOne(place(mine, 11n))).code).toBe(INSUFFICIENT_CREDITS);
    ledger.clock.advance(1_000);
    expect((await postOne(place(mine, 11n))).code).toBe(OutcomeCode.SPENDER_EXPIRED);
  });

  test("are never from memory for free models, claims and repeats", async () => {
    const mine = await wallet.openWallet(ledger.inProcess, 100n);
    const first = place(mine, 40n);
    await postOne(first);
    const taken = { accountId: mine.accountId, credits: -90n, reason: "an overrun" };
    await ledger.inProcess.putAdjustment({ ...taken, adjustmentId: uuidv7({ msecs: ledger.clock.now() }) });
    ledger.clock.advance(1);
    for (const _ of [1, 2]) expect((await postOne(place(mine, 20n))).code).toBe(INSUFFICIENT_CREDITS);
    const before = await fromMemory();
    expect((await postOne(first)).code).toBe(DONE);
    expect((await postOne(place(mine, 0n))).code).toBe(DONE);
    const holdId = uuidv7({ msecs: ledger.clock.now() + 1 });
    const claiming = wallet.place(mine, 20n, { holdId, claim: wallet.claimOf(holdId) });
    expect((await postOne(claiming)).code).toBe(INSUFFICIENT_CREDITS);
    expect(await fromMemory()).toBe(before);
  });

  test("in a batch leave the others done, in their order", async () => {
    const poor = await wallet.openWallet(ledger.inProcess, 10n);
    const rich = await wallet.openWallet(ledger.inProcess, 100n);
    const running = place(rich, 50n);
    await postOne(running);
    await postOne(place(poor, 11n));
    const outcomes = await wallet.post(
      ledger.inProcess,
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
  });
});

test("a deposit at one process ends the refusals of another within a second", async () => {
  const other = await startBillingOn(ledger.url, ledger.clock);
  try {
    const mine = await wallet.openWallet(ledger.inProcess, 10n);
    const spend = () => wallet.postOne(other.inProcess, place(mine, 11n));
    for (const _ of [1, 2]) expect((await spend()).code).toBe(INSUFFICIENT_CREDITS);
    await wallet.deposit(ledger.inProcess, mine.accountId, 1n);
    await until(async () => (await spend()).code === DONE, { timeoutMs: 60_000 });
  } finally {
    await other.stop();
  }
});

test("a key with its share of open holds gets no further one until one has ended, and another key does", async () => {
  const mine = await wallet.openWallet(ledger.inProcess, 1_000_000n);
  const places = Array.from({ length: MOST_OPEN_HOLDS * 0.75 }, () => place(mine, 1n));
  for (let from = 0; from < places.length; from += 1_000)
    await wallet.post(ledger.inProcess, ...places.slice(from, from + 1_000));
  const next = place(mine, 1n);
  expect((await postOne(next)).code).toBe(OutcomeCode.SHARE_OF_HOLDS_USED);
  const [first] = places;
  await postOne(wallet.release(first?.holdId ?? ""));
  expect((await postOne(next)).code).toBe(DONE);
  expect((await postOne(place(mine, 1n))).code).toBe(OutcomeCode.SHARE_OF_HOLDS_USED);
  const { accountId } = mine;
  const other = { accountId, spenderId: await wallet.putSpender(ledger.inProcess, accountId) };
  expect((await postOne(place(other, 1n))).code).toBe(DONE);
});
