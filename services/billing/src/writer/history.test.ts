// Random histories of the real service and of the fake service of other modules' tests: the same answers to the same calls,
// the same books, and books without a difference. The fake decides by `@gr/ledger`, so these histories prove its rules as well.
import { randomUUID } from "node:crypto";
import { FakeBilling } from "@gr/ledger-model";
import { ServiceError } from "@gr/proto";
import {
  BillingService,
  BudgetLevel,
  DepositStatus,
  OutcomeCode,
  ReleaseReason,
  SpendPeriod,
} from "@gr/proto/billing";
import { BudgetService } from "@gr/proto/budgets";
import { type RunningProcess, startProcess } from "@gr/runtime";
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { PERIODS } from "../rpc/message-names.ts";
import {
  ACCOUNTS,
  type HistoryAnswer,
  type HistoryOperation,
  history,
  OWNERS,
  type SpenderFields,
  type Step,
} from "../test/history-steps.ts";
import { lostCost } from "../test/ledger-store.ts";
import { type BillingClient, type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import * as wallet from "../test/wallet.ts";

const RUNS = byDepth({ quick: 40, deep: 400 });
/** A proof reads the books of all histories, so it covers each history since the proof before. */
const HISTORIES_OF_A_PROOF = 20;
const MOST_ROUNDS = 5;
const MOST_HOLDS = 1_000;
const LEASE_MS = 60_000n;
/** So that most places are not refused for want of it. */
const FIRST_DEPOSIT = 60n;
/** Credits of a day that two keys share. */
const SHARED_LIMIT = 70n;
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
/** Levels of budgets above keys that have refused; unspecified = a key, or no refusal. */
const refusingLevels = new Set<BudgetLevel>();

beforeAll(async () => {
  ledger = await startBilling({ FREE_REQUESTS_PER_DAY: String(FREE_LIMIT) });
});
afterAll(() => ledger.stop());

test("every history has the answers and the books of the fake, and books that add up", async () => {
  let histories = 0;
  const property = fc.asyncProperty(history, async ({ spenders, steps }) => {
    ledger.clock.set(THURSDAY);
    const world = await openWorld(spenders);
    try {
      for (const one of steps) await world.take(one);
      await world.compareBooks();
    } finally {
      await world.close();
    }
    histories += 1;
    if (histories % HISTORIES_OF_A_PROOF === 0) await expectSoundBooks();
  });
  const missing = () => RARE.filter((code) => !seen.has(code));
  // Chance may leave out one of them, but not again and again.
  for (let round = 1; round === 1 || (missing().length > 0 && round <= MOST_ROUNDS); round += 1) {
    await fc.assert(property, { numRuns: RUNS });
  }
  await expectSoundBooks();
  expect(missing()).toEqual([]);
  expect([...refusingLevels].sort()).toEqual([BudgetLevel.UNSPECIFIED, BudgetLevel.CUSTOMER]);
});

async function expectSoundBooks(): Promise<void> {
  const { differences } = await ledger.inProcess.verifyLedger({}, { timeoutMs: 120_000 });
  expect(differences).toEqual([]);
}

/** Fresh accounts and spenders, in billing and in the fake. */
async function openWorld(fields: readonly SpenderFields[]) {
  const fake = new FakeBilling({ clock: ledger.clock, freeLimit: FREE_LIMIT });
  const beside = await startFake(fake);
  const billing = beside.dial("billing", BillingService);
  const accountIds = Array.from({ length: ACCOUNTS }, () => randomUUID());
  const spenderIds = OWNERS.map(() => randomUUID());
  const spenderFields = OWNERS.map((_, index) => fields[index] ?? noFields());
  const holdIds: string[] = [];
  /** Of this history only, so that its leases are. */
  const service = randomUUID();
  const id = (ids: readonly string[], index: number) => ids[index] ?? "";

  /** Asks both. @returns the answer; or, of both alike, the refusal */
  const both = async <Answer>(
    ask: (billing: BillingClient) => Promise<Answer>,
  ): Promise<Answer | undefined> => {
    const [real, faked] = [await outcomeOf(ask(ledger.inProcess)), await outcomeOf(ask(billing))];
    expect(faked).toEqual(real);
    return "answer" in real ? real.answer : undefined;
  };
  // Two keys of the first account share a budget: one from its beginning, the other from its first change.
  const [shared, budgetsBeside] = [randomUUID(), beside.dial("billing", BudgetService)];
  let below: readonly number[] = [1];
  const ofFirst = { accountId: id(accountIds, 0) };
  const bothBudgets = async <Answer>(ask: (budgets: typeof budgetsBeside) => Promise<Answer>) => {
    expect(await ask(budgetsBeside)).toEqual(await ask(ledger.budgets));
  };
  const putSpender = (index: number) => {
    const { cap, period, expiresAt, active } = spenderFields[index] ?? noFields();
    return both((to) =>
      wallet.putSpender(to, id(accountIds, OWNERS[index] ?? 0), {
        spenderId: id(spenderIds, index),
        ...(cap === undefined ? {} : { capCredits: cap }),
        period: PERIODS[period],
        ...(expiresAt === undefined ? {} : { expiresAt: BigInt(expiresAt) }),
        active,
        parentId: below.includes(index) ? shared : "",
      }),
    );
  };
  const message = (one: HistoryOperation): wallet.OperationInit => {
    const holdId = id(holdIds, one.hold);
    switch (one.kind) {
      case "place": {
        const from = { accountId: id(accountIds, one.account), spenderId: id(spenderIds, one.spender) };
        const claim = one.claim && wallet.claimOf(`${one.claim.key}`, `${one.claim.content}`);
        return wallet.place(from, one.credits, {
          holdId,
          service,
          ...(claim && { claim }),
          ...(one.most === undefined ? {} : { mostCredits: one.most }),
        });
      }
      case "capture":
        return wallet.capture(holdId, one.credits, one.cost);
      case "extend":
        return wallet.extend(holdId, one.credits, undefined, one.most);
      case "next":
        return wallet.nextAttempt(holdId, one.attempt, one.cost, undefined, one.billedBy);
      default:
        return wallet.release(holdId, one.cost, reasonOf(one.kind), one.provider);
    }
  };
  const deposit = async (account: number, credits: bigint, refund: boolean) => {
    const [depositId, accountId] = [randomUUID(), id(accountIds, account)];
    const put = (status: DepositStatus) =>
      both((to) => to.putDeposit({ depositId, accountId, credits, status, source: "test" }));
    await put(DepositStatus.COMPLETED);
    if (refund) await put(DepositStatus.REFUNDED);
  };
  const holdOf = (hold: number, fresh = false) =>
    fresh || holdIds.length === 0 ? holdIds.push(randomUUID()) - 1 : hold % holdIds.length;
  const placedBy = new Map<number, number>();
  /** Steps refuse the hold of another account in one bucket only. No client chooses the id of a hold. */
  const isForeign = (one: HistoryOperation, hold: number) =>
    one.kind === "place" && (placedBy.get(hold) ?? one.account) !== one.account;
  /** About the hold that is meant; and whoever keeps an answer captures with what it says. */
  const meant = ({ fresh, ...one }: HistoryOperation): HistoryOperation => {
    const named = holdOf(one.hold, fresh);
    const hold = isForeign(one, named) ? holdOf(0, true) : named;
    if (one.kind === "place") placedBy.set(hold, placedBy.get(hold) ?? one.account);
    const kept = fake.hold(id(holdIds, hold))?.kept;
    if (one.kind !== "capture" || kept === undefined) return { ...one, hold };
    return { ...one, credits: kept.credits, cost: kept.costPicoUsd, hold };
  };
  const keep = async (hold: number, { credits, cost: costPicoUsd }: HistoryAnswer) => {
    const holdId = id(holdIds, hold);
    const body = Buffer.from(`${credits} ${costPicoUsd}`);
    await both((to) => to.keepAnswer({ holdId, credits, costPicoUsd, contentType: "text/plain", body }));
  };

  for (const accountId of accountIds) await both((to) => to.openAccount({ accountId }));
  for (const account of accountIds.keys()) await deposit(account, FIRST_DEPOSIT, false);
  const terms = { level: BudgetLevel.CUSTOMER, name: "shared", period: SpendPeriod.DAY };
  const limit = { case: "limitCredits", value: SHARED_LIMIT } as const;
  await bothBudgets((to) => to.putBudget({ ...ofFirst, budgetId: shared, ...terms, limit }));
  for (const index of OWNERS.keys()) await putSpender(index);
  return {
    close: () => beside.stop(),
    async take(one: Step): Promise<void> {
      switch (one.step) {
        case "clock":
          return ledger.clock.advance(one.ms);
        case "spender":
          spenderFields[one.index] = { ...(spenderFields[one.index] ?? noFields()), ...one.change };
          if (one.index === 0) below = [0, 1];
          await putSpender(one.index);
          return;
        case "deposit":
          return deposit(one.account, one.credits, one.refund);
        case "adjustment": {
          const [adjustmentId, accountId] = [randomUUID(), id(accountIds, one.account)];
          const { credits } = one;
          await both((to) => to.putAdjustment({ adjustmentId, accountId, credits, reason: "test" }));
          return;
        }
        case "suspend": {
          const [accountId, { suspended }] = [id(accountIds, one.account), one];
          await both((to) => to.setSuspended({ accountId, suspended }));
          return;
        }
        case "keep":
          return keep(holdOf(one.hold), one.answer);
        case "read": {
          const [accountId, holdId] = [id(accountIds, one.account), id(holdIds, holdOf(one.hold))];
          await both((to) => to.readAnswer({ accountId, holdId }));
          return;
        }
        case "judge": {
          const accountId = id(accountIds, one.account);
          const spenderId = id(spenderIds, one.spender);
          const claim = wallet.claimOf(`${one.claim.key}`, `${one.claim.content}`);
          await both((to) => to.judgeClaim({ accountId, spenderId, claim }));
          return;
        }
        case "check": {
          const accountId = id(accountIds, one.account);
          const spenderId = id(spenderIds, one.spender);
          const claimKey = one.claim && wallet.claimOf(`${one.claim.key}`).key;
          const { credits } = one;
          await both((to) =>
            to.checkSpender({ accountId, spenderId, credits, ...(claimKey && { claimKey }) }),
          );
          return;
        }
        case "lease":
          await both((to) => to.leaseExpiredHolds({ service, limit: MOST_HOLDS, leaseMs: LEASE_MS }));
          return;
        case "post": {
          const operations = one.operations.map(meant).map(message);
          const answer = await both((to) => to.post({ operations }));
          for (const { code, budgetLevel } of answer?.outcomes ?? []) {
            seen.set(code, (seen.get(code) ?? 0) + 1);
            refusingLevels.add(budgetLevel);
          }
        }
      }
    },
    async compareBooks(): Promise<void> {
      for (const accountId of accountIds) {
        await both((to) => to.getCredits({ accountId, bySpender: true }));
        await both((to) => to.listHolds({ accountId, limit: MOST_HOLDS }));
      }
      await bothBudgets((to) => to.listBudgets(ofFirst));
      expect(fake.lost).toBe(await lostCost(ledger.db, accountIds));
    },
  };
}

function startFake({ module }: FakeBilling): Promise<RunningProcess> {
  return startProcess([module], {
    env: {
      INTERNAL_AUTH_SECRET: "internal-secret-of-the-billing-tests-0123456789",
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      LOG_LEVEL: "silent",
    },
    clock: ledger.clock,
  });
}

async function outcomeOf<Answer>(
  asked: Promise<Answer>,
): Promise<{ answer: Answer } | { reason: string; param: string | undefined }> {
  try {
    return { answer: await asked };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { reason: error.reason, param: error.param };
  }
}

function reasonOf(kind: "release" | "abandon"): ReleaseReason {
  return kind === "abandon" ? ReleaseReason.UNRESOLVED : ReleaseReason.FAILED;
}

function noFields(): SpenderFields {
  return { cap: undefined, period: "lifetime", expiresAt: undefined, active: true };
}
