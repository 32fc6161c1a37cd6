// Bucket owns the first column of every key of the ledger: a number of 0 to 255 that an account keeps for ever.

/** @returns the last byte of the id */
export function bucketOf(accountId: string): number {
  return Number.parseInt(accountId.slice(-2), 16);
}
