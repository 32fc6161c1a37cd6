// LedgerUnderTest owns one account with its chain of steps, and decides on it with all its holds in memory.
// Each method is one operation and returns its outcome, so a table test is readable.
import { type Account, findBudget, findHold, type Hold, newAccount } from "../account.ts";
import type { Budget, BudgetDefinition, Totals } from "../budget.ts";
import { type Decision, decide } from "../decide.ts";
import type { Id } from "../id.ts";
import type { ClaimRecord } from "../judge/claims.ts";
import type { Missing, Terms } from "../judge/facts.ts";
import type { HoldTag, Operation } from "../operation.ts";
import type { Outcome } from "../outcome.ts";
import type { Step } from "../step.ts";

export const ACCOUNT = "account-1";
export const KEY = "key";
/** Thursday 2026-01-15, 10:00 UTC. */
export const THURSDAY = Date.UTC(2026, 0, 15, 10);
export const HOUR = 3_600_000;
export const TAG: HoldTag = {
  service: "text",
  provider: "first",
  upstreamModel: "upstream/model",
  model: "vendor/model",
  priceVersion: "v1",
};

export interface TestFacts {
  readonly absentHolds: Set<Id>;
  readonly claims: Map<string, ClaimRecord | null>;
}

/** A missing hold or claim does not exist, because the state has each hold. */
export function supply({ absentHolds, claims }: TestFacts, missing: Missing): void {
  if ("hold" in missing) absentHolds.add(missing.hold);
  else claims.set(missing.claim, null);
}

export function newFacts(): TestFacts {
  return { absentHolds: new Set(), claims: new Map() };
}

export function budget(id: Id, fields: Partial<BudgetDefinition> = {}): BudgetDefinition {
  return {
    ...{ id, parentId: null, level: "key", name: `the budget ${id}`, limit: null, period: "lifetime" },
    ...{ expiresAt: null, active: true, createdAt: THURSDAY, revision: 0n },
    ...fields,
  };
}

export class LedgerUnderTest {
  readonly accounts: ReadonlyMap<Id, Account>;
  readonly facts: ReadonlyMap<Id, TestFacts>;
  readonly steps: Step[] = [];
  now = THURSDAY;
  freeLimit: number | null = null;

  constructor(...ids: readonly Id[]) {
    const all = ids.length === 0 ? [ACCOUNT] : ids;
    this.accounts = new Map(all.map((id) => [id, newAccount(id)]));
    this.facts = new Map(all.map((id) => [id, newFacts()]));
  }

  get account(): Account {
    return present(this.accounts.get(ACCOUNT));
  }

  get terms(): Terms {
    return { now: this.now, freeLimit: this.freeLimit };
  }

  decide(operations: readonly Operation[]): Decision {
    for (;;) {
      const decision = decide(this.accounts, operations, this.facts, this.terms);
      if ("missing" in decision) {
        supply(present(this.facts.get(decision.accountId)), decision.missing);
        continue;
      }
      this.steps.push(...decision.steps);
      return decision;
    }
  }

  run(operation: Operation): Outcome {
    return present(this.decide([operation]).outcomes[0]);
  }

  /** Opens the account with this credit and one key. */
  open(credits: bigint, fields: Partial<BudgetDefinition> = {}): this {
    this.run({ kind: "open", accountId: ACCOUNT });
    if (credits > 0n) this.credit(credits);
    this.put(budget(KEY, fields));
    return this;
  }

  credit(credits: bigint, kind: "deposit" | "refund" | "adjustment" = "deposit"): Outcome {
    return this.run({ kind, accountId: ACCOUNT, id: `money-${this.steps.length}`, credits });
  }

  put(definition: BudgetDefinition): Outcome {
    return this.run({ kind: "budget", accountId: ACCOUNT, definition });
  }

  place(holdId: Id, credits: bigint, fields: Partial<Extract<Operation, { kind: "place" }>> = {}): Outcome {
    const deadlineAt = this.now + HOUR;
    const place = { accountId: ACCOUNT, budgetId: KEY, tag: TAG, deadlineAt };
    return this.run({ kind: "place", ...place, holdId, credits, ...fields });
  }

  extend(holdId: Id, credits: bigint, fields: { most?: bigint; deadlineAt?: number } = {}): Outcome {
    const extend = { accountId: ACCOUNT, holdId, credits, deadlineAt: this.now, ...fields };
    return this.run({ kind: "extend", ...extend });
  }

  next(holdId: Id, attempt: number, cost = 0n, billedBy?: string): Outcome {
    const named = { provider: `provider-${attempt}`, upstreamModel: `model-${attempt}`, billedBy };
    const next = { accountId: ACCOUNT, holdId, attempt, cost, deadlineAt: this.now + HOUR, ...named };
    return this.run({ kind: "next", ...next });
  }

  capture(holdId: Id, charge: bigint, cost = charge): Outcome {
    return this.run({ kind: "capture", accountId: ACCOUNT, holdId, charge, cost });
  }

  release(holdId: Id, cost = 0n, fields: { unresolved?: boolean; provider?: string } = {}): Outcome {
    return this.run({ kind: "release", accountId: ACCOUNT, holdId, cost, unresolved: false, ...fields });
  }

  lease(holdId: Id, until = this.now + HOUR): Outcome {
    return this.run({ kind: "lease", accountId: ACCOUNT, holdId, until });
  }

  keep(holdId: Id, charge = 0n, cost = 0n): Outcome {
    return this.run({ kind: "keep", accountId: ACCOUNT, holdId, charge, cost });
  }

  hold(id: Id): Hold {
    return present(findHold(this.account, id));
  }

  budget(id: Id = KEY): Budget {
    return present(findBudget(this.account, id));
  }

  /** Totals of the current window. */
  window(id: Id = KEY): Pick<Totals, "used" | "held"> {
    const { totals, window } = this.budget(id);
    const { used, held } = totals.get(window) ?? { used: 0n, held: 0n };
    return { used, held };
  }
}

export function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("A value of the test is missing.");
  return value;
}
