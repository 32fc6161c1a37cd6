// Judge owns the answer to one operation: an outcome, and a step if the operation changes the account. It only reads; `apply`
// changes the account. An operation is idempotent by its id, so a caller repeats it after a lost answer.
import { larger } from "@gr/money";
import { type Account, findBudget } from "../account.ts";
import { MAX_LEVELS } from "../budget.ts";
import type { Id } from "../id.ts";
import type { CreditChange, Operation, PutBudget, Suspend } from "../operation.ts";
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

function judgeBudget(account: Account, { definition }: PutBudget, now: number): Judged {
  const { id, parentId, revision } = definition;
  const known = findBudget(account, id)?.definition;
  if (known !== undefined && known.revision > revision) return { outcome: { code: "stale_revision" } };
  const isPlaced = known === undefined ? hasRoomBelow(account, parentId) : known.parentId === parentId;
  if (!isPlaced) return { outcome: { code: "invalid_parent" } };
  return changes({ ...accountStep(account, "budget", now), id, detail: { definition } });
}

/** A chain through a new budget below this parent is not too long. */
function hasRoomBelow(account: Account, parentId: Id | null): boolean {
  let levels = 1;
  for (let id = parentId; id !== null; levels += 1) {
    const parent = findBudget(account, id);
    if (parent === undefined) return false;
    id = parent.definition.parentId;
  }
  return levels <= MAX_LEVELS;
}
