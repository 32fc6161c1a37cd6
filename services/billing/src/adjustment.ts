// An adjustment: a correction of an account's credit by the operator. It is booked once and never changes.
import type { Credits } from "@gr/money";
import { invalid } from "./field-rules.ts";

export interface Adjustment {
  readonly id: string;
  readonly accountId: string;
  /** Above zero gives credit, below zero takes it; never zero. */
  readonly credits: Credits;
  /** For whoever reads the books. */
  readonly reason: string;
}

/** @throws ServiceError invalid_value when `wanted` is another adjustment under the id of `known`. */
export function requireSame(known: Adjustment, wanted: Adjustment): void {
  const same =
    known.accountId === wanted.accountId &&
    known.credits === wanted.credits &&
    known.reason === wanted.reason;
  if (!same) {
    throw invalid("adjustment_id", "This id belongs to an adjustment of another account, amount or reason");
  }
}
