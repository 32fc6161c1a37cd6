// Decide owns the order of a batch: each operation is judged on the state after the operations before it, and all steps of
// the batch are written together or not at all.
import type { Account } from "./account.ts";
import { apply, takeBack, type Undo } from "./apply.ts";
import type { Id } from "./id.ts";
import type { Facts, Missing, Terms } from "./judge/facts.ts";
import { judge } from "./judge/judge.ts";
import type { Operation } from "./operation.ts";
import type { Outcome } from "./outcome.ts";
import type { Step } from "./step.ts";

export interface Decision {
  /** One for each operation, in order. */
  readonly outcomes: readonly Outcome[];
  readonly steps: readonly Step[];
  /** Restores the state and the claims before the decision. */
  readonly undo: Undo;
}

/**
 * Changes `state` and the claims of `facts`. Call `takeBack(undo)` if the steps are not written.
 * @param state each account that an operation names
 * @param facts by account, for the same accounts
 * @returns the fact that the first undecided operation needs; then nothing is changed
 */
export function decide(
  state: ReadonlyMap<Id, Account>,
  operations: readonly Operation[],
  facts: ReadonlyMap<Id, Facts>,
  terms: Terms,
): Decision | { readonly missing: Missing; readonly accountId: Id } {
  const outcomes: Outcome[] = [];
  const steps: Step[] = [];
  const undo: Undo = [];
  try {
    for (const operation of operations) {
      const { accountId } = operation;
      const account = state.get(accountId);
      const known = facts.get(accountId);
      if (account === undefined || known === undefined) {
        throw new RangeError(`The state or the facts of account ${accountId} are not loaded.`);
      }
      const judged = judge(account, operation, known, terms);
      if ("missing" in judged) {
        takeBack(undo);
        return { missing: judged.missing, accountId };
      }
      outcomes.push(judged.outcome);
      if (judged.step === undefined) continue;
      apply(account, judged.step, undo);
      noteClaim(known, judged.step, undo);
      steps.push(judged.step);
    }
  } catch (error) {
    takeBack(undo);
    throw error;
  }
  return { outcomes, steps, undo };
}

function noteClaim({ claims }: Facts, { claim, id, at }: Step, undo: Undo): void {
  if (claim === null) return;
  const before = claims.get(claim.key);
  undo.push(() => void (before === undefined ? claims.delete(claim.key) : claims.set(claim.key, before)));
  claims.set(claim.key, { fingerprint: claim.fingerprint, holdId: id, claimedAt: at });
}
