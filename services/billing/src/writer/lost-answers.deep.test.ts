// F8: PostgreSQL has committed a batch, and the connection is reset before its answer has come. Callers learn that nobody
// knows, ask again under the same id, and find done what was done: nothing is lost and nothing is doubled.
import { type Outcome, OutcomeCode } from "@gr/proto/billing";
import { DatabaseAddress } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  type BillingProcess,
  type BillingUnderTest,
  startBilling,
  startBillingOn,
} from "../test/start-billing.ts";
import { capture, claiming, type OperationInit, openWallet, place, postOne } from "../test/wallet.ts";

const { DONE, CLAIM_IN_PROGRESS } = OutcomeCode;
const UNKNOWN = { reason: "billing_unavailable" };
/** Names of the statements that store steps, as the driver sends them. */
const STEPS = "\0insert_steps\0";
const STEPS_AND_CLAIMS = "\0insert_all\0";
const REQUESTS = 200;
/** After so many that are done, an answer is lost. */
const EVERY = 20;

let ledger: BillingUnderTest;
let address: DatabaseAddress;
let far: BillingProcess;
beforeAll(async () => {
  ledger = await startBilling();
  address = await DatabaseAddress.to(ledger.url);
  far = await startBillingOn(address.url, ledger.clock);
});
afterAll(async () => {
  await far?.stop();
  await address?.close();
  await ledger.stopSound();
});

const heldOf = async (accountId: string) => (await ledger.inProcess.getCredits({ accountId })).heldCredits;

test("a place, its capture and its claim are done though the answer is lost, and done once", async () => {
  const mine = await openWallet(ledger.inProcess, 1_000n);
  const hold = claiming(mine, 100n, "k");
  address.loseAnswers(STEPS_AND_CLAIMS, 1);
  await expect(postOne(far.inProcess, hold)).rejects.toMatchObject(UNKNOWN);
  expect(await heldOf(mine.accountId)).toBe(100n);
  expect((await postOne(far.inProcess, hold)).code).toBe(DONE);
  expect((await postOne(far.inProcess, claiming(mine, 100n, "k"))).code).toBe(CLAIM_IN_PROGRESS);

  address.loseAnswers(STEPS, 1);
  await expect(postOne(far.inProcess, capture(hold.holdId, 30n))).rejects.toMatchObject(UNKNOWN);
  expect((await postOne(far.inProcess, capture(hold.holdId, 30n))).code).toBe(DONE);
  expect(await ledger.inProcess.getCredits({ accountId: mine.accountId })).toMatchObject({
    remainingCredits: 970n,
    heldCredits: 0n,
  });
});

test("again and again under load, whoever asks until there is an answer is charged once", async () => {
  const mine = await openWallet(ledger.inProcess, 100_000n);
  let lost = 0;
  let done = 0;
  const persist = async (operation: OperationInit): Promise<Outcome> => {
    for (;;) {
      try {
        const outcome = await postOne(far.inProcess, operation);
        done += 1;
        // Only after something was done, so that not every answer is lost.
        if (done % EVERY === 0) address.loseAnswers(STEPS, 1);
        return outcome;
      } catch (error) {
        expect(error).toMatchObject(UNKNOWN);
        lost += 1;
      }
    }
  };
  const request = async () => {
    const hold = place(mine, 100n);
    expect((await persist(hold)).code).toBe(DONE);
    expect((await persist(capture(hold.holdId, 30n))).code).toBe(DONE);
  };
  await Promise.all(Array.from({ length: REQUESTS }, request));
  expect(lost).toBeGreaterThan(0);
  expect(await ledger.inProcess.getCredits({ accountId: mine.accountId })).toMatchObject({
    remainingCredits: 100_000n - BigInt(REQUESTS) * 30n,
    heldCredits: 0n,
  });
});
