// Holds that take as much as is good for them: at least what was asked for, and more while it is at most a quarter of what
// key and account have free. Whoever places or extends one is told its size.
import { OutcomeCode } from "@gr/proto/billing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling } from "../test/start-billing.ts";
import {
  capture,
  DEADLINE,
  extend,
  type OperationInit,
  openWallet,
  place,
  post,
  putSpender,
  release,
} from "../test/wallet.ts";

const { DONE, INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED } = OutcomeCode;
let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
afterAll(() => ledger.stop());

const run = (...operations: OperationInit[]) => post(ledger.billing, ...operations);
const openLimited = (credits: bigint, spendLimit: bigint | undefined) =>
  openWallet(ledger.billing, credits, spendLimit === undefined ? {} : { capCredits: spendLimit });
const heldOf = async ({ accountId }: { accountId: string }) =>
  (await ledger.billing.getCredits({ accountId })).heldCredits;

describe("a place of at least 10 and at most 100 credits", () => {
  test.each([
    ["takes all of it where it is a quarter of what is free", 400n, undefined, 100n],
    ["takes that quarter where it is less", 399n, undefined, 99n],
    ["takes a quarter of what the key's limit has left where that is less", 1_000n, 80n, 20n],
    ["takes the least where a quarter is less than that", 39n, undefined, 10n],
    ["takes the last credits", 10n, undefined, 10n],
  ])("%s", async (_, credits, spendLimit, held) => {
    const mine = await openLimited(credits, spendLimit);
    const [placed] = await run(place(mine, 10n, { mostCredits: 100n }));
    expect(placed).toMatchObject({ code: DONE, heldCredits: held });
    expect(await heldOf(mine)).toBe(held);
  });

  test("is refused where the least does not fit, and nothing is held", async () => {
    const mine = await openWallet(ledger.billing, 9n);
    expect(await run(place(mine, 10n, { mostCredits: 100n }))).toMatchObject([
      { code: INSUFFICIENT_CREDITS, heldCredits: 0n, availableCredits: 9n },
    ]);
    expect(await heldOf(mine)).toBe(0n);
  });

  test("counts what the places before it in the same batch hold", async () => {
    const mine = await openWallet(ledger.billing, 400n);
    const placed = await run(...[1, 2, 3].map(() => place(mine, 10n, { mostCredits: 1_000n })));
    expect(placed.map(({ heldCredits }) => heldCredits)).toEqual([100n, 75n, 56n]);
    expect(await heldOf(mine)).toBe(231n);
  });

  test("again says the same size, and holds once", async () => {
    const mine = await openWallet(ledger.billing, 400n);
    const one = place(mine, 10n, { mostCredits: 1_000n });
    const said = await run(one);
    await run(place(mine, 50n));
    expect(await run(one)).toEqual(said);
    expect(await heldOf(mine)).toBe(150n);
  });

  test("is freed in full, in its window as in its account", async () => {
    const mine = await openWallet(ledger.billing, 400n, { capCredits: 400n });
    const [one, other] = [place(mine, 10n, { mostCredits: 100n }), place(mine, 10n, { mostCredits: 100n })];
    await run(one);
    await run(other);
    await run(capture(one.holdId, 30n), release(other.holdId));
    expect(await heldOf(mine)).toBe(0n);
    expect(await run(place(mine, 371n))).toMatchObject([{ code: SPEND_LIMIT_EXCEEDED }]);
    expect(await run(place(mine, 370n))).toMatchObject([{ code: DONE }]);
  });
});

describe("an extension to at least 20 and at most 100 credits", () => {
  test.each([
    ["grows to the most where that is a quarter of what is free", 1_000n, undefined, 100n],
    ["grows by a quarter of what is free", 210n, undefined, 60n],
    ["grows by a quarter of what the key's limit has left", 1_000n, 90n, 30n],
    ["grows to the least", 20n, undefined, 20n],
  ])("%s", async (_, credits, spendLimit, held) => {
    const mine = await openLimited(credits, spendLimit);
    const one = place(mine, 10n);
    await run(one);
    expect(await run(extend(one.holdId, 20n, DEADLINE, 100n))).toMatchObject([
      { code: DONE, heldCredits: held },
    ]);
    expect(await heldOf(mine)).toBe(held);
    // Told twice, it is as large as it is.
    expect(await run(extend(one.holdId, held, DEADLINE, held))).toMatchObject([
      { code: DONE, heldCredits: held },
    ]);
  });

  test("is refused where the least does not fit, and the hold is as it was", async () => {
    const mine = await openWallet(ledger.billing, 100n);
    const key = { ...mine, spenderId: await putSpender(ledger.billing, mine.accountId, { capCredits: 19n }) };
    const one = place(key, 10n);
    await run(one);
    expect(await run(extend(one.holdId, 20n, DEADLINE, 100n))).toMatchObject([
      { code: SPEND_LIMIT_EXCEEDED, heldCredits: 0n },
    ]);
    expect(await heldOf(mine)).toBe(10n);
  });
});
