// Step owns the shape of one row of the ledger: one change of one account, with the totals after it. A row is never changed,
// and the rows of an account are numbered without a gap, so balance, holds and windows are reads of the rows.
import type { Credits, PicoUsd } from "@gr/money";
import type { KeptAmounts } from "./account.ts";
import type { BudgetDefinition } from "./budget.ts";
import type { Id } from "./id.ts";
import type { Claim, HoldTag } from "./operation.ts";

/** Number of each kind in the table. Numbers are never used again for another kind. */
export const STEP_KINDS = {
  open: 1,
  place: 2,
  extend: 3,
  next: 4,
  capture: 5,
  release: 6,
  /** Release of a hold without a found outcome upstream. */
  abandon: 7,
  /** Cost that a provider reported after the booking of its attempt. */
  late: 8,
  lease: 9,
  keep: 10,
  deposit: 11,
  refund: 12,
  adjustment: 13,
  budget: 14,
  suspend: 15,
  /** Totals from before the chain: of the account, or of one window of a budget. */
  carry: 16,
} as const;

export type StepKind = keyof typeof STEP_KINDS;

/** Totals of one budget in one window after a step. */
export interface BudgetAfter {
  /** Number of the budget. */
  readonly budget: number;
  /** Number of the window in which the hold was admitted. */
  readonly window: number;
  readonly used: Credits;
  readonly held: Credits;
}

/** Totals of an account from before the chain, beside those that each step has. */
export interface CarriedAccount {
  /** Sum of the adjustments, which `credited` contains. */
  readonly adjusted: Credits;
  readonly suspended: boolean;
  /** Start of the UTC day that `freeUsed` counts. */
  readonly freeDay: number;
  readonly freeUsed: number;
}

/** Charges of a budget from before the chain. */
export interface CarriedWindow {
  /** Unix milliseconds; null for a lifetime, and before the first hold of a period. */
  readonly windowStart: number | null;
  /** Captured holds. */
  readonly requests: number;
}

/** An open hold that was placed before the chain. */
export interface CarriedHold {
  /** Unix milliseconds. */
  readonly placedAt: number;
  /** Booked costs of earlier attempts, by number of attempt. */
  readonly booked: readonly (readonly [attempt: number, cost: PicoUsd])[];
  /** null = no answer is kept */
  readonly kept: KeptAmounts | null;
}

/** Content of the kinds that are rare. */
export type StepDetail =
  | { readonly definition: BudgetDefinition }
  | { readonly suspended: boolean }
  | { readonly kept: KeptAmounts }
  /** carry */
  | { readonly carriedAccount: CarriedAccount }
  | { readonly carriedWindow: CarriedWindow }
  /** place */
  | { readonly carriedHold: CarriedHold }
  /** deposit, refund, adjustment */
  | { readonly note: string };

export interface Step {
  readonly kind: StepKind;
  readonly accountId: Id;
  /** Number within the account, from 1. */
  readonly seq: number;
  /** Unix milliseconds; never before the step before. */
  readonly at: number;
  /** Hold, deposit, adjustment or budget; the account itself for `open` and `suspend`. */
  readonly id: Id;
  /** Change of `held`; for deposit, refund, adjustment and carry the change of `credited`. */
  readonly credits: Credits;
  readonly charge: Credits;
  /** Cost that this step books. */
  readonly cost: PicoUsd;
  /** Provider of that cost; null without a cost. It is never null in a capture. */
  readonly billedBy: string | null;
  /** place, next: the attempt that begins. Others: the attempt of the cost. 0 without a hold. */
  readonly attempt: number;
  /** Number of the step that placed the hold; null for `place`, without a hold, and for a hold that ended before the chain. */
  readonly placeSeq: number | null;
  /** place, extend, next: deadline of the hold. lease: end of the lease. */
  readonly deadlineAt: number | null;
  readonly credited: Credits;
  readonly debited: Credits;
  readonly held: Credits;
  /** From the lowest budget up. */
  readonly budgets: readonly BudgetAfter[];
  /** place; next, where provider and upstream model differ from the step before. */
  readonly tag: HoldTag | null;
  /** place. The fingerprint is empty in a step that was read from the ledger. */
  readonly claim: Claim | null;
  readonly detail: StepDetail | null;
}
