// Window copy owns the part of an account that one budget spends from: totals of the account, and the current windows of the budget's
// chain. It has no holds, so it can show that a place is hopeless and cannot admit one.
import { type Account, checkSpender, type Facts, type Id, newAccount, type Step } from "@gr/ledger";
import { addBudget } from "../chain/state-text.ts";

export interface WindowCopy {
  /** Lowest budget of the chain. */
  readonly budgetId: Id;
  /** State after its latest step, with the budgets of the chain alone. */
  readonly account: Account;
}

const NO_FACTS: Facts = { absentHolds: new Set(), claims: new Map() };

/** @returns a copy for each lowest budget of the steps, which are the latest ones of the account */
export function copiesOf(account: Account, steps: readonly Step[]): WindowCopy[] {
  const chains = new Map(
    steps.flatMap(({ budgets: [lowest, ...above] }) =>
      lowest === undefined ? [] : [[lowest.budget, [lowest, ...above]]],
    ),
  );
  return Array.from(chains.values(), (chain) =>
    copyOf(
      account,
      chain.map(({ budget }) => budget),
    ),
  );
}

/** @param numbers of the budgets, from the lowest up */
function copyOf(account: Account, numbers: readonly number[]): WindowCopy {
  const { budgets, budgetNumbers: _numbers, open: _open, ended: _ended, ...totals } = account;
  const copy = Object.assign(newAccount(account.id), totals);
  const ids = numbers.map((no) => {
    const budget = budgets[no - 1];
    if (budget === undefined) throw new RangeError(`Account ${account.id} has no budget ${no}.`);
    const { definition, window } = budget;
    const current = budget.totals.get(window);
    addBudget(copy, { ...budget, totals: new Map(current === undefined ? [] : [[window, current]]) });
    return definition.id;
  });
  const [budgetId] = ids;
  if (budgetId === undefined) throw new RangeError("A copy has at least one budget.");
  return { budgetId, account: copy };
}

/** Neither balance nor limit has room for the smallest hold, even without other open holds. */
export function isUsedUp({ account, budgetId }: WindowCopy, now: number): boolean {
  const checked = checkSpender(account, { budgetId, credits: 0n }, NO_FACTS, now);
  if ("missing" in checked) return false;
  const { code } = checked.outcome;
  return code === "insufficient_credits" || code === "spend_limit_exceeded";
}
