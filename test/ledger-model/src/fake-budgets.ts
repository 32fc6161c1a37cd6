// Fake budgets own the BudgetService in memory, over the ledger of the fake billing service.
import { isDeepStrictEqual } from "node:util";
import { type Account, type Budget, budgetUse, findBudget, type Level } from "@gr/ledger";
import { ServiceError } from "@gr/proto";
import { BudgetLevel } from "@gr/proto/billing";
import {
  BudgetService,
  BudgetState,
  type ListBudgetsRequest,
  type PutBudgetRequest,
} from "@gr/proto/budgets";
import { implement, pageOf, type RpcService } from "@gr/runtime";
import type { MemoryLedger } from "./memory-ledger.ts";
import { BUDGET_LEVELS, budgetChangeOf, invalid, newBudgetOf, SPEND_PERIODS } from "./messages.ts";

export class FakeBudgets {
  readonly #memory: MemoryLedger;
  readonly #now: () => number;

  constructor(memory: MemoryLedger, now: () => number) {
    this.#memory = memory;
    this.#now = now;
  }

  serve(): RpcService {
    return implement(BudgetService, {
      putBudget: async (request) => ({ budget: this.put(request) }),
      listBudgets: async (request) => this.#list(request),
    });
  }

  /** @throws ServiceError as the real service does */
  put(request: PutBudgetRequest) {
    const { accountId, budgetId: id } = request;
    const account = this.#open(accountId);
    const known = findBudget(account, id);
    if (known === undefined && request.level === BudgetLevel.UNSPECIFIED) {
      const message = "The account has no budget with this id.";
      throw new ServiceError("budget_not_found", message, { param: "budget_id" });
    }
    if (known !== undefined && request.onlyNew) return this.#requireSame(request, account, known);
    if (known?.definition.level === "key") throw invalid("budget_id", "This is the budget of a key");
    const { code } = this.#memory.decide(
      known === undefined
        ? { kind: "budget", accountId, definition: newBudgetOf(request, this.#now()) }
        : { kind: "budget_change", accountId, budgetId: id, change: budgetChangeOf(request) },
      this.#now(),
    );
    if (code === "too_many_budgets") throw new ServiceError(code, "The account has too many budgets.");
    if (code !== "done") throw invalid("parent_id", "It must be a budget of a higher level");
    const budget = findBudget(account, id);
    if (budget === undefined) throw new Error(`Budget ${id} was not stored.`);
    return this.#messageOf(account, budget);
  }

  #list({ accountId, limit, after, levels, budgetIds }: ListBudgetsRequest) {
    const account = this.#open(accountId);
    const first = after === "" ? 0 : account.budgetNumbers.get(after);
    if (first === undefined) throw invalid("after", "It must be the id of a budget of this account");
    const found = account.budgets
      .slice(first)
      .filter(({ definition: { level } }) => levels.length === 0 || levels.includes(BUDGET_LEVELS[level]))
      .filter(({ definition: { id } }) => budgetIds.length === 0 || budgetIds.includes(id));
    const { entries, hasMore } = pageOf(found, limit || 100);
    return { budgets: entries.map((budget) => this.#messageOf(account, budget)), hasMore };
  }

  #requireSame(request: PutBudgetRequest, account: Account, known: Budget) {
    const { createdAt, revision } = known.definition;
    const wanted = { ...newBudgetOf(request, createdAt), revision };
    if (isDeepStrictEqual(wanted, known.definition)) return this.#messageOf(account, known);
    throw invalid("budget_id", "The budget has other fields");
  }

  #open(accountId: string): Account {
    const account = this.#memory.account(accountId);
    if (account.seq > 0) return account;
    throw new ServiceError("account_not_found", `There is no account ${accountId}.`, { param: "account_id" });
  }

  #messageOf(account: Account, budget: Budget) {
    const { definition, used: lifetimeUsedCredits, requests } = budget;
    const { id, parentId, level, name, limit, period, expiresAt, createdAt, active } = definition;
    const { used, held, resetsAt } = budgetUse(account, budget, this.#now());
    const isExpired = expiresAt !== null && expiresAt <= this.#now();
    const opened = isExpired ? BudgetState.EXPIRED : BudgetState.OPEN;
    return {
      ...{ budgetId: id, accountId: account.id, parentId: parentId ?? "", name, lifetimeUsedCredits },
      ...{ level: BUDGET_LEVELS[level satisfies Level], period: SPEND_PERIODS[period] },
      ...(limit === null ? {} : { limitCredits: limit }),
      ...(expiresAt === null ? {} : { expiresAt: BigInt(expiresAt) }),
      state: active ? opened : BudgetState.CLOSED,
      ...{ createdAt: BigInt(createdAt), requests: BigInt(requests), resetsAt: BigInt(resetsAt) },
      ...{ usedCredits: used, heldCredits: held },
    };
  }
}
