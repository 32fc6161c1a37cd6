// Deposit owns the order of the states of a payment. Credit moves at most once in each direction; the owner of the ledger stores
// the state beside the steps, since a state without a step (pending, failed) changes no account.
export type DepositStatus = "PENDING" | "COMPLETED" | "FAILED" | "REFUNDED";

/** Step of a change of status; null = the credit stays. */
export type DepositEntry = "deposit" | "refund" | null;

/**
 * A failed payment may be tried again; a completed one can only be refunded; a refunded one is closed. The first report is
 * never a refund: its id is wrong, or the report of the payment follows and the refund is reported again.
 */
const CHANGES: Readonly<Record<DepositStatus | "NEW", Partial<Record<DepositStatus, DepositEntry>>>> = {
  NEW: { PENDING: null, COMPLETED: "deposit", FAILED: null },
  PENDING: { PENDING: null, COMPLETED: "deposit", FAILED: null, REFUNDED: null },
  FAILED: { FAILED: null, COMPLETED: "deposit" },
  COMPLETED: { COMPLETED: null, REFUNDED: "refund" },
  REFUNDED: { REFUNDED: null },
};

/**
 * @param known status that is stored; undefined for a new deposit
 * @returns undefined if the wanted status cannot follow
 */
export function depositEntry(
  known: DepositStatus | undefined,
  wanted: DepositStatus,
): DepositEntry | undefined {
  return CHANGES[known ?? "NEW"][wanted];
}
