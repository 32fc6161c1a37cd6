// Budgets of billing as records of the console. The budget of a member has the id of the person, so no table connects them.
import { periodNameOf } from "@gr/clients";
import type { BudgetRecord } from "@gr/console-api";
import { formatCredits, larger } from "@gr/money";
import { BudgetLevel } from "@gr/proto/billing";
import { type Budget, type BudgetService, BudgetState } from "@gr/proto/budgets";
import type { ServiceClient } from "@gr/runtime";

interface BudgetReads {
  readonly budgets: Pick<ServiceClient<typeof BudgetService>, "listBudgets">;
}

/** Budgets in one call of billing. */
const MOST_AT_ONCE = 1_000;

/** @returns budgets by id; ids without a budget are absent */
export async function readBudgets(
  { budgets }: BudgetReads,
  accountId: string,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, BudgetRecord>> {
  const wanted = [...new Set(ids)].filter((id) => id !== "");
  const found = new Map<string, BudgetRecord>();
  for (let first = 0; first < wanted.length; first += MOST_AT_ONCE) {
    const budgetIds = wanted.slice(first, first + MOST_AT_ONCE);
    const page = await budgets.listBudgets({ accountId, budgetIds, limit: MOST_AT_ONCE });
    for (const budget of page.budgets) found.set(budget.budgetId, budgetRecordOf(budget));
  }
  return found;
}

/** @returns null if the person has no budget in this account */
export async function memberBudget(
  deps: BudgetReads,
  accountId: string,
  personId: string,
): Promise<BudgetRecord | null> {
  return (await readBudgets(deps, accountId, [personId])).get(personId) ?? null;
}

const LEVELS = { account: BudgetLevel.ACCOUNT, member: BudgetLevel.MEMBER } as const;

function budgetRecordOf(budget: Budget): BudgetRecord {
  const { limitCredits: limit, usedCredits: used, resetsAt } = budget;
  return {
    id: budget.budgetId,
    name: budget.name,
    level: (["account", "member"] as const).find((name) => LEVELS[name] === budget.level) ?? "customer",
    state: stateOf(budget.state),
    spend_limit: limit === undefined ? null : formatCredits(limit),
    spend_limit_period: periodNameOf(budget.period) ?? null,
    period_spend: formatCredits(used),
    remaining: limit === undefined ? null : formatCredits(larger(limit - used, 0n)),
    resets_at: resetsAt === 0n ? null : new Date(Number(resetsAt)).toISOString(),
  };
}

function stateOf(state: BudgetState): BudgetRecord["state"] {
  if (state === BudgetState.CLOSED) return "closed";
  return state === BudgetState.EXPIRED ? "expired" : "open";
}
