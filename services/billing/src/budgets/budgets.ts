// Budgets own the changes and the list of the budgets of an account. Their record is the chain of steps. The keys service owns the
// budgets of keys, so no change of one begins here.
import { isDeepStrictEqual } from "node:util";
import {
  type Account,
  type Budget,
  type BudgetChange,
  type BudgetDefinition,
  type BudgetUse,
  budgetUse,
  findBudget,
  type Id,
  type Level,
  MAX_BUDGETS,
  type Outcome,
} from "@gr/ledger";
import type { Credits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { type Clock, type Page, pageOf } from "@gr/runtime";
import { noAccount } from "../accounts/accounts.ts";
import type { ChainOperation } from "../chain/chain-operation.ts";
import type { AccountReader } from "../reads/account-reader.ts";
import { invalid } from "../rpc/field-rules.ts";

export type BudgetState = "open" | "closed" | "expired";

/** A budget and its use at one moment. */
export interface BudgetRecord extends BudgetUse {
  readonly accountId: Id;
  readonly definition: BudgetDefinition;
  readonly state: BudgetState;
  /** Charges of all windows. */
  readonly lifetimeUsed: Credits;
  /** Captured holds of all windows. */
  readonly requests: number;
}

export interface WantedBudget {
  readonly accountId: Id;
  readonly id: Id;
  /** Level of a new budget; absent: the budget must exist. */
  readonly level?: Level | undefined;
  /** A new budget needs a name. Its other absent fields are none, a lifetime, and open. */
  readonly change: BudgetChange;
  /** True: an existing budget with these fields is the answer, and one with other fields a refusal. */
  readonly onlyNew: boolean;
}

export interface BudgetPage extends Page {
  /** Only these; absent = all. */
  readonly levels?: readonly Level[] | undefined;
  readonly only?: readonly Id[] | undefined;
}

export interface BudgetStore {
  /** @throws ServiceError account_not_found, budget_not_found, too_many_budgets, invalid_value */
  put(wanted: WantedBudget): Promise<BudgetRecord>;
  /**
   * Lists budgets in the order of their creation.
   * @throws ServiceError account_not_found; invalid_value with param `after` if the account has no such budget
   */
  list(
    accountId: Id,
    page: BudgetPage,
  ): Promise<{ readonly entries: readonly BudgetRecord[]; readonly hasMore: boolean }>;
}

export interface BudgetDeps {
  readonly accounts: AccountReader;
  readonly clock: Clock;
  readonly post: (operations: readonly ChainOperation[]) => Promise<Outcome[]>;
}

export function createBudgets({ accounts, clock, post }: BudgetDeps): BudgetStore {
  const now = () => Math.floor(clock.now());
  const read = (accountId: Id, id: Id) =>
    accounts.ask(accountId, (account) => {
      if (account.seq === 0) throw noAccount(accountId);
      const budget = findBudget(account, id);
      return { answer: budget && recordOf(account, budget, now()) };
    });
  const put = async (wanted: WantedBudget): Promise<BudgetRecord> => {
    const { accountId, id } = wanted;
    const known = await read(accountId, id);
    if (wanted.onlyNew && known !== undefined) return requireSame(wanted, known);
    const [outcome] = await post([operationFor(wanted, known?.definition, now())]);
    // Another caller has created the budget since the read.
    if (outcome?.code === "stale_revision") return await put(wanted);
    requireDone(outcome);
    const stored = await read(accountId, id);
    if (stored === undefined) throw new Error(`Account ${accountId} has lost its budget ${id}.`);
    return stored;
  };
  return {
    put,
    list: (accountId, page) =>
      accounts.ask(accountId, (account) => {
        if (account.seq === 0) throw noAccount(accountId);
        return { answer: listed(account, page, now()) };
      }),
  };
}

/** Fields of a new budget that no one named. */
const NONE = { parentId: null, limit: null, period: "lifetime", expiresAt: null, active: true } as const;

function requireSame({ level, change }: WantedBudget, known: BudgetRecord): BudgetRecord {
  const { id: _id, createdAt: _createdAt, revision: _revision, ...fields } = known.definition;
  if (isDeepStrictEqual(fields, { ...NONE, ...change, level })) return known;
  throw invalid("budget_id", "A budget with this id exists and has other fields");
}

function operationFor(
  { accountId, id, level, change }: WantedBudget,
  known: BudgetDefinition | undefined,
  createdAt: number,
): ChainOperation {
  if (known === undefined) {
    if (level === undefined) throw noBudget();
    const { name } = change;
    if (name === undefined) throw invalid("name", "A new budget needs a name");
    const definition = { ...NONE, ...change, id, level, name, createdAt, revision: 1n };
    return { kind: "budget", accountId, definition, isNew: true };
  }
  if (known.level === "key") throw invalid("budget_id", "This is the budget of a key; change the key");
  if (level !== undefined && level !== known.level) {
    throw invalid("level", `This budget has the level ${known.level}, and a level never changes`);
  }
  return { kind: "budget_change", accountId, budgetId: id, change };
}

function requireDone(outcome: Outcome | undefined): void {
  switch (outcome?.code) {
    case "done":
      return;
    case "invalid_parent":
      throw invalid(
        "parent_id",
        "It must be a budget of this account of a higher level, and it never changes",
      );
    case "too_many_budgets":
      throw new ServiceError(
        "too_many_budgets",
        `This account has ${MAX_BUDGETS} budgets beside those of its keys, the most that it may have; use one of them again.`,
      );
    default:
      throw new Error(`A budget was answered with the outcome ${outcome?.code}.`);
  }
}

export function noBudget(): ServiceError {
  return new ServiceError("budget_not_found", "The account has no budget with this id.", {
    param: "budget_id",
  });
}

function listed(account: Account, { limit, after, levels, only }: BudgetPage, now: number) {
  const first = after === undefined ? 0 : account.budgetNumbers.get(after);
  if (first === undefined) throw invalid("after", "It must be the id of a budget of this account");
  const wanted = only === undefined ? undefined : new Set(only);
  const found: Budget[] = [];
  for (const budget of account.budgets.slice(first)) {
    const { id, level } = budget.definition;
    if ((levels?.includes(level) ?? true) && (wanted?.has(id) ?? true)) found.push(budget);
    if (found.length > limit) break;
  }
  return pageOf(
    found.map((budget) => recordOf(account, budget, now)),
    limit,
  );
}

function recordOf(account: Account, budget: Budget, now: number): BudgetRecord {
  const { definition, used: lifetimeUsed, requests } = budget;
  const { active, expiresAt } = definition;
  const isExpired = expiresAt !== null && expiresAt <= Math.max(now, account.at);
  const state = !active ? "closed" : isExpired ? "expired" : "open";
  const use = budgetUse(account, budget, now);
  return { accountId: account.id, definition, state, ...use, lifetimeUsed, requests };
}
