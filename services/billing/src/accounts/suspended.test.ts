// A suspended account spends nothing more, by any of its keys, whoever asks first; what runs already ends as ever.
import { randomUUID } from "node:crypto";
import { OutcomeCode } from "@gr/proto/billing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling } from "../test/start-billing.ts";
import { capture, extend, openAccount, openWallet, place, postOne, putSpender } from "../test/wallet.ts";

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
afterAll(() => ledger.stopSound());

const suspend = (accountId: string, suspended = true) =>
  ledger.billing.setSuspended({ accountId, suspended });
const suspended = { code: OutcomeCode.SPENDER_INACTIVE, suspended: true };
const codeOf = async (operation: Parameters<typeof postOne>[1]) =>
  (await postOne(ledger.billing, operation)).code;

test("nothing is placed or grows, by any key, until it may spend again", async () => {
  const mine = await openWallet(ledger.billing, 1_000n);
  const other = { ...mine, spenderId: await putSpender(ledger.billing, mine.accountId) };
  const running = place(mine, 100n);
  expect(await codeOf(running)).toBe(OutcomeCode.DONE);
  await suspend(mine.accountId);
  await suspend(mine.accountId);
  for (const wallet of [mine, other]) {
    expect(await postOne(ledger.billing, place(wallet, 1n))).toMatchObject(suspended);
    expect((await ledger.billing.checkSpender(wallet)).outcome).toMatchObject(suspended);
  }
  expect(await postOne(ledger.billing, extend(running.holdId, 200n))).toMatchObject(suspended);
  // Whoever has no right to know is told no more than before.
  const deleted = await putSpender(ledger.billing, mine.accountId, { active: false });
  const stranger = await openWallet(ledger.billing, 10n);
  for (const spenderId of [deleted, stranger.spenderId, randomUUID()]) {
    const payer = { accountId: mine.accountId, spenderId };
    expect(await postOne(ledger.billing, place(payer, 1n))).toMatchObject({ ...suspended, suspended: false });
    expect((await ledger.billing.checkSpender(payer)).outcome).toMatchObject({
      ...suspended,
      suspended: false,
    });
  }
  expect(await codeOf(capture(running.holdId, 40n))).toBe(OutcomeCode.DONE);
  expect(await ledger.billing.getCredits({ accountId: mine.accountId })).toMatchObject({
    suspended: true,
    remainingCredits: 960n,
    heldCredits: 0n,
  });
  await suspend(mine.accountId, false);
  expect(await codeOf(place(other, 1n))).toBe(OutcomeCode.DONE);
});

test("another account is not touched, and one that does not exist is not found", async () => {
  const [mine, theirs] = [await openAccount(ledger.billing, 10n), await openWallet(ledger.billing, 10n)];
  await suspend(mine);
  expect(await codeOf(place(theirs, 1n))).toBe(OutcomeCode.DONE);
  await expect(suspend(randomUUID())).rejects.toMatchObject({ reason: "account_not_found" });
});

test("of many that are placed at the same moment, none comes after the word that it is suspended", async () => {
  const mine = await openWallet(ledger.billing, 1_000_000n);
  const early = Array.from({ length: 20 }, () => codeOf(place(mine, 1n)));
  await suspend(mine.accountId);
  const late = await Promise.all(Array.from({ length: 20 }, () => codeOf(place(mine, 1n))));
  expect(new Set(late)).toEqual(new Set([OutcomeCode.SPENDER_INACTIVE]));
  const done = (await Promise.all(early)).filter((code) => code === OutcomeCode.DONE).length;
  const { heldCredits } = await ledger.billing.getCredits({ accountId: mine.accountId });
  expect(heldCredits).toBe(BigInt(done));
});
