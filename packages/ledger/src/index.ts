// Spending is decided here without I/O: states of accounts, operations on them, and the steps that the ledger stores.
export {
  type Account,
  findBudget,
  findHold,
  freeCredits,
  type Hold,
  type HoldState,
  type KeptAmounts,
  type Link,
  MOST_OPEN_HOLDS,
  newAccount,
} from "./account.ts";
export { apply, replayHold, takeBack, type Undo } from "./apply.ts";
export {
  type Budget,
  type BudgetDefinition,
  type Level,
  MAX_BUDGETS,
  MAX_LEVELS,
  type Totals,
} from "./budget.ts";
export { type Decision, decide } from "./decide.ts";
export { type DepositEntry, type DepositStatus, depositEntry } from "./deposit.ts";
export type { Id } from "./id.ts";
export { chainOf } from "./judge/admission.ts";
export { type BudgetUse, budgetUse } from "./judge/budget-use.ts";
export { CLAIM_LIFETIME_MS, type ClaimRecord } from "./judge/claims.ts";
export type { Facts, Missing, Terms } from "./judge/facts.ts";
export { checkSpender, judgeClaim } from "./judge/judge-place.ts";
export type {
  BudgetChange,
  Capture,
  ChangeBudget,
  Claim,
  CreditChange,
  Extend,
  HoldOperation,
  HoldTag,
  Keep,
  Lease,
  NextAttempt,
  Open,
  Operation,
  Place,
  PutBudget,
  Release,
  Suspend,
} from "./operation.ts";
export type { Loss, Outcome, OutcomeCode, Refusal, RefusingBudget } from "./outcome.ts";
export {
  type BudgetAfter,
  type CarriedAccount,
  type CarriedHold,
  type CarriedWindow,
  STEP_KINDS,
  type Step,
  type StepDetail,
  type StepKind,
} from "./step.ts";
export { DAY_MS, PERIODS, type Period, windowEnd, windowStart } from "./window.ts";
