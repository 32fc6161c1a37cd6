// Accounts own the shape of the services on accounts: credit, spenders, payments and corrections. The RPC and REST services answer
// by them; the chain of steps implements them.
import type { BudgetDefinition, Id } from "@gr/ledger";
import type { Credits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import type { Page } from "@gr/runtime";
import type { Deposit } from "./deposit.ts";

/** A budget of level key, and its use at one moment. */
export interface SpenderUsage {
  readonly accountId: Id;
  readonly definition: BudgetDefinition;
  /** Of its whole life. */
  readonly used: Credits;
  readonly requests: number;
  /** In the current window; of a lifetime, since the period was set. */
  readonly windowUsed: Credits;
  /** Unix milliseconds; null for a lifetime, and when it placed no hold in the current window. */
  readonly windowStart: number | null;
}

/** An account's credit at one moment. */
export interface CreditSummary {
  /** Completed deposits. */
  readonly deposited: Credits;
  /** Deposits and adjustments less charges; below zero after an overrun. */
  readonly remaining: Credits;
  readonly held: Credits;
  /** It may spend nothing. */
  readonly suspended: boolean;
  /** Oldest spender first; empty unless asked for. */
  readonly usage: readonly SpenderUsage[];
  /** There are more spenders, after the last of these. */
  readonly hasMore: boolean;
}

/** Which spenders' usage is read. */
export interface UsagePage extends Page {
  /** Only these. */
  readonly only?: readonly string[] | undefined;
}

export interface AccountStore {
  /** Does nothing when the account exists. */
  open(accountId: string): Promise<void>;
  /** Places of the account are refused, or possible, from the answer on. @throws ServiceError account_not_found */
  setSuspended(accountId: string, suspended: boolean): Promise<void>;
  /**
   * Creates or replaces it; its usage and its holds stay.
   * @throws ServiceError account_not_found; invalid_value, with param spender.revision when a newer one is stored
   */
  putSpender(accountId: Id, definition: BudgetDefinition): Promise<void>;
  /** @throws ServiceError account_not_found, invalid_value */
  putDeposit(deposit: Deposit): Promise<void>;
  /** Does nothing if it is booked already. @throws ServiceError account_not_found, invalid_value */
  putAdjustment(adjustment: Adjustment): Promise<void>;
  /**
   * @param page absent: no usage is read.
   * @throws ServiceError account_not_found; invalid_value with param `after` when that is no spender of the account
   */
  readCredits(accountId: string, page?: UsagePage): Promise<CreditSummary>;
  /** Rejects when PostgreSQL does not answer. */
  ping(): Promise<void>;
}

/** Correction of an account's credit by the operator. */
export interface Adjustment {
  readonly id: string;
  readonly accountId: string;
  /** Never zero; below zero reduces the credit. */
  readonly credits: Credits;
  /** Text for readers of the books. */
  readonly reason: string;
}

export function noAccount(accountId: string): ServiceError {
  return new ServiceError("account_not_found", `There is no account ${accountId}.`, { param: "account_id" });
}
