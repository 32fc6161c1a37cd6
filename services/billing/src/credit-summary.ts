// An account's credit at one moment, as callers see it.
import type { Credits } from "@gr/money";
import type { SpenderUsage } from "./spender.ts";

export interface CreditSummary {
  /** Completed deposits. */
  readonly deposited: Credits;
  readonly charged: Credits;
  readonly held: Credits;
  /** Oldest spender first; empty unless asked for. */
  readonly usage: readonly SpenderUsage[];
}
