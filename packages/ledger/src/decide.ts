// Decide owns the order of a batch: each operation is judged on the state after the operation before it. Callers write the
// steps of all of them in one transaction.
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
 * Changes `state` and `facts.claims`. Call `takeBack(undo)` if the steps are not written.
 * @param state each account that an operation names
 * @returns the facts that the first undecided operation needs; then nothing is changed
 */
export function decide(
  state: ReadonlyMap<Id, Account>,
  operations: readonly Operation[],
  facts: Facts,
  terms: Terms,
): Decision | { readonly missing: Missing; readonly accountId: Id } {
  const outcomes: Outcome[] = [];
  const steps: Step[] = [];
  const undo: Undo = [];
  for (const operation of operations) {
    const account = state.get(operation.accountId);
    if (account === undefined)
      throw new RangeError(`The state of account ${operation.accountId} is not loaded.`);
    const judged = judge(account, operation, facts, terms);
    if ("missing" in judged) {
      takeBack(undo);
      return { missing: judged.missing, accountId: account.id };
    }
    outcomes.push(judged.outcome);
    if (judged.step === undefined) continue;
    apply(account, judged.step, undo);
    noteClaim(facts, judged.step, undo);
    steps.push(judged.step);
  }
  return { outcomes, steps, undo };
}

function noteClaim({ claims }: Facts, { claim, id, at }: Step, undo: Undo): void {
  if (claim === null) return;
  const before = claims.get(claim.key);
  undo.push(() => void (before === undefined ? claims.delete(claim.key) : claims.set(claim.key, before)));
  claims.set(claim.key, { fingerprint: claim.fingerprint, holdId: id, claimedAt: at });
}
