// Accounts, spenders and deposits: what is written, what is kept, what is refused.
import { randomUUID } from "node:crypto";
import { DepositStatus, EntryKind, OutcomeCode, SpendPeriod } from "@gr/proto/billing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type BillingUnderTest, startBilling, startBillingOn, THURSDAY } from "../test/start-billing.ts";
import { capture, openAccount, openWallet, place, postOne, putSpender } from "../test/wallet.ts";

const { PENDING, COMPLETED, FAILED, REFUNDED } = DepositStatus;

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
afterAll(() => ledger.stopSound());

async function deposited(accountId: string): Promise<bigint> {
  return (await ledger.billing.getCredits({ accountId })).depositedCredits;
}

describe("an account", () => {
  test("opened again keeps its money", async () => {
    const accountId = await openAccount(ledger.billing, 70n);
    await ledger.billing.openAccount({ accountId: accountId.toUpperCase() });
    expect(await deposited(accountId)).toBe(70n);
  });

  test("that does not exist has no credits, deposits or spenders", async () => {
    const accountId = randomUUID();
    const missing = { reason: "account_not_found", param: "account_id" };
    await expect(ledger.billing.getCredits({ accountId })).rejects.toMatchObject(missing);
    await expect(putSpender(ledger.billing, accountId)).rejects.toMatchObject(missing);
    const deposit = { depositId: randomUUID(), accountId, credits: 1n, status: COMPLETED, source: "test" };
    await expect(ledger.billing.putDeposit(deposit)).rejects.toMatchObject(missing);
    const adjustment = { adjustmentId: randomUUID(), accountId, credits: 1n, reason: "test" };
    await expect(ledger.billing.putAdjustment(adjustment)).rejects.toMatchObject(missing);
  });
});

