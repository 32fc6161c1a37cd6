// The books behind the fake billing service: LedgerModel, and beside it what the contract says of a hold that is no money
// (whom it was placed for, its deadline, its lease, its kept answer). Field rules are not checked: they are billing's own.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ServiceError } from "@gr/proto";
import {
  type CheckSpenderRequest,
  type Claim,
  DepositStatus,
  type GetCreditsRequest,
  type GetCreditsResponseSchema,
  HoldState,
  type JudgeClaimRequest,
  type KeepAnswerRequest,
  type LeaseExpiredHoldsRequest,
  type ListHoldsRequest,
  type NextAttempt,
  type Operation,
  type Outcome,
  OutcomeCode,
  type Place,
  type PutAdjustmentRequest,
  type PutDepositRequest,
  ReleaseReason,
  type Spender,
} from "@gr/proto/billing";
import { type Clock, LONGEST_PAGE, pageOf } from "@gr/runtime";
import { availableTo, type SpenderFields, windowStart } from "./hold-model.ts";
import { LedgerModel, type LedgerOperation, type LedgerOutcome } from "./ledger-model.ts";
import { outcomeMessage, periodOf } from "./outcome-message.ts";

const STATES = {
  open: HoldState.OPEN,
  captured: HoldState.CAPTURED,
  released: HoldState.RELEASED,
} as const;
/** What the first news of a deposit, and each later one, may be; true where money moves. */
const DEPOSITS: ReadonlyMap<DepositStatus | undefined, ReadonlyMap<DepositStatus, bigint>> = new Map([
  [
    undefined,
    new Map([
      [DepositStatus.PENDING, 0n],
      [DepositStatus.COMPLETED, 1n],
      [DepositStatus.FAILED, 0n],
    ]),
  ],
  [
    DepositStatus.PENDING,
    new Map([
      [DepositStatus.PENDING, 0n],
      [DepositStatus.COMPLETED, 1n],
      [DepositStatus.FAILED, 0n],
      [DepositStatus.REFUNDED, 0n],
    ]),
  ],
  [
    DepositStatus.FAILED,
    new Map([
      [DepositStatus.FAILED, 0n],
      [DepositStatus.COMPLETED, 1n],
    ]),
  ],
  [
    DepositStatus.COMPLETED,
    new Map([
      [DepositStatus.COMPLETED, 0n],
      [DepositStatus.REFUNDED, -1n],
    ]),
  ],
  [DepositStatus.REFUNDED, new Map([[DepositStatus.REFUNDED, 0n]])],
]);

/** What the model does not know of a hold. */
interface HoldFields {
  readonly number: number;
  readonly holdId: string;
  readonly accountId: string;
  readonly spenderId: string;
  readonly service: string;
  readonly model: string;
  readonly priceVersion: string;
  readonly placedAt: bigint;
  readonly claim: Claim | undefined;
  provider: string;
  upstreamModel: string;
  deadlineAt: bigint;
  leasedUntil: number;
  releaseReason: ReleaseReason;
  kept: KeepAnswerRequest | undefined;
}

/** A hold as it is. */
export interface FakeHold extends Readonly<HoldFields> {
  readonly state: HoldState;
  readonly credits: bigint;
  readonly chargedCredits: bigint;
  readonly costPicoUsd: bigint;
  readonly attempt: number;
}

export interface FakeLedgerOptions {
  readonly clock: Clock;
  /** Requests to free models that an account may make a day; absent = no limit. */
  readonly freeLimit?: number;
  /** What accounts have that nobody opened; such accounts and their spenders are refused when it is absent. */
  readonly credit?: bigint;
}

export class FakeLedger {
  readonly model: LedgerModel;
  readonly spenders = new Map<string, Spender>();
  readonly #options: FakeLedgerOptions;
  readonly #accountNumbers = new Map<string, number>();
  readonly #spenderNumbers = new Map<string, number>();
  readonly #holds = new Map<string, HoldFields>();
  readonly #holdIds: string[] = [];
  readonly #deposits = new Map<string, { status: DepositStatus; accountId: string; credits: bigint }>();
  readonly #adjustments = new Set<string>();
  /** By account: as much of what it deposited are adjustments. */
  readonly #adjusted = new Map<string, bigint>();

  constructor(options: FakeLedgerOptions) {
    this.#options = options;
    this.model = new LedgerModel(0, [], options.freeLimit ?? Number.POSITIVE_INFINITY);
  }

