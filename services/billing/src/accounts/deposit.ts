// Deposit owns the report of a payment, and refuses a report that cannot follow the stored one. Pure.
// The order of the states is the ledger's.
import { type DepositEntry, type DepositStatus, depositEntry as entryOf } from "@gr/ledger";
import type { Credits } from "@gr/money";
import { invalid } from "../rpc/field-rules.ts";

export type { DepositEntry, DepositStatus } from "@gr/ledger";

export interface Deposit {
  readonly id: string;
  readonly accountId: string;
  readonly credits: Credits;
  readonly status: DepositStatus;
  /** Origin of the money. */
  readonly source: string;
}

/**
 * @param known the stored deposit; undefined for a new one
 * @throws ServiceError invalid_value if another deposit has the same id, or the status cannot follow
 */
export function depositEntry(known: Deposit | undefined, wanted: Deposit): DepositEntry {
  if (known !== undefined && (known.accountId !== wanted.accountId || known.credits !== wanted.credits)) {
    throw invalid("deposit_id", "This id belongs to a deposit of another account or amount");
  }
  const entry = entryOf(known?.status, wanted.status);
  if (entry !== undefined) return entry;
  if (known === undefined) throw invalid("deposit_id", "There is no deposit with this id to refund");
  throw invalid("status", `A deposit that is ${known.status} cannot become ${wanted.status}`);
}
