// Judge owns the answer to one operation: an outcome, and a step if the operation changes the account. It only reads; `apply`
// changes the account. An operation is idempotent by its id, so a caller repeats it after a lost answer.
import { larger } from "@gr/money";
import { type Account, findBudget } from "../account.ts";
import { type BudgetDefinition, isAbove, MAX_BUDGETS } from "../budget.ts";
import type { ChangeBudget, CreditChange, Operation, PutBudget, Suspend } from "../operation.ts";
import { DONE } from "../outcome.ts";
import type { Facts, Judged, Terms } from "./facts.ts";
import { judgeHold } from "./judge-hold.ts";
import { judgePlace } from "./judge-place.ts";
import { accountStep, changes } from "./new-step.ts";

/** Totals of an account fit into 64 bits with a sign. */
const MOST_TOTAL = 2n ** 63n - 1n;

export function judge(account: Account, operation: Operation, facts: Facts, terms: Terms): Judged {
  const now = Math.max(terms.now, account.at);
  switch (operation.kind) {
    case "place":
      return judgePlace(account, operation, facts, { now, freeLimit: terms.freeLimit });
    case "open":
      return account.seq > 0 ? { outcome: DONE } : changes(accountStep(account, "open", now));
    case "suspend":
      return judgeSuspend(account, operation, now);
    case "budget":
      return judgeBudget(account, operation, now);
    case "budget_change":
      return judgeChange(account, operation, now);
    case "deposit":
    case "refund":
    case "adjustment":
      return judgeCredit(account, operation, now);
    default:
      return judgeHold(account, operation, facts, now);
  }
}

function judgeSuspend(account: Account, { suspended }: Suspend, now: number): Judged {
  if (account.suspended === suspended) return { outcome: DONE };
  return changes({ ...accountStep(account, "suspend", now), detail: { suspended } });
}

/** The caller has checked that this id was not booked before. */
function judgeCredit(account: Account, { kind, id, credits, note }: CreditChange, now: number): Judged {
  const credited = account.credited + credits;
  if (larger(credited, -credited) > MOST_TOTAL) return { outcome: { code: "out_of_range" } };
  const detail = note === undefined ? null : { note };
  return changes({ ...accountStep(account, kind, now), id, credits, credited, detail });
}

function judgeBudget(account: Account, { definition: sent, isNew }: PutBudget, now: number): Judged {
  const { id, revision } = sent;
  const known = findBudget(account, id)?.definition;
  const isStale = known !== undefined && (isNew === true || known.revision > revision);
  if (isStale) return { outcome: { code: "stale_revision" } };
  if (known === undefined && hasTooMany(account, sent)) return { outcome: { code: "too_many_budgets" } };
  const parentId = sent.parentId ?? known?.parentId ?? null;
  const definition = parentId === sent.parentId ? sent : { ...sent, parentId };
  if (!isPlaced(account, definition, known)) return { outcome: { code: "invalid_parent" } };
  return changes({ ...accountStep(account, "budget", now), id, detail: { definition } });
}

function judgeChange(account: Account, { budgetId: id, change }: ChangeBudget, now: number): Judged {
  const known = findBudget(account, id)?.definition;
  if (known === undefined) return { outcome: { code: "unknown_budget" } };
  const names = Object.keys(change) as (keyof typeof change)[];
  if (names.every((name) => change[name] === known[name])) return { outcome: DONE };
  const definition = { ...known, ...change, revision: known.revision + 1n };
  if (!isPlaced(account, definition, known)) return { outcome: { code: "invalid_parent" } };
  return changes({ ...accountStep(account, "budget", now), id, detail: { definition } });
}

/** Keys have a limit of their own, in their service. */
function hasTooMany({ budgets }: Account, { level }: BudgetDefinition): boolean {
  if (level === "key" || budgets.length < MAX_BUDGETS) return false;
  return budgets.filter(({ definition }) => definition.level !== "key").length >= MAX_BUDGETS;
}

/** A budget has one level and, once it has a parent, one place. Open holds keep their chain when a root gets a parent. */
function isPlaced(
  account: Account,
  { parentId, level }: BudgetDefinition,
  known: BudgetDefinition | undefined,
): boolean {
  if (known !== undefined && known.level !== level) return false;
  if (known !== undefined && known.parentId !== null) return parentId === known.parentId;
  if (parentId === null) return true;
  const parent = findBudget(account, parentId);
  return parent !== undefined && isAbove(parent.definition.level, level);
}
