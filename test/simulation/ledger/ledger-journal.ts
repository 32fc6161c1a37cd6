// LedgerJournal owns the calls of a history to its ledger, in order and with their answers, for a replay on the real ledger.
import type { Outcome as LedgerOutcome } from "@gr/ledger";
import type { DepositStatus } from "@gr/proto/billing";
import type { Claim, Operation, Service, Settlement, SpenderFields } from "./operation.ts";

export interface LeasedHold {
  readonly hold: number;
  readonly provider: string;
  readonly deadlineAt: number;
  readonly kept: Settlement | undefined;
}

export type LedgerCall =
  | { kind: "commit"; operations: readonly Operation[]; outcomes: readonly LedgerOutcome[] }
  | { kind: "keep answer"; hold: number; settlement: Settlement; kept: boolean }
  | { kind: "read answer"; account: number; hold: number; answer: Settlement | undefined }
  | { kind: "lease"; service: Service; leaseMs: number; leased: readonly LeasedHold[] }
  | { kind: "judge claim"; account: number; spender: number; claim: Claim; outcome: LedgerOutcome }
  | { kind: "put spender"; index: number; fields: SpenderFields }
  | { kind: "put deposit"; id: number; account: number; credits: bigint; status: DepositStatus }
  | { kind: "put adjustment"; id: number; account: number; credits: bigint };

export interface JournalEntry {
  /** By PostgreSQL's clock. */
  readonly at: number;
  readonly call: LedgerCall;
}

export class LedgerJournal {
  readonly entries: JournalEntry[] = [];

  add(at: number, call: LedgerCall): void {
    this.entries.push({ at, call });
  }
}
