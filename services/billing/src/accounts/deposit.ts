// A deposit and what its changes of status do to the balance. Pure.
import type { Credits } from "@gr/money";
import { invalid } from "../rpc/field-rules.ts";

export type DepositStatus = "PENDING" | "COMPLETED" | "FAILED" | "REFUNDED";

export interface Deposit {
  readonly id: string;
  readonly accountId: string;
  readonly credits: Credits;
  readonly status: DepositStatus;
  /** Where the money came from. */
  readonly source: string;
}

/** The journal entry that a change makes; null = the balance stays as it is. */
export type DepositEntry = "deposit" | "refund" | null;

/** A payment that failed may be tried again; money that has come can only go back; what went back is closed. */
const CHANGES: Readonly<Record<DepositStatus, Partial<Record<DepositStatus, DepositEntry>>>> = {
  PENDING: { PENDING: null, COMPLETED: "deposit", FAILED: null, REFUNDED: null },
  FAILED: { FAILED: null, COMPLETED: "deposit" },
  COMPLETED: { COMPLETED: null, REFUNDED: "refund" },
  REFUNDED: { REFUNDED: null },
};

/**
 * The first news of a payment may be that it is pending, came or failed. Money goes back only when it has come: a refund
 * of what nobody knows has a wrong id, or overtook the payment and is told again by whoever tells us of payments.
 * @param known the deposit as it was stored before, if it was.
 * @throws ServiceError invalid_value when this is another deposit under the same id, or the change is not possible.
 */
export function depositEntry(known: Deposit | undefined, wanted: Deposit): DepositEntry {
  if (known === undefined) {
    if (wanted.status === "REFUNDED") {
      throw invalid("deposit_id", "There is no deposit with this id to refund");
    }
    return wanted.status === "COMPLETED" ? "deposit" : null;
  }
  if (known.accountId !== wanted.accountId || known.credits !== wanted.credits) {
    throw invalid("deposit_id", "This id belongs to a deposit of another account or amount");
  }
  const entry = CHANGES[known.status][wanted.status];
  if (entry === undefined) {
    throw invalid("status", `A deposit that is ${known.status} cannot become ${wanted.status}`);
  }
  return entry;
}
