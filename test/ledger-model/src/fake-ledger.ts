// FakeLedger owns the books behind the fake billing service: MemoryLedger, and beside it the rows that are no money (spenders,
// deposits, stored answers). It does not check fields; these rules are billing's own.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  budgetUse,
  type DepositStatus as DepositName,
  depositEntry,
  findBudget,
  findHold,
  type Hold,
  type Id,
  type Place,
} from "@gr/ledger";
import { ServiceError } from "@gr/proto";
import {
  type CheckSpenderRequest,
  DepositStatus,
  type GetCreditsRequest,
  type GetCreditsResponseSchema,
  HoldState,
  type JudgeClaimRequest,
  type KeepAnswerRequest,
  type LeaseExpiredHoldsRequest,
  type ListHoldsRequest,
  type Operation,
  type Outcome,
  OutcomeCode,
  OutcomeSchema,
  type PutAdjustmentRequest,
  type PutDepositRequest,
  ReleaseReason,
  type Spender,
  SpenderSchema,
  SpendPeriod,
} from "@gr/proto/billing";
import { type Clock, LONGEST_PAGE, pageOf } from "@gr/runtime";
import { MemoryLedger } from "./memory-ledger.ts";
import { claimOf, definitionOf, hexOf, invalid, operationOf, outcomeMessage } from "./messages.ts";

const STATES = {
  open: HoldState.OPEN,
  captured: HoldState.CAPTURED,
  released: HoldState.RELEASED,
} as const;

/** Parts of a hold that the ledger does not have. */
interface HoldRow {
  readonly holdId: Id;
  readonly accountId: Id;
  releaseReason: ReleaseReason;
  kept: KeepAnswerRequest | undefined;
}

/** A hold at this moment, as the contract names its fields. */
export type FakeHold = ReturnType<typeof fakeHold>;

export interface FakeLedgerOptions {
  readonly clock: Clock;
  /** Requests to free models that an account may make a day; absent = no limit. */
  readonly freeLimit?: number;
  /** Credits of accounts that no test opened; absent: such accounts and their spenders are refused. */
  readonly credit?: bigint;
}

export class FakeLedger {
  readonly memory: MemoryLedger;
  /** By account and id: the same id in two accounts is two budgets. */
  readonly #spenders = new Map<string, Spender>();
  readonly #options: FakeLedgerOptions;
  readonly #rows = new Map<Id, HoldRow>();
  readonly #deposits = new Map<string, PutDepositRequest>();
  readonly #adjustments = new Map<string, PutAdjustmentRequest>();

  constructor(options: FakeLedgerOptions) {
    this.#options = options;
    this.memory = new MemoryLedger(options.freeLimit ?? null);
  }

