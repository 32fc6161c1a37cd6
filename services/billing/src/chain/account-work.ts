// Account work owns the operations of one account in one flush: their decision, and the facts that it needs. It changes the
// cached account; `undo` restores it if the steps are not stored.
import {
  type Account,
  type ClaimRecord,
  type Decision,
  decide,
  findHold,
  type Id,
  type Outcome,
  type Step,
  type Terms,
  takeBack,
} from "@gr/ledger";
import { MOST_CLOCK_ERROR_MS } from "../writer/clock-check-store.ts";
import { type CachedAccount, noteStep } from "./cached-account.ts";
import type { ChainOperation } from "./chain-operation.ts";
import type { ClaimRow, KeptAnswerRow } from "./claim-store.ts";

/** Time for which a confirmed account, or a confirmed copy of one, refuses hopeless places without a statement. */
const CONFIRMED_FOR_MS = 1_000;

/** Operation with its position in the batch. */
export interface Asked {
  readonly operation: ChainOperation;
  readonly index: number;
}

export class AccountWork {
  readonly cached: CachedAccount;
  readonly asked: Asked[] = [];
  /** Answers of operations that the decision does not see. */
  readonly answered = new Map<Asked, Outcome>();
  /** Ids without a hold in this account. */
  readonly absentHolds = new Set<Id>();
  #decision: Decision | undefined;
  #jumps: number;

  constructor(cached: CachedAccount) {
    this.cached = cached;
    this.#jumps = cached.jumps;
  }

  get account(): Account {
    return this.cached.account;
  }

  get steps(): readonly Step[] {
    return this.#decision?.steps ?? [];
  }

  /** @returns holds that the decision needs and memory lacks; none if it is complete */
  decide(terms: Terms): readonly Id[] {
    if (this.#jumps !== this.cached.jumps) this.absentHolds.clear();
    this.#jumps = this.cached.jumps;
    const doubtful = this.#earlierPlaces();
    if (doubtful.length > 0) return doubtful;
    const facts = { absentHolds: this.absentHolds, claims: this.#knownClaims() };
    const accounts = new Map([[this.account.id, this.account]]);
    const operations = this.#undecided().map(({ operation }) => operation);
    const decision = decide(accounts, operations, new Map([[this.account.id, facts]]), terms);
    if ("outcomes" in decision) {
      this.#decision = decision;
      return [];
    }
    if ("claim" in decision.missing)
      throw new Error("A decision needs a claim that its operations do not name.");
    return [decision.missing.hold, ...this.#unknownHolds()];
  }

  /** @returns keys of new places whose owners memory lacks */
  unreadKeys(): string[] {
    return this.#undecided().flatMap(({ operation }) => {
      if (operation.kind !== "place" || operation.claim === undefined) return [];
      const { key } = operation.claim;
      const isKnown = findHold(this.account, operation.holdId) !== undefined;
      return isKnown || this.cached.claims.has(key) ? [] : [key];
    });
  }

  /**
   * Each operation is a place that waiting for other holds would not help, unless it repeats a stored one. A place of zero credits or
   * with a claim has other reasons.
   */
  isHopeless(): boolean {
    return this.asked.every(({ operation }, position) => {
      if (operation.kind !== "place" || operation.credits === 0n || operation.claim !== undefined)
        return false;
      const outcome = this.#decision?.outcomes[position];
      const isOfMoney = outcome?.code === "insufficient_credits" || outcome?.code === "spend_limit_exceeded";
      return isOfMoney && outcome.refusal?.inFlight === false;
    });
  }

  /** Memory equalled the table within the last second, and no place can be a repeat: the ids of all holds are younger. @param now of the stopwatch */
  isRecentAndNew(now: number): boolean {
    return now - this.cached.confirmed.stopwatch < CONFIRMED_FOR_MS && this.#areNew();
  }

  #areNew(): boolean {
    const confirmedAt = BigInt(Math.ceil(this.cached.confirmed.clock));
    return this.holdIds().every((id) => {
      const madeAt = timeOf(id);
      return madeAt !== undefined && madeAt > confirmedAt;
    });
  }

