// Outcome owns the answers of the ledger to an operation.
import type { Credits, PicoUsd } from "@gr/money";
import type { Level } from "./budget.ts";
import type { Id } from "./id.ts";
import type { Period } from "./window.ts";

export type OutcomeCode =
  /** Done, now or by an earlier copy of the operation. */
  | "done"
  | "insufficient_credits"
  | "spend_limit_exceeded"
  /** The lowest budget is unknown or inactive, or the account is suspended. */
  | "spender_inactive"
  | "spender_expired"
  /** A budget above the lowest one is inactive or expired. */
  | "budget_closed"
  | "unknown_hold"
  | "already_resolved"
  | "free_limit_exceeded"
  /** place: the account has the largest number of open holds. */
  | "too_many_holds"
  /** place: the lowest budget has its share of the open holds of the account. */
  | "share_of_holds_used"
  | "claim_in_progress"
  | "claim_mismatch"
  | "claim_finished"
  /** lease, keep: a resolver has the hold. */
  | "leased"
  /** budget: a newer revision is stored. */
  | "stale_revision"
  /** budget: the parent is unknown, not of a higher level, or another one than before; or the level is another one. */
  | "invalid_parent"
  /** budget: the account has the maximum number of budgets. */
  | "too_many_budgets"
  /** budget_change: the account has no budget with this id. */
  | "unknown_budget"
  /** deposit, adjustment: a total would not fit into 64 bits. */
  | "out_of_range";

export interface Refusal {
  /** Only holds of running requests prevent the spending. */
  readonly inFlight: boolean;
  /** Credits that a hold could still reserve; never below 0. */
  readonly available: Credits;
  /** Budget that refuses; absent if the account itself refuses. */
  readonly budget?: RefusingBudget | undefined;
  /** Unix milliseconds at which the limit begins again; 0 = never. */
  readonly resetsAt: number;
  /** Unix milliseconds at which the budget expired; 0 = it did not. */
  readonly expiresAt: number;
  /** Only the suspension of the account prevents the spending. */
  readonly suspended: boolean;
}

export interface RefusingBudget {
  readonly id: Id;
  readonly level: Level;
  readonly name: string;
  readonly limit: Credits | null;
  readonly period: Period;
  /** The budget that the place named, and not one above it. */
  readonly isLowest: boolean;
}

/** Change of our losses by this operation, and by no earlier copy of it. */
export interface Loss {
  /** Cost of a request or an attempt that failed. */
  readonly failed: PicoUsd;
  /** Cost that was found after the booking, or for a hold without a found outcome. */
  readonly late: PicoUsd;
  /** Credits of a hold that this operation freed without a found outcome. */
  readonly abandoned: Credits | undefined;
}

export interface Outcome {
  readonly code: OutcomeCode;
  readonly refusal?: Refusal | undefined;
  /** claim_finished: the hold that was charged. */
  readonly earlierHoldId?: Id | undefined;
  /** place, extend with `most`: size of the hold. */
  readonly held?: Credits | undefined;
  readonly loss?: Loss | undefined;
}

export const DONE: Outcome = { code: "done" };
