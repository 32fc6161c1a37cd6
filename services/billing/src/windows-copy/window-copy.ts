// Window copy owns the part of an account that one budget spends from: totals of the account, and the current windows of the budget's
// chain. It has no holds, so it can show that a place is hopeless and cannot admit one.
import { type Account, chainOf, checkSpender, type Facts, type Id, newAccount, type Step } from "@gr/ledger";
import { addBudget } from "../chain/state-text.ts";

export interface WindowCopy {
  /** Lowest budget of the chain. */
  readonly budgetId: Id;
  /** State after its latest step, with the budgets of the chain alone. */
  readonly account: Account;
}

const NO_FACTS: Facts = { absentHolds: new Set(), claims: new Map() };

/** @returns the lowest budgets that these steps count in */
export function lowestBudgets({ budgets }: Account, steps: readonly Step[]): Id[] {
  const numbers = new Set(steps.flatMap(({ budgets: [lowest] }) => lowest?.budget ?? []));
  return Array.from(numbers).flatMap((no) => budgets[no - 1]?.definition.id ?? []);
}

export function copyOf(account: Account, budgetId: Id): WindowCopy {
  const { budgets: _budgets, budgetNumbers: _numbers, open: _open, ended: _ended, ...totals } = account;
  const copy = Object.assign(newAccount(account.id), totals);
  for (const budget of chainOf(account, budgetId)) {
    const { window } = budget;
    const current = budget.totals.get(window);
    addBudget(copy, { ...budget, totals: new Map(current === undefined ? [] : [[window, current]]) });
  }
  return { budgetId, account: copy };
}

/** Neither balance nor limit has room for the smallest hold, even without other open holds. */
export function isUsedUp({ account, budgetId }: WindowCopy, now: number): boolean {
  const checked = checkSpender(account, { budgetId, credits: 0n }, NO_FACTS, now);
  if ("missing" in checked) return false;
  const { code } = checked.outcome;
  return code === "insufficient_credits" || code === "spend_limit_exceeded";
}
