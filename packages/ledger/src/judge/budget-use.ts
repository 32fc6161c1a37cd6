// Budget use owns the view of one budget at a moment: the credits of its current window, and the window's bounds. A window that no
// hold has begun yet is empty.
import type { Credits } from "@gr/money";
import type { Account } from "../account.ts";
import { type Budget, NO_TOTALS } from "../budget.ts";
import { hasNewWindow, resetOf } from "./admission.ts";

export interface BudgetUse {
  /** Charges of holds that the current window admitted. */
  readonly used: Credits;
  /** Open holds that the current window admitted. */
  readonly held: Credits;
  /** Unix milliseconds; null for a lifetime, and before the first hold of the window. */
  readonly windowStart: number | null;
  /** Unix milliseconds; 0 = never. */
  readonly resetsAt: number;
}

/** @param at Unix milliseconds */
export function budgetUse(account: Account, budget: Budget, at: number): BudgetUse {
  const now = Math.max(at, account.at);
  const isNew = hasNewWindow(budget, now);
  const { used, held } = (isNew ? undefined : budget.totals.get(budget.window)) ?? NO_TOTALS;
  return { used, held, windowStart: isNew ? null : budget.windowStart, resetsAt: resetOf(budget, now) };
}
