// An account's credit at one moment, as callers see it.
import type { Credits } from "@gr/money";
import type { SpenderUsage } from "./spender.ts";

export interface CreditSummary {
  /** Completed deposits. */
  readonly deposited: Credits;
  /** Deposits and adjustments less charges; below zero after an overrun. */
  readonly remaining: Credits;
  readonly held: Credits;
  /** Oldest spender first; empty unless asked for. */
  readonly usage: readonly SpenderUsage[];
}