  /** All of them at once. */
  post(operations: readonly Operation[], placeOutcome: OutcomeCode): Outcome[] {
    return operations.map((each) =>
      outcomeMessage(this.#apply(each, placeOutcome), (hold) => this.#holdIds[hold] ?? ""),
    );
  }

  #apply({ operation }: Operation, placeOutcome: OutcomeCode): LedgerOutcome {
    const { value } = operation;
    if (value === undefined) throw new ServiceError("invalid_value", "An operation is empty.");
    const known = this.#holds.get(value.holdId);
    if (operation.case === "place") return this.#place(operation.value, known, placeOutcome);
    if (known === undefined) return { code: OutcomeCode.UNKNOWN_HOLD };
    const { number: hold } = known;
    switch (operation.case) {
      case "capture": {
        const { credits, costPicoUsd: cost } = operation.value;
        return this.#run({ kind: "capture", hold, credits, cost });
      }
      case "release": {
        const { reason, costPicoUsd: cost } = operation.value;
        const provider = operation.value.provider || undefined;
        if (this.model.holds.get(hold)?.state === "open") known.releaseReason = reason;
        const kind = reason === ReleaseReason.UNRESOLVED ? "abandon" : "release";
        return this.#run({ kind, hold, cost, provider });
      }
      case "extend": {
        const { credits, mostCredits: most, deadlineAt } = operation.value;
        const outcome = this.#run({ kind: "extend", hold, credits, most });
        if (outcome.code === OutcomeCode.DONE) known.deadlineAt = later(known.deadlineAt, deadlineAt);
        return outcome;
      }
      case "nextAttempt":
        return this.#next(operation.value, known);
    }
  }

  #run(operation: LedgerOperation): LedgerOutcome {
    return this.model.apply(operation, this.#options.clock.now());
  }

