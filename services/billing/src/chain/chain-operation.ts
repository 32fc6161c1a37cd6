// Chain operation owns the requests to the writer of the chain: those of the ledger, and for `keep` the answer itself.
import type { CreditChange, Keep, Operation } from "@gr/ledger";
import type { AnswerContent } from "./claim-store.ts";

export interface KeepAnswer extends Keep {
  readonly answer: AnswerContent;
}

export type ChainOperation = Exclude<Operation, Keep> | KeepAnswer;

/** The operation begins a hold, a deposit, a refund or an adjustment: its id is in the unique index of beginnings. */
export function beginningOf(operation: ChainOperation): string | undefined {
  if (operation.kind === "place") return operation.holdId;
  return isCreditChange(operation) ? operation.id : undefined;
}

export function isCreditChange(operation: ChainOperation): operation is CreditChange {
  const { kind } = operation;
  return kind === "deposit" || kind === "refund" || kind === "adjustment";
}

/**
 * Cuts a batch before an id that begins a second time, so one INSERT never has the same beginning twice. A hold that the same
 * account places again is no second beginning: the decision answers it.
 * @returns the longest runs, in order
 */
export function runsOf(operations: readonly ChainOperation[]): ChainOperation[][] {
  let run: ChainOperation[] = [];
  const runs = [run];
  const begun = new Map<string, string>();
  for (const operation of operations) {
    const id = beginningOf(operation);
    if (id === undefined) {
      run.push(operation);
      continue;
    }
    const key = `${operation.kind} ${id}`;
    const before = begun.get(key);
    if (before !== undefined && (operation.kind !== "place" || before !== operation.accountId)) {
      run = [];
      runs.push(run);
      begun.clear();
    }
    run.push(operation);
    begun.set(key, operation.accountId);
  }
  return runs;
}