  holdIds(): Id[] {
    return this.asked.flatMap(({ operation }) => ("holdId" in operation ? [operation.holdId] : []));
  }

  /** Restores the account as it was before the decision. */
  undo(): void {
    if (this.#decision !== undefined) takeBack(this.#decision.undo);
    this.#decision = undefined;
  }

  /** Claims that the steps write, in the order of their generations. */
  claimRows(): ClaimRow[] {
    const generations = new Map<string, number>();
    const rows: ClaimRow[] = [];
    for (const { accountId, id, at, claim } of this.steps) {
      if (claim === null) continue;
      const { key, fingerprint } = claim;
      const before = generations.get(key) ?? this.cached.claims.get(key)?.generation ?? 0;
      generations.set(key, before + 1);
      rows.push({ accountId, key, generation: before + 1, fingerprint, holdId: id, claimedAt: at });
    }
    return rows;
  }

  answerRows(): KeptAnswerRow[] {
    return this.steps.flatMap((step) => {
      if (step.kind !== "keep") return [];
      const { accountId, id: holdId, at: keptAt } = step;
      const keep = this.asked
        .map(({ operation }) => operation)
        .find((each) => each.kind === "keep" && each.holdId === holdId);
      return keep?.kind === "keep" ? [{ accountId, holdId, keptAt, ...keep.answer }] : [];
    });
  }

  /** Notes that the steps are stored. */
  noteStored(): void {
    for (const step of this.steps) noteStep(this.cached, step);
    for (const row of this.claimRows()) {
      this.cached.claims.delete(row.key);
      this.cached.claims.set(row.key, row);
    }
  }

  /** Writes the outcome of each operation to its position. */
  answer(outcomes: (Outcome | undefined)[]): void {
    for (const [{ index }, outcome] of this.answered) outcomes[index] = outcome;
    for (const [position, { index }] of this.#undecided().entries()) {
      outcomes[index] = this.#decision?.outcomes[position];
    }
  }

  #undecided(): readonly Asked[] {
    return this.answered.size === 0 ? this.asked : this.asked.filter((each) => !this.answered.has(each));
  }

  #knownClaims(): Map<string, ClaimRecord | null> {
    const claims = new Map<string, ClaimRecord | null>();
    for (const { operation } of this.asked) {
      if (operation.kind !== "place" || operation.claim === undefined) continue;
      const { key } = operation.claim;
      claims.set(key, this.cached.claims.get(key) ?? null);
    }
    return claims;
  }

  /** Ids of places that the tables before the chain may have: those without a time, and those that are not surely younger than the carry. */
  #earlierPlaces(): Id[] {
    const { carriedAt } = this.account;
    if (carriedAt === 0) return [];
    const youngest = BigInt(carriedAt + MOST_CLOCK_ERROR_MS);
    return this.#undecided().flatMap(({ operation }) => {
      if (operation.kind !== "place" || this.absentHolds.has(operation.holdId)) return [];
      const madeAt = timeOf(operation.holdId);
      const isYoung = madeAt !== undefined && madeAt > youngest;
      return isYoung || findHold(this.account, operation.holdId) !== undefined ? [] : [operation.holdId];
    });
  }

  /** Holds that the operations or the owners of their keys name. */
  #unknownHolds(): Id[] {
    const named = this.asked.flatMap(({ operation }) => {
      if (operation.kind === "place") {
        const owner = operation.claim && this.cached.claims.get(operation.claim.key);
        return owner ? [owner.holdId] : [];
      }
      return "holdId" in operation ? [operation.holdId] : [];
    });
    return named.filter((id) => findHold(this.account, id) === undefined && !this.absentHolds.has(id));
  }
}

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7/;

/** @returns Unix milliseconds of a UUID of version 7; undefined for other ids */
function timeOf(id: Id): bigint | undefined {
  const parts = UUID_V7.exec(id);
  return parts === null ? undefined : BigInt(`0x${parts[1]}${parts[2]}`);
}
