// Random histories against the model: the same outcomes, the same balances, and books that add up after each.
import { randomUUID } from "node:crypto";
import { DepositStatus, OutcomeCode } from "@gr/proto/billing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { messageOfHoldState, messageOfPeriod } from "./message-names.ts";
import type { ModelAnswer } from "./test/claim-model.ts";
import { expectedOutcome } from "./test/expected-outcome.ts";
import { ACCOUNTS, type HistoryOperation, history, OWNERS, type Step } from "./test/history-steps.ts";
import type { SpenderFields } from "./test/hold-model.ts";
import { LedgerModel, type LedgerOperation } from "./test/ledger-model.ts";
import { lostCost } from "./test/lost-cost-store.ts";
import { type BillingUnderTest, startBilling, THURSDAY } from "./test/start-billing.ts";
import * as wallet from "./test/wallet.ts";

const RUNS = 80;
const MOST_ROUNDS = 5;
const MOST_HOLDS = 1_000;
/** So that most places are not refused for want of it. */
const FIRST_DEPOSIT = 60n;
/** Few enough to be used up. */
const FREE_LIMIT = 2;
/** Histories that never came to these would prove little. */
const RARE = [
  OutcomeCode.INSUFFICIENT_CREDITS,
  OutcomeCode.SPEND_LIMIT_EXCEEDED,
  OutcomeCode.FREE_LIMIT_EXCEEDED,
  OutcomeCode.CLAIM_IN_PROGRESS,
  OutcomeCode.CLAIM_MISMATCH,
  OutcomeCode.CLAIM_FINISHED,
];

let ledger: BillingUnderTest;
const seen = new Map<OutcomeCode, number>();
beforeAll(async () => {
  ledger = await startBilling({ FREE_REQUESTS_PER_DAY: String(FREE_LIMIT) });
});
afterAll(() => ledger.stop());

test("every history has the outcomes and balances of the model, and books that add up", async () => {
  const property = fc.asyncProperty(history, async ({ spenders, steps }) => {
    ledger.clock.set(THURSDAY);
    const world = await openWorld(spenders);
    for (const one of steps) await world.take(one);
    expect(await world.balances()).toEqual(world.expectedBalances());
    expect(await world.holds()).toEqual(world.expectedHolds());
    expect(await world.lost()).toBe(world.model.lost);
    const { differences } = await ledger.inProcess.verifyLedger({});
    expect(differences).toEqual([]);
  });
  const missing = () => RARE.filter((code) => !seen.has(code));
  // Chance may leave out one of them, but not again and again.
  for (let round = 1; round === 1 || (missing().length > 0 && round <= MOST_ROUNDS); round += 1) {
    await fc.assert(property, { numRuns: RUNS });
  }
  expect(missing()).toEqual([]);
}, 240_000);