  get #now(): number {
    return this.#options.clock.now();
  }

  /** @param placeOutcome answer to each new place with a free claim or without one; DONE = decide */
  post(messages: readonly Operation[], placeOutcome: OutcomeCode): Outcome[] {
    return messages.map((message) => this.#apply(message, placeOutcome));
  }

  #apply(message: Operation, placeOutcome: OutcomeCode): Outcome {
    const operation = operationOf(message, (id) => this.#rows.get(id)?.accountId);
    const row = this.#rows.get(operation.holdId);
    if (operation.kind === "place") return this.#place(operation, row, placeOutcome);
    if (row === undefined) return outcomeMessage({ code: "unknown_hold" });
    if (message.operation.case === "release" && this.#hold(row).state === "open") {
      row.releaseReason = message.operation.value.reason;
    }
    return outcomeMessage(this.memory.decide(operation, this.#now));
  }

  #place(place: Place, row: HoldRow | undefined, placeOutcome: OutcomeCode): Outcome {
    const { accountId, budgetId, holdId, claim } = place;
    // Ids of holds are unique among all accounts.
    if (row !== undefined && row.accountId !== accountId) return outcomeMessage({ code: "already_resolved" });
    this.#admit(accountId, budgetId);
    if (row === undefined && placeOutcome !== OutcomeCode.DONE) {
      const judged = claim && this.memory.judgeClaim(accountId, { budgetId, claim }, this.#now);
      if (judged !== undefined && judged.code !== "done") return outcomeMessage(judged);
      return create(OutcomeSchema, { code: placeOutcome });
    }
    const outcome = this.memory.decide(place, this.#now);
    if (row === undefined && outcome.code === "done") {
      this.#rows.set(holdId, {
        holdId,
        accountId,
        releaseReason: ReleaseReason.UNSPECIFIED,
        kept: undefined,
      });
    }
    return outcomeMessage(outcome);
  }

  openAccount(accountId: Id): void {
    if (this.memory.account(accountId).seq > 0) return;
    const { credit = 0n } = this.#options;
    this.memory.decide({ kind: "open", accountId }, this.#now);
    if (credit > 0n)
      this.memory.decide({ kind: "deposit", accountId, id: accountId, credits: credit }, this.#now);
  }

  setSuspended(accountId: Id, suspended: boolean): void {
    this.#require(accountId);
    this.memory.decide({ kind: "suspend", accountId, suspended }, this.#now);
  }

  spender(accountId: Id, spenderId: Id): Spender | undefined {
    return this.#spenders.get(`${accountId} ${spenderId}`);
  }

  putSpender(spender: Spender): void {
    const { spenderId, accountId } = spender;
    this.#require(accountId);
    const put = { kind: "budget", accountId, definition: definitionOf(spender) } as const;
    const { code } = this.memory.decide(put, this.#now);
    if (code === "invalid_parent") throw invalid("spender.parent_id", "It must be a budget above keys");
    if (code !== "done") throw invalid("spender.revision", "A newer revision of this spender is stored");
    spender.parentId = findBudget(this.memory.account(accountId), spenderId)?.definition.parentId ?? "";
    this.#spenders.set(`${accountId} ${spenderId}`, spender);
  }

  putDeposit(deposit: PutDepositRequest): void {
    const { depositId: id, accountId, credits, status } = deposit;
    this.#require(accountId);
    const known = this.#deposits.get(id);
    if (known !== undefined && (known.accountId !== accountId || known.credits !== credits)) {
      throw invalid("deposit_id", "This id belongs to a deposit of another account or amount");
    }
    const kind = depositEntry(known && nameOf(known.status), nameOf(status));
    if (kind === undefined) {
      throw invalid(known === undefined ? "deposit_id" : "status", "The status cannot follow the one before");
    }
    this.#deposits.set(id, deposit);
    if (kind !== null) this.#credit(kind, accountId, id, kind === "deposit" ? credits : -credits);
  }

  putAdjustment(adjustment: PutAdjustmentRequest): void {
    const { adjustmentId: id, accountId, credits } = adjustment;
    this.#require(accountId);
    const known = this.#adjustments.get(id);
    if (known !== undefined) {
      const isSame =
        known.accountId === accountId && known.credits === credits && known.reason === adjustment.reason;
      if (isSame) return;
      throw invalid("adjustment_id", "This id belongs to another account, amount or reason");
    }
    this.#adjustments.set(id, adjustment);
    this.#credit("adjustment", accountId, id, credits);
  }

  #credit(kind: "deposit" | "refund" | "adjustment", accountId: Id, id: Id, credits: bigint): void {
    const { code } = this.memory.decide({ kind, accountId, id, credits }, this.#now);
    if (code !== "done") throw invalid("credits", "A total would not fit into 64 bits");
  }

  keepAnswer(request: KeepAnswerRequest): void {
    const { holdId, credits: charge, costPicoUsd: cost } = request;
    const row = this.#rows.get(holdId);
    if (row === undefined || !this.memory.keep(row.accountId, holdId, { charge, cost }, this.#now)) {
      throw invalid("hold_id", "The hold is not open, has no claim, or is being resolved");
    }
    row.kept ??= request;
  }

  judgeClaim({ accountId, spenderId: budgetId, personId, claim }: JudgeClaimRequest): Outcome {
    this.#admit(accountId, budgetId);
    if (claim === undefined) return outcomeMessage({ code: "done" });
    const asked = { budgetId, memberId: personId || undefined, claim: claimOf(claim) };
    return outcomeMessage(this.memory.judgeClaim(accountId, asked, this.#now));
  }

  checkSpender(request: CheckSpenderRequest): Outcome {
    const { accountId, spenderId: budgetId, personId, claimKey: key, credits } = request;
    this.#admit(accountId, budgetId);
    const claimKey = key.byteLength === 0 ? undefined : hexOf(key);
    const asked = { budgetId, memberId: personId || undefined, credits, claimKey };
    return outcomeMessage(this.memory.checkSpender(accountId, asked, this.#now));
  }

  readAnswer(accountId: Id, holdId: Id): KeepAnswerRequest | undefined {
    const isKept = this.memory.keptAmounts(accountId, holdId, this.#now) !== undefined;
    return isKept ? this.#rows.get(holdId)?.kept : undefined;
  }

  getCredits(request: GetCreditsRequest): MessageInitShape<typeof GetCreditsResponseSchema> {
    const { accountId, bySpender, spenderId, after, limit } = request;
    this.#require(accountId);
    const { credited, debited, held, suspended } = this.memory.account(accountId);
    const own = [...this.#spenders.values()]
      .filter((spender) => bySpender && spender.accountId === accountId)
      .sort((a, b) => Number(a.createdAt - b.createdAt) || (a.spenderId < b.spenderId ? -1 : 1));
    const last = own.findIndex((spender) => spender.spenderId === after);
    if (bySpender && after !== "" && last === -1) throw invalid("after", "There is no such spender");
    const found = own.slice(last + 1).filter((each) => spenderId === "" || each.spenderId === spenderId);
    const { entries, hasMore } = pageOf(found, limit || LONGEST_PAGE);
    const adjusted = [...this.#adjustments.values()]
      .filter((adjustment) => adjustment.accountId === accountId)
      .reduce((sum, { credits }) => sum + credits, 0n);
    return {
      depositedCredits: credited - adjusted,
      remainingCredits: credited - debited,
      heldCredits: held,
      usage: entries.map((spender) => this.#usageOf(spender)),
      hasMore,
      suspended,
    };
  }

  #usageOf(spender: Spender) {
    const account = this.memory.account(spender.accountId);
    const budget = findBudget(account, spender.spenderId);
    if (budget === undefined) throw new Error(`Spender ${spender.spenderId} has no budget.`);
    const { used: usedCredits, requests } = budget;
    const { used: windowUsedCredits, windowStart: start } = budgetUse(account, budget, this.#now);
    return {
      ...{ spender, usedCredits, requests: BigInt(requests), windowUsedCredits },
      ...(start === null ? {} : { windowStart: BigInt(start) }),
    };
  }

  listHolds({ accountId, state, limit, after }: ListHoldsRequest): { holds: FakeHold[]; hasMore: boolean } {
    // Holds of an account are in the order of their places; only open ones of all accounts are in the order of time.
    const own = this.holds().filter((hold) => accountId === "" || hold.accountId === accountId);
    const all =
      state === HoldState.OPEN ? own : own.sort((a, b) => compareAccounts(a.accountId, b.accountId));
    const last = after === "" ? -1 : all.findIndex(({ holdId }) => holdId === after);
    const found = after !== "" && last === -1 ? [] : all.slice(last + 1);
    const wanted = found.filter((hold) => state === HoldState.UNSPECIFIED || hold.state === state);
    const { entries, hasMore } = pageOf(wanted, limit || 100);
    return { holds: [...entries], hasMore };
  }

  leaseExpired({ service, limit, leaseMs }: LeaseExpiredHoldsRequest): FakeHold[] {
    const now = this.#now;
    const due = this.holds()
      .filter((hold) => hold.state === HoldState.OPEN && hold.service === service)
      .filter(({ deadlineAt, leasedUntil }) => deadlineAt <= BigInt(now) && leasedUntil <= now)
      .sort((a, b) => Number(a.deadlineAt - b.deadlineAt) || (a.holdId < b.holdId ? -1 : 1))
      .slice(0, limit || 100);
    for (const { accountId, holdId } of due) {
      this.memory.decide({ kind: "lease", accountId, holdId, until: now + Number(leaseMs) }, now);
    }
    return due;
  }

  /** In the order of their places. */
  holds(): FakeHold[] {
    return [...this.#rows.values()].map((row) => this.#view(row));
  }

  hold(holdId: Id): FakeHold | undefined {
    const row = this.#rows.get(holdId);
    return row && this.#view(row);
  }

  #view(row: HoldRow): FakeHold {
    const hold = this.#hold(row);
    const budget = this.memory.account(row.accountId).budgets[(hold.chain[0]?.budget ?? 0) - 1];
    return fakeHold(row, hold, budget?.definition.id ?? "");
  }

  /** Time passes for this hold alone, until its deadline is past. */
  expire(holdId: Id): void {
    const { accountId } = this.#row(holdId);
    const hold = this.#hold(this.#row(holdId));
    this.memory.account(accountId).open.set(holdId, { ...hold, deadlineAt: this.#now - 1 });
  }

  /** Another process releases the hold without an outcome. */
  giveUp(holdId: Id): void {
    const { accountId } = this.#row(holdId);
    this.memory.decide({ kind: "release", accountId, holdId, cost: 0n, unresolved: true }, this.#now);
  }

  #row(holdId: Id): HoldRow {
    const row = this.#rows.get(holdId);
    if (row === undefined) throw new RangeError(`There is no hold ${holdId}.`);
    return row;
  }

  #hold({ accountId, holdId }: HoldRow): Hold {
    const hold = findHold(this.memory.account(accountId), holdId);
    if (hold === undefined) throw new RangeError(`Account ${accountId} has no hold ${holdId}.`);
    return hold;
  }

  #require(accountId: Id): void {
    if (this.#options.credit !== undefined) this.openAccount(accountId);
    if (this.memory.account(accountId).seq > 0) return;
    throw new ServiceError("account_not_found", `There is no account ${accountId}.`, { param: "account_id" });
  }

  /** With `credit`, each account exists, and each spender that no test has put has no limit. */
  #admit(accountId: Id, spenderId: Id): void {
    if (this.#options.credit === undefined) return;
    this.openAccount(accountId);
    if (this.spender(accountId, spenderId) !== undefined) return;
    const fields = { name: "any", period: SpendPeriod.LIFETIME, active: true };
    this.putSpender(create(SpenderSchema, { ...fields, accountId, spenderId }));
  }
}

function fakeHold(row: HoldRow, hold: Hold, spenderId: Id) {
  const { tag, attempt, credits, charge, cost, leasedUntil, placedAt, deadlineAt } = hold;
  return {
    ...{ ...row, ...tag, spenderId, attempt, credits, leasedUntil },
    state: STATES[hold.state],
    chargedCredits: charge,
    costPicoUsd: cost,
    placedAt: BigInt(placedAt),
    deadlineAt: BigInt(deadlineAt),
  };
}

function nameOf(status: DepositStatus): DepositName {
  const names = ["PENDING", "COMPLETED", "FAILED", "REFUNDED"] as const;
  const name = names.find((each) => DepositStatus[each] === status);
  if (name === undefined) throw invalid("status", "It must be pending, completed, failed or refunded");
  return name;
}

/** By bucket, which is the last byte, then by id. */
function compareAccounts(one: Id, other: Id): number {
  const [a, b] = [one.slice(-2) + one, other.slice(-2) + other];
  return a < b ? -1 : Number(a > b);
}
