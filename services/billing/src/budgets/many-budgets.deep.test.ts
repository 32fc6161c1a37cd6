// 10,000 budgets of three levels under one account, and 100 parallel requests at two processes: no level is above its limit.
import { randomUUID } from "node:crypto";
import { BudgetLevel, OutcomeCode } from "@gr/proto/billing";
import type { Budget } from "@gr/proto/budgets";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  type BillingProcess,
  type BillingUnderTest,
  startBilling,
  startBillingOn,
} from "../test/start-billing.ts";
import * as wallet from "../test/wallet.ts";

const CUSTOMERS = 999;
const KEYS = 9_000;
const PARALLEL = 100;
const ROUNDS = 40;
const LIMITS = { whole: 3_000n, customer: 6n, key: 5n };
const AT_ONCE = 500;

let ledger: BillingUnderTest;
let other: BillingProcess;
beforeAll(async () => {
  ledger = await startBilling();
  other = await startBillingOn(ledger.url, ledger.clock);
});
afterAll(async () => {
  await other?.stop();
  // Without statistics the planner compares each hold with each budget of its account.
  await ledger?.db.query("ANALYZE step");
  await ledger?.stopSound();
});

async function inGroups(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let first = 0; first < count; first += AT_ONCE) {
    const last = Math.min(first + AT_ONCE, count);
    await Promise.all(Array.from({ length: last - first }, (_, index) => work(first + index)));
  }
}

async function allBudgets(accountId: string): Promise<Budget[]> {
  const found: Budget[] = [];
  for (let more = true; more; ) {
    const page = { accountId, limit: 1_000, after: found.at(-1)?.budgetId ?? "" };
    const { budgets, hasMore } = await ledger.budgets.listBudgets(page);
    found.push(...budgets);
    more = hasMore;
  }
  return found;
}

test("no level is overrun, and each budget has the sum of the budgets below it", async () => {
  const accountId = await wallet.openAccount(ledger.inProcess, 1_000_000n);
  const [whole, ...customers] = Array.from({ length: CUSTOMERS + 1 }, () => randomUUID());
  const put = (budgetId: string, level: BudgetLevel, credits: bigint, parentId = "") =>
    ledger.budgets.putBudget({
      ...{ accountId, budgetId, level, name: "b", parentId },
      limit: { case: "limitCredits", value: credits },
    });
  await put(whole ?? "", BudgetLevel.ACCOUNT, LIMITS.whole);
  await inGroups(CUSTOMERS, (index) =>
    put(customers[index] ?? "", BudgetLevel.CUSTOMER, LIMITS.customer, whole),
  );
  const keys = Array.from({ length: KEYS }, () => randomUUID());
  await inGroups(KEYS, (index) => {
    const parentId = customers[index % CUSTOMERS] ?? "";
    const spender = { spenderId: keys[index] ?? "", parentId, capCredits: LIMITS.key };
    return wallet.putSpender(ledger.inProcess, accountId, spender);
  });

  const seen = new Map<string, number>();
  const request = async (number: number) => {
    const { billing } = number % 2 === 0 ? ledger : other;
    const spenderId = keys[(number * 7_919) % KEYS] ?? "";
    const credits = BigInt(1 + (number % 6));
    const place = wallet.place({ accountId, spenderId }, credits);
    const { code, budgetLevel } = await wallet.postOne(billing, place);
    const name = code === OutcomeCode.DONE ? "done" : `${code} ${budgetLevel}`;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    if (code !== OutcomeCode.DONE || number % 4 === 0) return;
    const end = number % 4 === 1 ? wallet.release(place.holdId) : wallet.capture(place.holdId, credits - 1n);
    await wallet.postOne(billing, end);
  };
  await Promise.all(
    Array.from({ length: PARALLEL }, async (_, client) => {
      for (let round = 0; round < ROUNDS; round += 1) await request(round * PARALLEL + client);
    }),
  );

  const budgets = await allBudgets(accountId);
  expect(budgets).toHaveLength(1 + CUSTOMERS + KEYS);
  const above = budgets.filter(({ usedCredits, heldCredits, limitCredits = 0n }) => {
    return usedCredits + heldCredits > limitCredits;
  });
  expect(above).toEqual([]);
  const below = new Map<string, readonly [bigint, bigint]>();
  for (const { parentId, usedCredits, heldCredits } of budgets) {
    const [used, held] = below.get(parentId) ?? [0n, 0n];
    below.set(parentId, [used + usedCredits, held + heldCredits]);
  }
  const parents = budgets.filter(({ level }) => level !== BudgetLevel.KEY);
  expect(parents.map(({ usedCredits, heldCredits }) => [usedCredits, heldCredits])).toEqual(
    parents.map(({ budgetId }) => below.get(budgetId)),
  );
  const { SPEND_LIMIT_EXCEEDED } = OutcomeCode;
  const refusals = [BudgetLevel.UNSPECIFIED, BudgetLevel.CUSTOMER, BudgetLevel.ACCOUNT];
  for (const level of refusals)
    expect(seen).toContainEqual([`${SPEND_LIMIT_EXCEEDED} ${level}`, expect.any(Number)]);
  expect(seen).toContainEqual(["done", expect.any(Number)]);
});