/** Fresh accounts and spenders, in billing and in the model. */
async function openWorld(fields: readonly SpenderFields[]) {
  const billing = ledger.inProcess;
  const model = new LedgerModel(
    ACCOUNTS,
    OWNERS.map((account, index) => ({ account, fields: fields[index] ?? noFields() })),
    FREE_LIMIT,
  );
  const accountIds = Array.from({ length: ACCOUNTS }, () => randomUUID());
  const spenderIds = OWNERS.map(() => randomUUID());
  const holdIds: string[] = [];
  const id = (ids: readonly string[], index: number) => ids[index] ?? "";
  const idOfHold = (hold: number) => id(holdIds, hold);

  const putSpender = (index: number, { cap, period, expiresAt, active }: SpenderFields) =>
    wallet.putSpender(billing, id(accountIds, OWNERS[index] ?? 0), {
      spenderId: id(spenderIds, index),
      ...(cap === undefined ? {} : { capCredits: cap }),
      period: messageOfPeriod(period),
      ...(expiresAt === undefined ? {} : { expiresAt: BigInt(expiresAt) }),
      active,
    });
  const message = (one: LedgerOperation): wallet.OperationInit => {
    const holdId = id(holdIds, one.hold);
    switch (one.kind) {
      case "place": {
        const from = { accountId: id(accountIds, one.account), spenderId: id(spenderIds, one.spender) };
        const { claim } = one;
        return wallet.place(from, one.credits, {
          holdId,
          ...(claim === undefined ? {} : { claim: wallet.claimOf(`${claim.key}`, `${claim.content}`) }),
        });
      }
      case "capture":
        return wallet.capture(holdId, one.credits, one.cost);
      case "extend":
        return wallet.extend(holdId, one.credits);
      case "next":
        return wallet.nextAttempt(holdId, one.attempt, one.cost);
      default:
        return (one.kind === "abandon" ? wallet.abandon : wallet.release)(holdId, one.cost);
    }
  };
  const deposit = async (account: number, amount: bigint, refund: boolean) => {
    const depositId = await wallet.deposit(billing, id(accountIds, account), amount);
    if (!refund) return;
    const status = DepositStatus.REFUNDED;
    await billing.putDeposit({
      depositId,
      accountId: id(accountIds, account),
      credits: amount,
      status,
      source: "test",
    });
  };
  const modelAccount = (index: number) => {
    const account = model.accounts[index];
    if (account === undefined) throw new RangeError(`no account ${index}`);
    return account;
  };
  const holdOf = (hold: number, fresh = false) =>
    fresh || holdIds.length === 0 ? holdIds.push(randomUUID()) - 1 : hold % holdIds.length;
  /** About the hold that is meant; and whoever keeps an answer captures with what it says. */
  const meant = ({ fresh, ...one }: HistoryOperation): LedgerOperation => {
    const hold = holdOf(one.hold, fresh);
    return one.kind === "capture" ? { ...one, ...model.claims.kept(hold), hold } : { ...one, hold };
  };
  const bodyOf = (answer: ModelAnswer) => Buffer.from(`${answer.credits} ${answer.cost}`);
  const keep = async (hold: number, answer: ModelAnswer) => {
    const call = billing.keepAnswer({
      holdId: id(holdIds, hold),
      credits: answer.credits,
      costPicoUsd: answer.cost,
      contentType: "text/plain",
      body: bodyOf(answer),
    });
    if (model.claims.keep(hold, answer)) await call;
    else await expect(call).rejects.toMatchObject({ reason: "invalid_value", param: "hold_id" });
  };
  const read = async (account: number, hold: number) => {
    const expected = model.claims.read(account, hold, ledger.clock.now());
    const { answer } = await billing.readAnswer({
      accountId: id(accountIds, account),
      holdId: id(holdIds, hold),
    });
    expect(answer && Buffer.from(answer.body)).toEqual(expected && bodyOf(expected));
  };
  /** To the model, an adjustment is a deposit. */
  const adjusted = accountIds.map(() => 0n);
  const adjust = (account: number, amount: bigint) => {
    modelAccount(account).deposited += amount;
    adjusted[account] = (adjusted[account] ?? 0n) + amount;
    const adjustmentId = randomUUID();
    const accountId = id(accountIds, account);
    return billing.putAdjustment({ adjustmentId, accountId, credits: amount, reason: "test" });
  };

  for (const [account, accountId] of accountIds.entries()) {
    await billing.openAccount({ accountId });
    await wallet.deposit(billing, accountId, FIRST_DEPOSIT);
    modelAccount(account).deposited += FIRST_DEPOSIT;
  }
  for (let index = 0; index < OWNERS.length; index += 1) await putSpender(index, fields[index] ?? noFields());
  return {
    model,
    async take(one: Step) {
      switch (one.step) {
        case "clock":
          return ledger.clock.advance(one.ms);
        case "spender": {
          const changed = { ...(model.spenders[one.index]?.fields ?? noFields()), ...one.change };
          model.putSpender(one.index, changed);
          return putSpender(one.index, changed);
        }
        case "deposit":
          if (!one.refund) modelAccount(one.account).deposited += one.credits;
          return deposit(one.account, one.credits, one.refund);
        case "adjustment":
          return adjust(one.account, one.credits);
        case "keep":
          return keep(holdOf(one.hold), one.answer);
        case "read":
          return read(one.account, holdOf(one.hold));
        default: {
          const operations = one.operations.map(meant);
          const expected = operations.map((each) =>
            expectedOutcome(model.apply(each, ledger.clock.now()), idOfHold),
          );
          const { outcomes } = await billing.post({ operations: operations.map(message) });
          expect(outcomes).toMatchObject(expected);
          for (const { code } of outcomes) seen.set(code, (seen.get(code) ?? 0) + 1);
        }
      }
    },
    async balances() {
      const read = accountIds.map((accountId) => billing.getCredits({ accountId, bySpender: true }));
      return (await Promise.all(read)).map(({ depositedCredits, remainingCredits, heldCredits, usage }) => ({
        deposited: depositedCredits,
        remaining: remainingCredits,
        held: heldCredits,
        usage: usage
          .map(({ spender, usedCredits, requests }) => [spender?.spenderId, usedCredits, requests])
          .sort(),
      }));
    },
    /** By id. */
    async holds() {
      const read = accountIds.map((accountId) => billing.listHolds({ accountId, limit: MOST_HOLDS }));
      return new Map(
        (await Promise.all(read)).flatMap(({ holds }) =>
          holds.map(({ holdId, credits, state, chargedCredits, costPicoUsd, attempt, upstreamModel }) => [
            holdId,
            { credits, state, charge: chargedCredits, cost: costPicoUsd, attempt, upstreamModel },
          ]),
        ),
      );
    },
    expectedHolds: () =>
      new Map(
        [...model.holds].map(([hold, { amount, state, charge, cost, attempt }]) => [
          idOfHold(hold),
          {
            credits: amount,
            state: messageOfHoldState(state),
            charge,
            cost,
            attempt,
            upstreamModel: wallet.upstreamModelOf(attempt),
          },
        ]),
      ),
    lost: () => lostCost(ledger.db, accountIds),
    expectedBalances: () =>
      model.accounts.map((each, account) => ({
        deposited: each.deposited - (adjusted[account] ?? 0n),
        remaining: each.deposited - each.charged,
        held: each.held,
        usage: model.spenders
          .flatMap(({ account: owner, used, requests }, index) =>
            owner === account ? [[spenderIds[index], used, requests]] : [],
          )
          .sort(),
      })),
  };
}

function noFields(): SpenderFields {
  return { cap: undefined, period: "lifetime", expiresAt: undefined, active: true };
}
