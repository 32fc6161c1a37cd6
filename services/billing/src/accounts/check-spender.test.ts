// Whether a spender could pay for anything: as the smallest place would be refused, were no hold open.
import { randomUUID } from "node:crypto";
import { OutcomeCode } from "@gr/proto/billing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import * as wallet from "../test/wallet.ts";

const { DONE, INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED, SPENDER_EXPIRED, SPENDER_INACTIVE } = OutcomeCode;
const EXPIRY = BigInt(THURSDAY - 1);

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
afterAll(() => ledger.stopSound());

const check = async (who: wallet.Wallet, claimKey?: Uint8Array, credits = 0n) =>
  (await ledger.inProcess.checkSpender({ ...who, credits, ...(claimKey && { claimKey }) })).outcome;

test.each([
  ["that can pay for the least", 1n, {}, { code: DONE }],
  ["without credit", 0n, {}, { code: INSUFFICIENT_CREDITS }],
  ["with a cap of nothing", 9n, { capCredits: 0n }, { code: SPEND_LIMIT_EXCEEDED, availableCredits: 9n }],
  ["that is not active", 9n, { active: false }, { code: SPENDER_INACTIVE }],
  ["that has expired", 9n, { expiresAt: EXPIRY }, { code: SPENDER_EXPIRED, expiresAt: EXPIRY }],
] as const)("a spender %s is told so", async (_, credits, fields, answer) => {
  expect(await check(await wallet.openWallet(ledger.inProcess, credits, fields))).toMatchObject(answer);
});

test("a spender of another account, and one that does not exist, are inactive", async () => {
  const mine = await wallet.openWallet(ledger.inProcess, 9n);
  const other = await wallet.openWallet(ledger.inProcess, 9n);
  expect(await check({ ...mine, accountId: other.accountId })).toMatchObject({ code: SPENDER_INACTIVE });
  expect(await check({ ...mine, spenderId: randomUUID() })).toMatchObject({ code: SPENDER_INACTIVE });
});

test("open holds are no reason to refuse, and a key that is taken is none either; a free one is", async () => {
  const mine = await wallet.openWallet(ledger.inProcess, 9n);
  const paid = wallet.claiming(mine, 9n, "paid");
  await wallet.postOne(ledger.inProcess, paid);
  expect(await check(mine)).toMatchObject({ code: DONE });
  await wallet.postOne(ledger.inProcess, wallet.capture(paid.holdId, 9n));
  expect(await check(mine)).toMatchObject({ code: INSUFFICIENT_CREDITS });
  expect(await check(mine, wallet.claimOf("paid").key)).toMatchObject({ code: DONE });
  expect(await check(mine, wallet.claimOf("new").key)).toMatchObject({ code: INSUFFICIENT_CREDITS });
});

test("a spender is asked about a hold of a size: all its credit is enough, one more is not", async () => {
  const mine = await wallet.openWallet(ledger.inProcess, 9n);
  expect(await check(mine, undefined, 9n)).toMatchObject({ code: DONE });
  expect(await check(mine, undefined, 10n)).toMatchObject({
    code: INSUFFICIENT_CREDITS,
    availableCredits: 9n,
  });
  // Neither answer is remembered for holds of other sizes.
  expect(await check(mine, undefined, 9n)).toMatchObject({ code: DONE });
  expect(await check(mine)).toMatchObject({ code: DONE });
  const capped = await wallet.openWallet(ledger.inProcess, 9n, { capCredits: 5n });
  expect(await check(capped, undefined, 5n)).toMatchObject({ code: DONE });
  expect(await check(capped, undefined, 6n)).toMatchObject({ code: SPEND_LIMIT_EXCEEDED });
});
