// MemoryLedger owns accounts and claims in memory, and changes them by the decisions of the ledger alone. It never forgets a hold,
// so a hold or a claim that it does not have does not exist.
import {
  type Account,
  CLAIM_LIFETIME_MS,
  type ClaimRecord,
  checkSpender,
  decide,
  findHold,
  type Hold,
  type Id,
  judgeClaim,
  type KeptAmounts,
  type Missing,
  newAccount,
  type Operation,
  type Outcome,
} from "@gr/ledger";
import type { PicoUsd } from "@gr/money";

interface MemoryFacts {
  readonly absentHolds: Set<Id>;
  readonly claims: Map<string, ClaimRecord | null>;
}

interface Lacking {
  readonly missing: Missing;
}

export class MemoryLedger {
  readonly accounts = new Map<Id, Account>();
  /** Booked costs that no charge pays. */
  lost: PicoUsd = 0n;
  readonly #facts = new Map<Id, MemoryFacts>();
  readonly #freeLimit: number | null;

  /** @param freeLimit places of zero credits of an account a day; null = no limit */
  constructor(freeLimit: number | null) {
    this.#freeLimit = freeLimit;
  }

  /** An id without an account has an empty state with `seq` 0. */
  account(id: Id): Account {
    let account = this.accounts.get(id);
    if (account === undefined) {
      account = newAccount(id);
      this.accounts.set(id, account);
      this.#facts.set(id, { absentHolds: new Set(), claims: new Map() });
    }
    return account;
  }

  decide(operation: Operation, now: number): Outcome {
    const { accountId } = operation;
    this.account(accountId);
    const decision = this.#complete(accountId, () => {
      return decide(this.accounts, [operation], this.#facts, { now, freeLimit: this.#freeLimit });
    });
    for (const { kind, cost } of decision.steps) if (kind !== "capture") this.lost += cost;
    const [outcome] = decision.outcomes;
    if (outcome === undefined) throw new Error("The decision has no outcome.");
    return outcome;
  }

  judgeClaim(accountId: Id, asked: Parameters<typeof judgeClaim>[1], now: number): Outcome {
    const account = this.account(accountId);
    return this.#complete(accountId, (facts) => judgeClaim(account, asked, facts, now)).outcome;
  }

  checkSpender(accountId: Id, asked: Parameters<typeof checkSpender>[1], now: number): Outcome {
    const account = this.account(accountId);
    return this.#complete(accountId, (facts) => checkSpender(account, asked, facts, now)).outcome;
  }

  /** @returns false if the hold has no claim any more, is not open, or a resolver has it */
  keep(accountId: Id, holdId: Id, amounts: KeptAmounts, now: number): boolean {
    if (this.#claimOf(accountId, findHold(this.account(accountId), holdId)) === undefined) return false;
    return this.decide({ kind: "keep", accountId, holdId, ...amounts }, now).code === "done";
  }

  /** @returns amounts of the kept answer; undefined if its claim is over */
  keptAmounts(accountId: Id, holdId: Id, now: number): KeptAmounts | undefined {
    const hold = findHold(this.account(accountId), holdId);
    const claim = this.#claimOf(accountId, hold);
    return claim !== undefined && claim.claimedAt > now - CLAIM_LIFETIME_MS ? hold?.kept : undefined;
  }

  /** @returns undefined if another hold owns the key now */
  #claimOf(accountId: Id, hold: Hold | undefined): ClaimRecord | undefined {
    const record = hold?.claim === undefined ? undefined : this.#facts.get(accountId)?.claims.get(hold.claim);
    return record?.holdId === hold?.id ? (record ?? undefined) : undefined;
  }

  #complete<Answer extends object>(
    accountId: Id,
    ask: (facts: MemoryFacts) => Answer,
  ): Exclude<Answer, Lacking> {
    const facts = this.#facts.get(accountId);
    if (facts === undefined) throw new RangeError(`There is no account ${accountId}.`);
    for (;;) {
      const answer = ask(facts);
      if (!lacks(answer)) return answer as Exclude<Answer, Lacking>;
      const { missing } = answer;
      if ("hold" in missing) facts.absentHolds.add(missing.hold);
      else facts.claims.set(missing.claim, null);
    }
  }
}

function lacks(answer: object): answer is Lacking {
  return "missing" in answer;
}
