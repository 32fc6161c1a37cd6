// Spend windows: when they begin and end, and which of them a charge belongs to.
import { OutcomeCode, SpendPeriod } from "@gr/proto/billing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import {
  capture,
  extend,
  openWallet,
  place,
  postOne,
  putSpender,
  release,
  type Wallet,
} from "../test/wallet.ts";

const { DONE, SPEND_LIMIT_EXCEEDED } = OutcomeCode;
const { DAY, WEEK, MONTH, LIFETIME } = SpendPeriod;
const CAP = 100n;

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
beforeEach(() => ledger.clock.set(THURSDAY));
afterAll(() => ledger.stopSound());

const wallet = (period: SpendPeriod) => openWallet(ledger.inProcess, 1_000_000n, { capCredits: CAP, period });

/** Places and captures at once. */
async function spend(from: Wallet, credits: bigint): Promise<OutcomeCode> {
  const hold = place(from, credits);
  const { code } = await postOne(ledger.inProcess, hold);
  if (code === DONE) await postOne(ledger.inProcess, capture(hold.holdId, credits));
  return code;
}

async function window({ accountId, spenderId }: Wallet) {
  const { usage } = await ledger.inProcess.getCredits({ accountId, bySpender: true });
  const found = usage.find(({ spender }) => spender?.spenderId === spenderId);
  return found && { used: found.windowUsedCredits, start: found.windowStart, life: found.usedCredits };
}

describe.each([
  ["day", DAY, "2026-01-15T23:59:59.999Z", "2026-01-16T00:00:00.000Z", "2026-01-15", "2026-01-16"],
  [
    "day at the end of a leap February",
    DAY,
    "2024-02-29T23:59:59.999Z",
    "2024-03-01T00:00:00Z",
    "2024-02-29",
    "2024-03-01",
  ],
  ["week", WEEK, "2026-01-18T23:59:59.999Z", "2026-01-19T00:00:00.000Z", "2026-01-12", "2026-01-19"],
  [
    "week across New Year",
    WEEK,
    "2020-12-31T23:59:59.999Z",
    "2021-01-04T00:00:00Z",
    "2020-12-28",
    "2021-01-04",
  ],
  ["month", MONTH, "2026-01-31T23:59:59.999Z", "2026-02-01T00:00:00.000Z", "2026-01-01", "2026-02-01"],
  [
    "month at the end of the year",
    MONTH,
    "2020-12-31T23:59:59.999Z",
    "2021-01-01T00:00:00Z",
    "2020-12-01",
    "2021-01-01",
  ],
])("a %s", (_, period, last, next, start, nextStart) => {
  test("lasts until its last millisecond and says when it resets", async () => {
    ledger.clock.set(Date.parse(last));
    const mine = await wallet(period);
    expect(await spend(mine, CAP)).toBe(DONE);
    expect(await postOne(ledger.inProcess, place(mine, 1n))).toMatchObject({
      code: SPEND_LIMIT_EXCEEDED,
      inFlight: false,
      period,
      capCredits: CAP,
      resetsAt: BigInt(Date.parse(nextStart)),
    });
    expect(await window(mine)).toEqual({ used: CAP, start: BigInt(Date.parse(start)), life: CAP });
    ledger.clock.set(Date.parse(next));
    expect(await window(mine)).toEqual({ used: 0n, start: undefined, life: CAP });
    expect(await spend(mine, 40n)).toBe(DONE);
    expect(await window(mine)).toEqual({ used: 40n, start: BigInt(Date.parse(nextStart)), life: CAP + 40n });
  });
});

test("a lifetime cap never resets", async () => {
  ledger.clock.set(Date.UTC(2016, 0, 1));
  const mine = await wallet(LIFETIME);
  expect(await spend(mine, CAP)).toBe(DONE);
  ledger.clock.set(THURSDAY);
  expect(await postOne(ledger.inProcess, place(mine, 1n))).toMatchObject({
    code: SPEND_LIMIT_EXCEEDED,
    resetsAt: 0n,
  });
  expect(await window(mine)).toEqual({ used: CAP, start: undefined, life: CAP });
});

test("a week with days of two years is one week", async () => {
  ledger.clock.set(Date.parse("2020-12-31T12:00:00Z"));
  const mine = await wallet(WEEK);
  expect(await spend(mine, CAP)).toBe(DONE);
  ledger.clock.set(Date.parse("2021-01-03T23:59:59.999Z"));
  expect(await spend(mine, 1n)).toBe(SPEND_LIMIT_EXCEEDED);
});

