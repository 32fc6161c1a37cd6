// Account owns the state of one customer's chain of steps. Only `apply` changes it, so a process that decides and a process
// that reads the same steps hold equal states.
import type { Credits, PicoUsd } from "@gr/money";
import type { Budget } from "./budget.ts";
import type { Id } from "./id.ts";
import type { HoldTag } from "./operation.ts";
import { DAY_MS } from "./window.ts";

/** Budget and window in which a hold was admitted. */
export interface Link {
  /** Number of the budget. */
  readonly budget: number;
  /** Number of the window. */
  readonly window: number;
}

export interface KeptAmounts {
  readonly charge: Credits;
  readonly cost: PicoUsd;
}

export type HoldState = "open" | "captured" | "released";

/** A hold after its latest step. Values are replaced, never changed in place. */
export interface Hold {
  readonly id: Id;
  /** Number of the step that placed it; 0 = the hold ended before the chain. */
  readonly seq: number;
  readonly state: HoldState;
  readonly credits: Credits;
  /** Zero unless captured. */
  readonly charge: Credits;
  /** Cost of the last attempt as the end of the hold booked it; zero while open. */
  readonly cost: PicoUsd;
  readonly placedAt: number;
  readonly deadlineAt: number;
  /** Time until which a resolver has the hold; 0 = no resolver has had it. */
  readonly leasedUntil: number;
  /** Number of the current attempt, from 1. */
  readonly attempt: number;
  readonly tag: HoldTag;
  /** From the lowest budget up. */
  readonly chain: readonly Link[];
  /** Digest of the claimed Idempotency-Key. */
  readonly claim: string | undefined;
  readonly kept: KeptAmounts | undefined;
  /** Booked cost by number of attempt. An attempt without an element has no booking. */
  readonly booked: ReadonlyMap<number, PicoUsd>;
}

export interface Account {
  readonly id: Id;
  /** Number of the latest step; 0 = the account is not open. */
  seq: number;
  /** Time of the latest step. It never falls. */
  at: number;
  /** Deposits less refunds, plus adjustments. */
  credited: Credits;
  /** The adjustments among them. */
  adjusted: Credits;
  /** Charges. */
  debited: Credits;
  /** Credits of open holds. */
  held: Credits;
  suspended: boolean;
  /** Start of the UTC day that `freeUsed` counts. */
  freeDay: number;
  /** Places of zero credits on that day. */
  freeUsed: number;
  /** Time at which the totals from before the chain were carried; 0 = the account began in the chain. */
  carriedAt: number;
  /** Element n is budget n + 1. */
  readonly budgets: Budget[];
  readonly budgetNumbers: Map<Id, number>;
  readonly open: Map<Id, Hold>;
  /** Resolved holds, latest last. The owner of the state deletes old ones and reads them again when `decide` names them. */
  readonly ended: Map<Id, Hold>;
}

export function newAccount(id: Id): Account {
  return {
    id,
    seq: 0,
    at: 0,
    credited: 0n,
    adjusted: 0n,
    debited: 0n,
    held: 0n,
    suspended: false,
    freeDay: 0,
    freeUsed: 0,
    carriedAt: 0,
    budgets: [],
    budgetNumbers: new Map(),
    open: new Map(),
    ended: new Map(),
  };
}

export function budgetOf(account: Account, no: number): Budget {
  const budget = account.budgets[no - 1];
  if (budget === undefined) throw new RangeError(`Account ${account.id} has no budget ${no}.`);
  return budget;
}

/** @returns undefined for an id without a budget in this account */
export function findBudget(account: Account, id: Id): Budget | undefined {
  const no = account.budgetNumbers.get(id);
  return no === undefined ? undefined : budgetOf(account, no);
}

/** @returns undefined for an id without an open hold and without a remembered one */
export function findHold(account: Account, id: Id): Hold | undefined {
  return account.open.get(id) ?? account.ended.get(id);
}

/** Open holds of one account, at most. Each state of the account has all of them, so their number bounds its memory. */
export const MOST_OPEN_HOLDS = 10_000;

/** Open holds of one key for each free place of its account. A key alone has three quarters of all places. */
export const HOLDS_PER_FREE_PLACE = 3;

/** Credits without a charge or a hold. Below zero after a negative adjustment or a refund. */
export function freeCredits({ credited, debited, held }: Account): Credits {
  return credited - debited - held;
}

/** Free places that count at this time. */
export function freeUsedAt({ freeDay, freeUsed }: Account, now: number): number {
  return now < freeDay + DAY_MS ? freeUsed : 0;
}
