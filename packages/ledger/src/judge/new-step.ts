// New steps own the fields that all steps of an account share: the next number and the totals after it.
import type { Account, Hold } from "../account.ts";
import { DONE, type Outcome } from "../outcome.ts";
import type { BudgetAfter, Step, StepKind } from "../step.ts";

/** A step that changes no total. Callers replace the fields that their kind changes. */
export function accountStep(account: Account, kind: StepKind, at: number): Step {
  return {
    kind,
    accountId: account.id,
    seq: account.seq + 1,
    at,
    id: account.id,
    credits: 0n,
    charge: 0n,
    cost: 0n,
    billedBy: null,
    attempt: 0,
    placeSeq: null,
    deadlineAt: null,
    credited: account.credited,
    debited: account.debited,
    held: account.held,
    budgets: NO_BUDGETS,
    tag: null,
    claim: null,
    detail: null,
  };
}

export function holdStep(account: Account, kind: StepKind, at: number, hold: Hold): Step {
  const placeSeq = hold.seq === 0 ? null : hold.seq;
  return { ...accountStep(account, kind, at), id: hold.id, attempt: hold.attempt, placeSeq };
}

export function changes(step: Step, outcome: Outcome = DONE): { outcome: Outcome; step: Step } {
  return { outcome, step };
}

const NO_BUDGETS: readonly BudgetAfter[] = [];