describe("a hold that is open when its window ends", () => {
  test("neither eats the next window's cap nor charges to it", async () => {
    const mine = await wallet(DAY);
    const hold = place(mine, 80n);
    await postOne(ledger.inProcess, hold);
    ledger.clock.advance(24 * 3_600_000);
    expect(await spend(mine, CAP)).toBe(DONE);
    expect((await postOne(ledger.inProcess, capture(hold.holdId, 80n))).code).toBe(DONE);
    expect(await window(mine)).toMatchObject({ used: CAP, life: CAP + 80n });
  });

  test("still charges to its own window while no other has begun", async () => {
    const mine = await wallet(DAY);
    const hold = place(mine, 80n);
    await postOne(ledger.inProcess, hold);
    ledger.clock.advance(24 * 3_600_000);
    await postOne(ledger.inProcess, capture(hold.holdId, 80n));
    expect(await window(mine)).toEqual({ used: 0n, start: undefined, life: 80n });
    expect(await spend(mine, CAP)).toBe(DONE);
  });

  test("frees nothing of the next window when it is released", async () => {
    const mine = await wallet(DAY);
    const hold = place(mine, 80n);
    await postOne(ledger.inProcess, hold);
    ledger.clock.advance(24 * 3_600_000);
    expect(await spend(mine, 60n)).toBe(DONE);
    await postOne(ledger.inProcess, release(hold.holdId));
    expect(await spend(mine, 41n)).toBe(SPEND_LIMIT_EXCEEDED);
    expect(await spend(mine, 40n)).toBe(DONE);
  });

  test("may grow in its window, and not any more when another has begun", async () => {
    const mine = await wallet(DAY);
    const hold = place(mine, 60n);
    await postOne(ledger.inProcess, hold);
    ledger.clock.advance(24 * 3_600_000);
    expect((await postOne(ledger.inProcess, extend(hold.holdId, 80n))).code).toBe(DONE);
    expect((await postOne(ledger.inProcess, extend(hold.holdId, 101n))).code).toBe(SPEND_LIMIT_EXCEEDED);
    expect(await spend(mine, 1n)).toBe(DONE);
    expect(await postOne(ledger.inProcess, extend(hold.holdId, 81n))).toMatchObject({
      code: SPEND_LIMIT_EXCEEDED,
      inFlight: false,
    });
    await putSpender(ledger.inProcess, mine.accountId, { spenderId: mine.spenderId, period: DAY });
    expect((await postOne(ledger.inProcess, extend(hold.holdId, 81n))).code).toBe(DONE);
  });
});

describe("a clock that goes back", () => {
  test("does not reopen an earlier window", async () => {
    ledger.clock.set(Date.parse("2026-01-16T00:00:00.500Z"));
    const mine = await wallet(DAY);
    expect(await spend(mine, CAP)).toBe(DONE);
    ledger.clock.set(Date.parse("2026-01-15T23:59:58.000Z"));
    expect(await postOne(ledger.inProcess, place(mine, 1n))).toMatchObject({
      code: SPEND_LIMIT_EXCEEDED,
      resetsAt: BigInt(Date.parse("2026-01-17")),
    });
    expect(await window(mine)).toMatchObject({ used: CAP, start: BigInt(Date.parse("2026-01-16")) });
  });
});

describe("a change of the spender", () => {
  const change = (mine: Wallet, fields: { capCredits?: bigint; period?: SpendPeriod; active?: boolean }) =>
    putSpender(ledger.inProcess, mine.accountId, { spenderId: mine.spenderId, ...fields });

  test("of the cap applies at once and keeps what was used and is held", async () => {
    const mine = await wallet(DAY);
    await spend(mine, 50n);
    const hold = place(mine, 20n);
    await postOne(ledger.inProcess, hold);
    await change(mine, { capCredits: 80n, period: DAY });
    expect(await postOne(ledger.inProcess, place(mine, 11n))).toMatchObject({
      code: SPEND_LIMIT_EXCEEDED,
      inFlight: true,
      capCredits: 80n,
    });
    await change(mine, { capCredits: 10n, period: DAY });
    expect(await postOne(ledger.inProcess, place(mine, 1n))).toMatchObject({
      code: SPEND_LIMIT_EXCEEDED,
      inFlight: false,
    });
    await change(mine, { period: DAY });
    expect(await spend(mine, 500n)).toBe(DONE);
    expect(await window(mine)).toMatchObject({ used: 550n, life: 550n });
  });

  test("of the period begins a new window at zero, also back and forth within a day", async () => {
    const mine = await wallet(DAY);
    await spend(mine, 70n);
    const hold = place(mine, 30n);
    await postOne(ledger.inProcess, hold);
    await change(mine, { capCredits: CAP, period: MONTH });
    expect(await window(mine)).toEqual({ used: 0n, start: undefined, life: 70n });
    expect(await spend(mine, 60n)).toBe(DONE);
    await change(mine, { capCredits: CAP, period: DAY });
    expect(await window(mine)).toEqual({ used: 0n, start: undefined, life: 130n });
    expect(await spend(mine, 90n)).toBe(DONE);
    // The hold was placed in the first of the two windows of this day; the second does not know it.
    await postOne(ledger.inProcess, capture(hold.holdId, 30n));
    expect(await window(mine)).toMatchObject({ used: 90n, life: 250n });
    expect(await spend(mine, 11n)).toBe(SPEND_LIMIT_EXCEEDED);
    expect(await spend(mine, 10n)).toBe(DONE);
  });

  test("from a day to a lifetime begins at zero too, and leaves out what was held before", async () => {
    const mine = await wallet(DAY);
    await spend(mine, 70n);
    const hold = place(mine, 30n);
    await postOne(ledger.inProcess, hold);
    await change(mine, { capCredits: CAP, period: LIFETIME });
    await postOne(ledger.inProcess, capture(hold.holdId, 30n));
    expect(await window(mine)).toEqual({ used: 0n, start: undefined, life: CAP });
    expect(await spend(mine, CAP)).toBe(DONE);
    expect(await spend(mine, 1n)).toBe(SPEND_LIMIT_EXCEEDED);
  });
});