describe("a deposit", () => {
  async function start(status: DepositStatus) {
    const accountId = await openAccount(ledger.billing, 0n);
    const depositId = randomUUID();
    const put = (next: DepositStatus, credits = 500n, account = accountId) =>
      ledger.billing.putDeposit({ depositId, accountId: account, credits, status: next, source: "test" });
    // Only what has come can go back.
    if (status === REFUNDED) await put(COMPLETED);
    await put(status);
    return { accountId, depositId, put };
  }

  test("counts while it is COMPLETED and at no other time", async () => {
    const { accountId, put } = await start(PENDING);
    expect(await deposited(accountId)).toBe(0n);
    await put(FAILED);
    expect(await deposited(accountId)).toBe(0n);
    await put(COMPLETED);
    expect(await deposited(accountId)).toBe(500n);
    await put(REFUNDED);
    expect(await deposited(accountId)).toBe(0n);
  });

  test.each([PENDING, COMPLETED, FAILED, REFUNDED])(
    "with status %s again changes nothing",
    async (status) => {
      const { accountId, put } = await start(status);
      const before = await deposited(accountId);
      await Promise.all([put(status), put(status)]);
      expect(await deposited(accountId)).toBe(before);
      expect(before).toBe(status === COMPLETED ? 500n : 0n);
    },
  );

  test("that was PENDING takes nothing back when it is REFUNDED", async () => {
    const { accountId, put } = await start(PENDING);
    const other = { depositId: randomUUID(), accountId, credits: 70n, status: COMPLETED, source: "test" };
    await ledger.billing.putDeposit(other);
    await put(REFUNDED);
    await put(REFUNDED);
    expect(await deposited(accountId)).toBe(70n);
    expect((await ledger.billing.verifyLedger({})).differences).toEqual([]);
  });

  test("sent many times at once counts once", async () => {
    const accountId = await openAccount(ledger.billing, 0n);
    const deposit = { depositId: randomUUID(), accountId, credits: 9n, status: COMPLETED, source: "test" };
    await Promise.all(Array.from({ length: 10 }, () => ledger.billing.putDeposit(deposit)));
    expect(await deposited(accountId)).toBe(9n);
  });

  test.each([
    [COMPLETED, PENDING],
    [COMPLETED, FAILED],
    [REFUNDED, COMPLETED],
    [REFUNDED, PENDING],
    [FAILED, PENDING],
    [FAILED, REFUNDED],
  ])("that has status %s cannot get %s", async (before, after) => {
    const { put } = await start(before);
    await expect(put(after)).rejects.toMatchObject({ reason: "invalid_value", param: "status" });
  });

  test("that nobody knows cannot be refunded, and comes as if nothing had been said", async () => {
    const accountId = await openAccount(ledger.billing, 70n);
    const deposit = { depositId: randomUUID(), accountId, credits: 500n, source: "test" };
    const put = (status: DepositStatus) => ledger.billing.putDeposit({ ...deposit, status });
    const refused = { reason: "invalid_value", param: "deposit_id" };
    const known = () =>
      ledger.db.query(
        "SELECT id FROM deposit_report WHERE id = $1 UNION ALL SELECT id FROM step WHERE id = $1",
        [deposit.depositId],
      );
    for (let round = 0; round < 2; round += 1) {
      await expect(put(REFUNDED)).rejects.toMatchObject(refused);
      expect((await known()).rowCount).toBe(0);
      expect(await deposited(accountId)).toBe(70n);
    }
    await put(COMPLETED);
    expect(await deposited(accountId)).toBe(570n);
    await put(REFUNDED);
    expect(await deposited(accountId)).toBe(70n);
  });

  test("keeps its account and amount", async () => {
    const { accountId, put } = await start(COMPLETED);
    const other = await openAccount(ledger.billing, 0n);
    const refused = { reason: "invalid_value", param: "deposit_id" };
    await expect(put(REFUNDED, 499n)).rejects.toMatchObject(refused);
    await expect(put(COMPLETED, 500n, other)).rejects.toMatchObject(refused);
    expect(await deposited(accountId)).toBe(500n);
    expect(await deposited(other)).toBe(0n);
  });

  test("may be refunded after it was spent, and the account then owes", async () => {
    const { accountId, put } = await start(COMPLETED);
    const mine = { accountId, spenderId: await putSpender(ledger.billing, accountId) };
    const hold = place(mine, 400n);
    await postOne(ledger.billing, hold);
    await postOne(ledger.billing, capture(hold.holdId, 400n));
    await put(REFUNDED);
    const { depositedCredits, remainingCredits } = await ledger.billing.getCredits({ accountId });
    expect({ depositedCredits, remainingCredits }).toEqual({ depositedCredits: 0n, remainingCredits: -400n });
  });
});

