// Operation owns the requests that one account can receive. Each names its account, so any process finds the chain of
// steps that decides it. Credits are 1e-4 USD, costs 1e-12 USD, times Unix milliseconds.
import type { Credits, PicoUsd } from "@gr/money";
import type { BudgetDefinition } from "./budget.ts";
import type { Id } from "./id.ts";

/** Purpose of a hold. Provider and upstream model are those of the current attempt. */
export interface HoldTag {
  /** Name of the service that resolves the hold. */
  readonly service: string;
  readonly provider: string;
  /** Name of the model at the provider. */
  readonly upstreamModel: string;
  readonly model: string;
  readonly priceVersion: string;
}

/** Idempotency-Key of a place. Both members are SHA-256 in hexadecimal digits. */
export interface Claim {
  /** Digest of the endpoint, the key and its owner. */
  readonly key: string;
  /** Digest of the client's request. */
  readonly fingerprint: string;
}

interface OnAccount {
  readonly accountId: Id;
}

interface OnHold extends OnAccount {
  readonly holdId: Id;
}

/** Reserves credits for one request. */
export interface Place extends OnHold {
  readonly kind: "place";
  /** Lowest budget of the chain, for example that of the API key. */
  readonly budgetId: Id;
  /** Budget of the member that spends from a budget of all members. It counts above a budget without a parent, if it exists. */
  readonly memberId?: Id | undefined;
  readonly credits: Credits;
  /** Upper limit of a hold that grows into free credits. Absent: the hold has exactly `credits`. */
  readonly most?: Credits | undefined;
  readonly deadlineAt: number;
  readonly tag: HoldTag;
  readonly claim?: Claim | undefined;
}

/** Raises an open hold to a new total, or moves its deadline. */
export interface Extend extends OnHold {
  readonly kind: "extend";
  readonly credits: Credits;
  readonly most?: Credits | undefined;
  readonly deadlineAt: number;
}

/** Ends one attempt of an open hold and names the next. */
export interface NextAttempt extends OnHold {
  readonly kind: "next";
  /** Number of the attempt that begins, from 2. */
  readonly attempt: number;
  readonly provider: string;
  readonly upstreamModel: string;
  /** Cost of the failed attempt. */
  readonly cost: PicoUsd;
  readonly deadlineAt: number;
  /** Provider of the failed attempt. Present: a repeat books a higher cost to that provider. */
  readonly billedBy?: string | undefined;
}

/** Charges a hold, at most its size. */
export interface Capture extends OnHold {
  readonly kind: "capture";
  readonly charge: Credits;
  readonly cost: PicoUsd;
}

/** Frees a hold without a charge. */
export interface Release extends OnHold {
  readonly kind: "release";
  readonly cost: PicoUsd;
  /** Provider of the cost. The cost of a provider other than the current one is ignored: `next` has booked it. */
  readonly provider?: string | undefined;
  /** The outcome upstream was never found. */
  readonly unresolved: boolean;
}

/** Assigns an overdue hold to one resolver. */
export interface Lease extends OnHold {
  readonly kind: "lease";
  readonly until: number;
}

/** Records the amounts of the later capture, together with the stored answer. */
export interface Keep extends OnHold {
  readonly kind: "keep";
  readonly charge: Credits;
  readonly cost: PicoUsd;
}

/** Changes the credit of an account. A refund and a negative adjustment have credits below zero. */
export interface CreditChange extends OnAccount {
  readonly kind: "deposit" | "refund" | "adjustment";
  /** Id of the deposit or of the adjustment. */
  readonly id: Id;
  readonly credits: Credits;
  /** Source of the money of a deposit, or reason of an adjustment. */
  readonly note?: string | undefined;
}

/** Opens an account with zero credit. */
export interface Open extends OnAccount {
  readonly kind: "open";
}

export interface Suspend extends OnAccount {
  readonly kind: "suspend";
  readonly suspended: boolean;
}

/** Creates or replaces the definition of a budget. Without a parent it keeps the stored one. */
export interface PutBudget extends OnAccount {
  readonly kind: "budget";
  readonly definition: BudgetDefinition;
  /** True: a stored budget with this id is newer than any definition. */
  readonly isNew?: boolean | undefined;
}

/** Absent fields stay unchanged. */
export type BudgetChange = Partial<
  Pick<BudgetDefinition, "parentId" | "name" | "limit" | "period" | "expiresAt" | "active">
>;

/** Changes single fields of a budget, so two changes of different fields never undo each other. */
export interface ChangeBudget extends OnAccount {
  readonly kind: "budget_change";
  readonly budgetId: Id;
  readonly change: BudgetChange;
}

export type HoldOperation = Place | Extend | NextAttempt | Capture | Release | Lease | Keep;
export type Operation = HoldOperation | CreditChange | Open | Suspend | PutBudget | ChangeBudget;