  #place(place: Place, known: HoldFields | undefined, placeOutcome: OutcomeCode): LedgerOutcome {
    const { accountId, spenderId, credits, mostCredits: most } = place;
    const account = this.#accountOf(accountId);
    const spender = this.#spenderOf(spenderId, accountId);
    const claim = place.claim && claimOf(place.claim);
    const now = this.#options.clock.now();
    if (known === undefined && (account === undefined || spender === undefined)) {
      const payer = this.model.accounts[account ?? -1];
      return { code: OutcomeCode.SPENDER_INACTIVE, available: payer === undefined ? 0n : availableTo(payer) };
    }
    const hold = known?.number ?? this.#holdIds.length;
    if (known === undefined && placeOutcome !== OutcomeCode.DONE) {
      const judged = claim && this.model.judge(account ?? -1, spender ?? -1, claim, now);
      return judged === undefined || judged.code === OutcomeCode.DONE ? { code: placeOutcome } : judged;
    }
    const { provider } = place;
    const fields = { hold, account: account ?? -1, spender: spender ?? -1, credits, most, provider };
    const outcome = this.#run({ kind: "place", ...fields, claim });
    if (known === undefined && outcome.code === OutcomeCode.DONE) this.#remember(place, hold);
    return outcome;
  }

  #remember(place: Place, number: number): void {
    const { holdId, accountId, spenderId, service, model, priceVersion, provider, deadlineAt, claim } = place;
    this.#holdIds.push(holdId);
    this.#holds.set(holdId, {
      number,
      holdId,
      accountId,
      spenderId,
      service,
      model,
      priceVersion,
      placedAt: BigInt(this.#options.clock.now()),
      claim,
      provider,
      upstreamModel: place.upstreamModel || model,
      deadlineAt,
      leasedUntil: 0,
      releaseReason: ReleaseReason.UNSPECIFIED,
      kept: undefined,
    });
  }

  #next({ attempt, costPicoUsd: cost, billedBy, ...named }: NextAttempt, known: HoldFields): LedgerOutcome {
    const before = this.model.holds.get(known.number)?.attempt;
    const outcome = this.#run({
      kind: "next",
      hold: known.number,
      attempt,
      cost,
      provider: named.provider,
      billedBy: billedBy || undefined,
    });
    if (this.model.holds.get(known.number)?.attempt === before) return outcome;
    known.provider = named.provider;
    known.upstreamModel = named.upstreamModel;
    known.deadlineAt = later(known.deadlineAt, named.deadlineAt);
    return outcome;
  }

  openAccount(accountId: string): void {
    if (this.#accountNumbers.has(accountId)) return;
    const number = this.model.addAccount();
    this.#accountNumbers.set(accountId, number);
    const account = this.model.accounts[number];
    if (account !== undefined) account.deposited = this.#options.credit ?? 0n;
  }

  setSuspended(accountId: string, suspended: boolean): void {
    const account = this.model.accounts[this.#requireAccount(accountId)];
    if (account !== undefined) account.suspended = suspended;
  }

  putSpender(spender: Spender): void {
    const { spenderId, accountId, capCredits: cap, expiresAt, active, revision } = spender;
    const account = this.#requireAccount(accountId);
    const before = this.spenders.get(spenderId);
    if (before !== undefined && before.accountId !== accountId) {
      throw invalid("spender.account_id", "This spender belongs to another account");
    }
    if (before !== undefined && before.revision > revision) {
      throw invalid("spender.revision", "A newer revision of this spender is stored");
    }
    const fields: SpenderFields = {
      cap,
      period: periodOf(spender.period),
      expiresAt: expiresAt === undefined ? undefined : Number(expiresAt),
      active,
    };
    const number = this.#spenderNumbers.get(spenderId);
    this.spenders.set(spenderId, spender);
    if (number === undefined) this.#spenderNumbers.set(spenderId, this.model.addSpender(account, fields));
    else this.model.putSpender(number, fields);
  }

  putDeposit({ depositId, accountId, credits, status }: PutDepositRequest): void {
    const account = this.#requireAccount(accountId);
    const known = this.#deposits.get(depositId);
    if (known !== undefined && (known.accountId !== accountId || known.credits !== credits)) {
      throw invalid("deposit_id", "This id belongs to a deposit of another account or amount");
    }
    const change = DEPOSITS.get(known?.status)?.get(status);
    if (change === undefined) {
      const field = known === undefined ? "deposit_id" : "status";
      throw invalid(field, "The status cannot follow the one before");
    }
    this.#deposits.set(depositId, { status, accountId, credits });
    this.#give(account, change * credits);
  }

  putAdjustment({ adjustmentId, accountId, credits }: PutAdjustmentRequest): void {
    const account = this.#requireAccount(accountId);
    if (this.#adjustments.has(adjustmentId)) return;
    this.#adjustments.add(adjustmentId);
    this.#adjusted.set(accountId, (this.#adjusted.get(accountId) ?? 0n) + credits);
    this.#give(account, credits);
  }

  #give(number: number, credits: bigint): void {
    const account = this.model.accounts[number];
    if (account !== undefined) account.deposited += credits;
  }

  keepAnswer(request: KeepAnswerRequest): void {
    const { credits, costPicoUsd: cost } = request;
    const known = this.#holds.get(request.holdId);
    const claims = this.model.claims;
    if (known === undefined) throw invalid("hold_id", "There is no hold of this id");
    const before = claims.kept(known.number);
    const free = before !== undefined || known.leasedUntil === 0;
    if (!free || !claims.keep(known.number, { credits, cost })) {
      throw invalid("hold_id", "The hold is not open, has no claim, or is being resolved");
    }
    if (before === undefined) known.kept = request;
  }

  judgeClaim({ accountId, spenderId, claim }: JudgeClaimRequest): Outcome {
    const [account, spender] = [this.#accountOf(accountId), this.#spenderOf(spenderId, accountId)];
    const now = this.#options.clock.now();
    const judged =
      claim === undefined || account === undefined
        ? { code: OutcomeCode.DONE }
        : this.model.judge(account, spender ?? -1, claimOf(claim), now);
    return outcomeMessage(judged, (hold) => this.#holdIds[hold] ?? "");
  }

  checkSpender({ accountId, spenderId, claimKey, credits }: CheckSpenderRequest): Outcome {
    const [account, spender] = [this.#accountOf(accountId), this.#spenderOf(spenderId, accountId)];
    const key = claimKey.byteLength === 0 ? undefined : hexOf(claimKey);
    const checked =
      account === undefined || spender === undefined
        ? { code: OutcomeCode.SPENDER_INACTIVE }
        : this.model.check({ account, spender, key, credits }, this.#options.clock.now());
    return outcomeMessage(checked, (hold) => this.#holdIds[hold] ?? "");
  }

  readAnswer(accountId: string, holdId: string): KeepAnswerRequest | undefined {
    const known = this.#holds.get(holdId);
    const account = this.#accountNumbers.get(accountId);
    if (known === undefined || account === undefined) return undefined;
    const kept = this.model.claims.read(account, known.number, this.#options.clock.now());
    return kept && known.kept;
  }

  getCredits(request: GetCreditsRequest): MessageInitShape<typeof GetCreditsResponseSchema> {
    const { accountId, bySpender, spenderId, after } = request;
    const account = this.model.accounts[this.#requireAccount(accountId)];
    const { deposited, charged, held, suspended } = account ?? NOTHING_THERE;
    const own = [...this.spenders.values()]
      .filter((spender) => bySpender && spender.accountId === accountId)
      .sort((a, b) => Number(a.createdAt - b.createdAt) || (a.spenderId < b.spenderId ? -1 : 1));
    const last = own.findIndex((spender) => spender.spenderId === after);
    if (bySpender && after !== "" && last === -1) throw invalid("after", "There is no such spender");
    const found = own.slice(last + 1).filter((each) => spenderId === "" || each.spenderId === spenderId);
    const { entries, hasMore } = pageOf(found, request.limit || LONGEST_PAGE);
    return {
      depositedCredits: deposited - (this.#adjusted.get(accountId) ?? 0n),
      remainingCredits: deposited - charged,
      heldCredits: held,
      usage: entries.map((spender) => this.#usageOf(spender)),
      hasMore,
      suspended,
    };
  }

  #usageOf(spender: Spender) {
    const number = this.#spenderNumbers.get(spender.spenderId) ?? -1;
    const { used, requests, window } = this.model.spenders[number] ?? NOTHING_USED;
    const period = periodOf(spender.period);
    const started = windowStart(period, this.#options.clock.now());
    const current = started !== undefined && window.start !== undefined && window.start >= started;
    return {
      spender,
      usedCredits: used,
      requests,
      windowUsedCredits: current || period === "lifetime" ? window.used : 0n,
      ...(current ? { windowStart: BigInt(window.start ?? 0) } : {}),
    };
  }

  listHolds({ accountId, state, limit, after }: ListHoldsRequest): { holds: FakeHold[]; hasMore: boolean } {
    const most = limit === 0 ? 100 : limit;
    const order = (a: FakeHold, b: FakeHold) =>
      Number(a.placedAt - b.placedAt) || Number(a.holdId > b.holdId) - Number(a.holdId < b.holdId);
    const last = after === "" ? undefined : this.hold(after);
    const found = this.holds()
      .filter((hold) => accountId === "" || hold.accountId === accountId)
      .filter((hold) => state === HoldState.UNSPECIFIED || hold.state === state)
      .filter((hold) => after === "" || (last !== undefined && order(hold, last) > 0))
      .sort(order);
    return { holds: found.slice(0, most), hasMore: found.length > most };
  }

  leaseExpired({ service, limit, leaseMs }: LeaseExpiredHoldsRequest): FakeHold[] {
    const now = this.#options.clock.now();
    const due = this.holds()
      .filter((hold) => hold.state === HoldState.OPEN && hold.service === service)
      .filter((hold) => hold.deadlineAt <= BigInt(now) && hold.leasedUntil <= now)
      .sort((a, b) => Number(a.deadlineAt - b.deadlineAt) || (a.holdId < b.holdId ? -1 : 1))
      .slice(0, limit === 0 ? 100 : limit);
    for (const { holdId, number } of due) {
      this.change(holdId, { leasedUntil: now + Number(leaseMs) });
      this.model.lease(number);
    }
    return due;
  }

  holds(): FakeHold[] {
    return [...this.#holds.keys()].flatMap((id) => this.hold(id) ?? []);
  }

  hold(holdId: string): FakeHold | undefined {
    const fields = this.#holds.get(holdId);
    const hold = fields && this.model.holds.get(fields.number);
    if (fields === undefined || hold === undefined) return undefined;
    const { amount: credits, state, charge: chargedCredits, cost: costPicoUsd, attempt } = hold;
    return { ...fields, credits, state: STATES[state], chargedCredits, costPicoUsd, attempt };
  }

  /** Time passes for one hold only. */
  change(holdId: string, fields: Partial<Pick<HoldFields, "deadlineAt" | "leasedUntil">>): void {
    const hold = this.#holds.get(holdId);
    if (hold === undefined) throw new RangeError(`there is no hold ${holdId}`);
    Object.assign(hold, fields);
  }

  #requireAccount(accountId: string): number {
    const account = this.#accountOf(accountId);
    if (account !== undefined) return account;
    throw new ServiceError("account_not_found", `There is no account ${accountId}.`, { param: "account_id" });
  }

  #accountOf(accountId: string): number | undefined {
    if (this.#options.credit !== undefined) this.openAccount(accountId);
    return this.#accountNumbers.get(accountId);
  }

  #spenderOf(spenderId: string, accountId: string): number | undefined {
    const known = this.#spenderNumbers.get(spenderId);
    const account = this.#accountNumbers.get(accountId);
    if (known !== undefined || this.#options.credit === undefined || account === undefined) return known;
    const made = this.model.addSpender(account, ANY_SPENDER);
    this.#spenderNumbers.set(spenderId, made);
    return made;
  }
}

const ANY_SPENDER: SpenderFields = { cap: undefined, period: "lifetime", expiresAt: undefined, active: true };
const NOTHING_THERE = { deposited: 0n, charged: 0n, held: 0n, suspended: false };
const NOTHING_USED = { used: 0n, requests: 0n, window: { start: undefined, used: 0n } };

function claimOf({ key, fingerprint }: Claim) {
  return { key: hexOf(key), content: hexOf(fingerprint) };
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function later(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

function invalid(field: string, what: string): ServiceError {
  return new ServiceError("invalid_value", `${what} (field "${field}").`, { param: field });
}