describe("an adjustment", () => {
  async function start(credits: bigint) {
    const accountId = await openAccount(ledger.billing, 100n);
    const adjustment = { adjustmentId: randomUUID(), accountId, credits, reason: "goodwill, ticket 812" };
    const put = (fields: Partial<typeof adjustment> = {}) =>
      ledger.billing.putAdjustment({ ...adjustment, ...fields });
    const balance = async (id = accountId) => {
      const read = await ledger.billing.getCredits({ accountId: id });
      return { deposited: read.depositedCredits, remaining: read.remainingCredits };
    };
    return { ...adjustment, put, balance };
  }

  test.each([25n, -25n, -250n])(
    "of %s changes what remains once, however often it is sent",
    async (credits) => {
      const { put, balance } = await start(credits);
      await Promise.all(Array.from({ length: 10 }, () => put()));
      await put();
      expect(await balance()).toEqual({ deposited: 100n, remaining: 100n + credits });
    },
  );

  test("gives credit that can be spent, and takes credit that cannot be spent any more", async () => {
    const { put, accountId } = await start(50n);
    const mine = { accountId, spenderId: await putSpender(ledger.billing, accountId) };
    await put();
    expect((await postOne(ledger.billing, place(mine, 150n))).code).toBe(OutcomeCode.DONE);
    await put({ adjustmentId: randomUUID(), credits: -20n });
    expect(await postOne(ledger.billing, place(mine, 1n))).toMatchObject({
      code: OutcomeCode.INSUFFICIENT_CREDITS,
      inFlight: true,
    });
  });

  test("keeps its account, amount and reason", async () => {
    const { put, balance } = await start(50n);
    await put();
    const other = await openAccount(ledger.billing, 0n);
    for (const fields of [{ credits: 51n }, { credits: -50n }, { reason: "another" }, { accountId: other }]) {
      await expect(put(fields)).rejects.toMatchObject({ reason: "invalid_value", param: "adjustment_id" });
    }
    expect(await balance()).toEqual({ deposited: 100n, remaining: 150n });
    expect(await balance(other)).toEqual({ deposited: 0n, remaining: 0n });
  });

  test("of one id for two accounts in two processes at the same time is booked in one account", async () => {
    const second = await startBillingOn(ledger.url, ledger.clock);
    try {
      const accounts = [await openAccount(ledger.billing, 0n), await openAccount(ledger.billing, 0n)];
      const adjustmentId = randomUUID();
      const blocked = await ledger.blockSteps();
      const puts = accounts.map((accountId, index) =>
        (index === 0 ? ledger : second).billing.putAdjustment({
          ...{ adjustmentId, accountId, credits: 7n, reason: "goodwill" },
        }),
      );
      const settled = Promise.allSettled(puts);
      await ledger.waitForLocks(2);
      await blocked.unblock();
      const outcomes = await settled;
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      const refused = outcomes.find(({ status }) => status === "rejected");
      expect(refused).toMatchObject({ reason: { reason: "invalid_value", param: "adjustment_id" } });
      const credits = await Promise.all(
        accounts.map(async (accountId) => (await ledger.billing.getCredits({ accountId })).remainingCredits),
      );
      expect(credits.toSorted()).toEqual([0n, 7n]);
    } finally {
      await second.stop();
    }
  });

  test("is an entry of the statement, with its reason", async () => {
    const { put, adjustmentId, accountId } = await start(-30n);
    await put();
    const { entries } = await ledger.reports.listEntries({ accountId, kind: EntryKind.ADJUSTMENT });
    expect(entries).toMatchObject([
      { credits: -30n, bookingId: adjustmentId, reason: "goodwill, ticket 812" },
    ]);
  });
});

/** What the writer of an older revision is told. */
const OVERTAKEN = { reason: "invalid_value", param: "spender.revision" };

