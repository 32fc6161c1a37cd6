// Ledger report owns the shape of a verification: the differences that it found, and the totals of the ledger.
import type { Credits } from "@gr/money";

export interface Difference {
  /** The invariant that is broken. */
  readonly invariant: string;
  /** The row that breaks it. */
  readonly subject: string;
  readonly expected: string;
  readonly actual: string;
}

export interface LedgerReport {
  readonly differences: readonly Difference[];
  readonly accounts: bigint;
  readonly holds: bigint;
  readonly openHolds: bigint;
  readonly chargedCredits: Credits;
  /** Decimal integers of pico: sums can exceed 64 bits. */
  readonly chargedCost: string;
  readonly lostCost: string;
}
