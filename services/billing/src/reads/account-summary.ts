// Account summary owns the public view of an account: its credit, and the usage of its API keys in the current windows. Pure.
import { type Account, type Budget, budgetUse } from "@gr/ledger";
import { pageOf } from "@gr/runtime";
import type { CreditSummary, UsagePage } from "../accounts/accounts.ts";
import type { SpenderUsage } from "../accounts/spender.ts";
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
  const { id, parentId, name, limit, period, expiresAt, active, createdAt, revision } = definition;
  const { used: windowUsed, windowStart: start } = budgetUse(account, budget, now);
  return {
    spender: {
      id,
      accountId: account.id,
      parentId,
      name,
      cap: limit,
      period,
      expiresAt: expiresAt === null ? null : new Date(expiresAt),
      active,
      createdAt: new Date(createdAt),
      revision,
    },
    used,
    requests: BigInt(requests),
    windowUsed,
    windowStart: start === null ? null : new Date(start),
  };
}