describe("a spender", () => {
  test("is answered as it was put, oldest first, also when it is switched off", async () => {
    const accountId = await openAccount(ledger.billing, 0n);
    const newer = { spenderId: randomUUID(), createdAt: BigInt(THURSDAY + 5), active: false, name: "Ünï 😀" };
    const older = {
      spenderId: randomUUID(),
      createdAt: BigInt(THURSDAY),
      capCredits: 0n,
      period: SpendPeriod.WEEK,
      expiresAt: BigInt(THURSDAY + 99),
    };
    await putSpender(ledger.billing, accountId, newer);
    await putSpender(ledger.billing, accountId, older);
    const { usage } = await ledger.billing.getCredits({ accountId, bySpender: true });
    expect(usage).toMatchObject([
      {
        spender: { ...older, accountId, active: true },
        usedCredits: 0n,
        requests: 0n,
        windowUsedCredits: 0n,
      },
      { spender: { ...newer, accountId }, usedCredits: 0n },
    ]);
    expect(usage[1]?.spender?.capCredits).toBeUndefined();
    expect(usage[1]?.spender?.expiresAt).toBeUndefined();
    const { usage: none } = await ledger.billing.getCredits({ accountId });
    expect(none).toEqual([]);
  });

  test("of another account with the same id is another spender", async () => {
    const mine = await openWallet(ledger.billing, 10n, { revision: 5n });
    const other = await openAccount(ledger.billing, 10n);
    for (const revision of [4n, 5n, 6n]) {
      await putSpender(ledger.billing, other, { spenderId: mine.spenderId, revision, active: false });
    }
    expect((await postOne(ledger.billing, place(mine, 1n))).code).toBe(OutcomeCode.DONE);
    const theirs = { accountId: other, spenderId: mine.spenderId };
    expect((await postOne(ledger.billing, place(theirs, 1n))).code).toBe(OutcomeCode.SPENDER_INACTIVE);
    const { usage } = await ledger.billing.getCredits({ accountId: other, bySpender: true });
    expect(usage.map(({ spender }) => spender?.accountId)).toEqual([other]);
  });

  test("that was switched off stays off: an older write of it is refused, however often it arrives", async () => {
    const mine = await openWallet(ledger.billing, 100n, {
      capCredits: 50n,
      period: SpendPeriod.DAY,
      revision: 1n,
    });
    const hold = place(mine, 30n);
    await postOne(ledger.billing, hold);
    await postOne(ledger.billing, capture(hold.holdId, 30n));
    const put = (fields: object) => putSpender(ledger.billing, mine.accountId, { ...mine, ...fields });
    const usage = async () =>
      (await ledger.billing.getCredits({ accountId: mine.accountId, bySpender: true })).usage;
    const off = { capCredits: 50n, period: SpendPeriod.DAY, active: false, revision: 3n };
    await put(off);
    const before = await usage();
    expect(before).toMatchObject([{ spender: { ...off, ...mine }, windowUsedCredits: 30n }]);
    // All of what a late write could spoil: switch, cap, and a window that begins anew.
    const late = { name: "late", capCredits: 10_000n, period: SpendPeriod.MONTH, active: true };
    for (const revision of [2n, 1n, 0n, 2n]) {
      await expect(put({ ...late, revision })).rejects.toMatchObject(OVERTAKEN);
    }
    await put(off);
    expect(await usage()).toEqual(before);
    expect((await postOne(ledger.billing, place(mine, 1n))).code).toBe(OutcomeCode.SPENDER_INACTIVE);
    await put({ ...off, active: true, revision: 4n });
    expect((await postOne(ledger.billing, place(mine, 21n))).code).toBe(OutcomeCode.SPEND_LIMIT_EXCEEDED);
    expect((await postOne(ledger.billing, place(mine, 20n))).code).toBe(OutcomeCode.DONE);
  });

  test("is what its highest revision says, in whatever order its writes arrive", async () => {
    const accountId = await openAccount(ledger.billing, 0n);
    const revisions = Array.from({ length: 8 }, (_, index) => BigInt(index + 1));
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(revisions, { minLength: 2 }),
        fc.boolean(),
        async (order, together) => {
          const spenderId = randomUUID();
          const put = (revision: bigint) =>
            putSpender(ledger.billing, accountId, { spenderId, revision, capCredits: revision * 10n });
          const refused = (error: unknown) => expect(error).toMatchObject(OVERTAKEN);
          if (together) await Promise.all(order.map((revision) => put(revision).catch(refused)));
          else for (const revision of order) await put(revision).catch(refused);
          const { usage } = await ledger.billing.getCredits({ accountId, bySpender: true });
          const newest = revisions.findLast((revision) => order.includes(revision)) ?? 0n;
          expect(usage.find(({ spender }) => spender?.spenderId === spenderId)?.spender).toMatchObject({
            revision: newest,
            capCredits: newest * 10n,
          });
        },
      ),
      { numRuns: 40 },
    );
  });

  test("that is switched off places nothing from the moment that this is answered", async () => {
    const mine = await openWallet(ledger.billing, 1_000_000n);
    let off = false;
    const after: OutcomeCode[] = [];
    const hammer = Array.from({ length: 8 }, async () => {
      for (let round = 0; round < 40; round += 1) {
        const begunAfter = off;
        const { code } = await postOne(ledger.billing, place(mine, 1n));
        if (begunAfter) after.push(code);
      }
    });
    await putSpender(ledger.billing, mine.accountId, { spenderId: mine.spenderId, active: false });
    off = true;
    await Promise.all(hammer);
    expect((await postOne(ledger.billing, place(mine, 1n))).code).toBe(OutcomeCode.SPENDER_INACTIVE);
    expect(new Set([...after, OutcomeCode.SPENDER_INACTIVE])).toEqual(
      new Set([OutcomeCode.SPENDER_INACTIVE]),
    );
  });
});
