// Which of several ledgers an account is in. An account is in one of them with all that is its own, so no operation needs
// two; the function knows nothing but the account's id and how many ledgers there are, so all callers agree.
import { hash } from "node:crypto";
import type { BillingService } from "@gr/proto/billing";
import type { ServiceClient } from "@gr/runtime";

type BillingClient = ServiceClient<typeof BillingService>;

/** Parts of the accounts, each wholly in one ledger; more ledgers than these there cannot be. */
export const PARTS = 1_024;

/** Of an account, from 0. It is for ever: accounts lie where it says. */
export function partOf(accountId: string): number {
  const [high = 0, low = 0] = hash("sha256", accountId.toLowerCase(), "buffer");
  return ((high << 8) | low) >> 6;
}

/**
 * Neighbouring parts lie together. Twice as many ledgers cut each in two: what was in the ledger `n` is in `2n` or `2n + 1`,
 * both of which may begin as a copy of it.
 */
export function shardOf(accountId: string, shards: number): number {
  return shards === 1 ? 0 : Math.floor((partOf(accountId) * shards) / PARTS);
}

export class BillingShards {
  /** In their order. */
  readonly all: readonly BillingClient[];

  /** @throws RangeError unless there are 1, 2, 4, … 1,024 of them */
  constructor(all: readonly BillingClient[]) {
    if (!Number.isInteger(Math.log2(all.length)) || all.length > PARTS) {
      throw new RangeError(`There are ${all.length} ledgers; it must be a power of two, ${PARTS} at most.`);
    }
    this.all = all;
  }

  /** Where all that is one account's own is asked for, and changed. */
  of(accountId: string): BillingClient {
    return this.all[shardOf(accountId, this.all.length)] as BillingClient;
  }
}
