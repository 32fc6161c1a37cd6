// A spender: what may spend from an account. One per API key, with the same id; it is never deleted, only made
// inactive, so that what it has used stays in the list.
import type { Period } from "@gr/ledger";
import type { Credits } from "@gr/money";

export interface Spender {
  readonly id: string;
  readonly accountId: string;
  /** Budget above it; null = none, or the stored one. */
  readonly parentId: string | null;
  readonly name: string;
  /** Most credits per window; null = no cap. */
  readonly cap: Credits | null;
  readonly period: Period;
  readonly expiresAt: Date | null;
  readonly active: boolean;
  readonly createdAt: Date;
  /** Counts its changes; 0 = not counted. A lower one never replaces a higher one. */
  readonly revision: bigint;
}

export interface SpenderUsage {
  readonly spender: Spender;
  /** Credits that were charged since its creation. */
  readonly used: Credits;
  readonly requests: bigint;
  /** In the current window; of a lifetime, since the period was set. */
  readonly windowUsed: Credits;
  /** Null for a lifetime, and when it placed no hold in the current window. */
  readonly windowStart: Date | null;
}
