// BillingShards selects the ledger of an account. An account and all its data are in one ledger, so no operation needs
// two. The choice depends only on the account's id and the number of ledgers, so all callers agree.
import { hash } from "node:crypto";
import type { BillingService } from "@gr/proto/billing";
import type { ServiceClient } from "@gr/runtime";

type BillingClient = ServiceClient<typeof BillingService>;

/** Parts of the accounts, each wholly in one ledger; also the highest number of ledgers. */
export const PARTS = 1_024;

/** Returns the part of an account, from 0. The result is permanent, because it decides where accounts are stored. */
export function partOf(accountId: string): number {
  const [high = 0, low = 0] = hash("sha256", accountId.toLowerCase(), "buffer");
  return ((high << 8) | low) >> 6;
}

/**
 * Returns the ledger of an account, from 0. Neighbouring parts share a ledger. A doubling of the ledgers splits each in
 * two: the content of ledger `n` is then in `2n` or `2n + 1`, and both may begin as a copy of it.
 */
export function shardOf(accountId: string, shards: number): number {
  return shards === 1 ? 0 : Math.floor((partOf(accountId) * shards) / PARTS);
}

export class BillingShards {
  /** All ledgers, in their order. */
  readonly all: readonly BillingClient[];

  /** @throws RangeError unless there are 1, 2, 4, … 1,024 of them */
  constructor(all: readonly BillingClient[]) {
    if (!Number.isInteger(Math.log2(all.length)) || all.length > PARTS) {
      throw new RangeError(`There are ${all.length} ledgers; it must be a power of two, ${PARTS} at most.`);
    }
    this.all = all;
  }

  /** Returns the ledger that stores and changes the account's data. */
  of(accountId: string): BillingClient {
    return this.all[shardOf(accountId, this.all.length)] as BillingClient;
  }
}
