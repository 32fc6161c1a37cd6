// Account summary owns the public view of an account: its credit, and the usage of its API keys in the current windows. Pure.
import { type Account, type Budget, budgetUse } from "@gr/ledger";
import { pageOf } from "@gr/runtime";
import type { CreditSummary, SpenderUsage, UsagePage } from "../accounts/accounts.ts";
import { invalid } from "../rpc/field-rules.ts";

/**
 * @param page absent: no usage
 * @param now Unix milliseconds
 * @throws ServiceError invalid_value with param `after` if that is no key of the account
 */
export function summaryOf(account: Account, page: UsagePage | undefined, now: number): CreditSummary {
  const { credited, adjusted, debited, held, suspended } = account;
  const { entries, hasMore } = page === undefined ? NO_USAGE : usagePage(account, page, now);
  return {
    deposited: credited - adjusted,
    remaining: credited - debited,
    held,
    suspended,
    usage: entries,
    hasMore,
  };
}

const NO_USAGE = { entries: [], hasMore: false };

function usagePage(account: Account, { limit, after, only }: UsagePage, now: number) {
  const keys = account.budgets.filter(isKey).toSorted(inOrder);
  const last = after === undefined ? -1 : keys.findIndex(({ definition }) => definition.id === after);
  if (after !== undefined && last === -1) {
    throw invalid("after", "It must be the id of a spender of this account");
  }
  const wanted = only === undefined ? undefined : new Set(only);
  const rest = keys.slice(last + 1).filter(({ definition: { id } }) => wanted?.has(id) ?? true);
  return pageOf(
    rest.slice(0, limit + 1).map((budget) => usageOf(account, budget, now)),
    limit,
  );
}

function isKey({ definition }: Budget): boolean {
  return definition.level === "key";
}

/** Oldest first. */
function inOrder({ definition: one }: Budget, { definition: other }: Budget): number {
  return one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1);
}

function usageOf(account: Account, budget: Budget, now: number): SpenderUsage {
  const { definition, used, requests } = budget;
  const { used: windowUsed, windowStart } = budgetUse(account, budget, now);
  return { accountId: account.id, definition, used, requests, windowUsed, windowStart };
}
