// Billing for the tests of other modules: the whole BillingService on LedgerModel, in memory. A test may look at its holds
// and its log, and may make it wait, fail or lose an answer. The history test of billing proves that it answers as the real one.
import { create } from "@bufbuild/protobuf";
import {
  BillingService,
  HoldState,
  type Operation,
  OutcomeCode,
  type PostRequest,
  ReleaseReason,
  type Spender,
  SpenderSchema,
  SpendPeriod,
  type TextLine,
  TextLogService,
} from "@gr/proto/billing";
import { type Clock, defineModule, implement, type Module, type RpcService, systemClock } from "@gr/runtime";
import { z } from "zod";
import { type FakeHold, FakeLedger } from "./fake-ledger.ts";
import type { LedgerModel } from "./ledger-model.ts";

/** One operation of a Post, or another call. What it does not have is empty, zero or undefined. */
export interface BillingCall {
  readonly kind:
    | "place"
    | "capture"
    | "release"
    | "extend"
    | "nextAttempt"
    | "keepAnswer"
    | "judgeClaim"
    | "checkSpender"
    | "readAnswer"
    | "openAccount"
    | "setSuspended"
    | "putSpender"
    | "putDeposit"
    | "putAdjustment"
    | "getCredits"
    | "listHolds"
    | "leaseExpiredHolds"
    | "verifyLedger";
  readonly holdId: string;
  readonly accountId: string;
  readonly credits: bigint;
  readonly cost: bigint;
  readonly reason: ReleaseReason;
  readonly deadlineAt: bigint;
  readonly attempt: number;
  readonly provider: string;
  readonly spender: Spender | undefined;
}

export interface FakeBillingOptions {
  readonly clock?: Clock;
  /** Requests to free models that an account may make a day; absent = no limit. */
  readonly freeLimit?: number;
  /** What accounts have that nobody opened; such accounts and their spenders are refused when it is absent. */
  readonly credit?: bigint;
}

const NOTHING: Omit<BillingCall, "kind"> = {
  holdId: "",
  accountId: "",
  credits: 0n,
  cost: 0n,
  reason: ReleaseReason.UNSPECIFIED,
  deadlineAt: 0n,
  attempt: 0,
  provider: "",
  spender: undefined,
};
const DONE: ReadonlySet<OutcomeCode> = new Set([OutcomeCode.DONE, OutcomeCode.ALREADY_RESOLVED]);

export class FakeBilling {
  /** All that was carried out, in order: not what was refused, and nothing about holds that do not exist. */
  readonly calls: BillingCall[] = [];
  /** The log of text requests, as it was written. */
  readonly textLines: TextLine[] = [];
  /** Runs before a call is carried out, for each of its operations. A rejection fails the whole call, nothing of it is done. */
  before: (call: BillingCall) => Promise<void> = async () => undefined;
  /** Runs when the call was carried out, before its answer. A rejection is what the caller gets instead. */
  after: (call: BillingCall) => Promise<void> = async () => undefined;
  /** Of places whose claim is free; anything but DONE refuses. */
  placeOutcome: OutcomeCode = OutcomeCode.DONE;
  readonly #clock: Clock;
  readonly #ledger: FakeLedger;
  readonly service: RpcService;
  /** The service as a module of its own, for a process of the module under test. */
  readonly module: Module;

  constructor(options: FakeBillingOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#ledger = new FakeLedger({ ...options, clock: this.#clock });
    this.service = this.#serve();
    this.module = defineModule({
      name: "billing",
      needs: [],
      config: z.object({}),
      create: async () => ({ rpc: [this.service, this.#serveTextLog()] }),
    });
  }

  get model(): LedgerModel {
    return this.#ledger.model;
  }

  /** Oldest first. */
  get holds(): FakeHold[] {
    return this.#ledger.holds();
  }

  get openHolds(): FakeHold[] {
    return this.holds.filter(({ state }) => state === HoldState.OPEN);
  }

  /** Of all accounts together, in credits. */
  get charged(): bigint {
    return this.holds.reduce((sum, { chargedCredits }) => sum + chargedCredits, 0n);
  }

  hold(holdId: string): FakeHold | undefined {
    return this.#ledger.hold(holdId);
  }

  /** UNSPECIFIED when there is none. */
  state(holdId: string): HoldState {
    return this.hold(holdId)?.state ?? HoldState.UNSPECIFIED;
  }

  /** What was carried out about one hold. */
  callsOf(holdId: string): BillingCall[] {
    return this.calls.filter((call) => call.holdId === holdId);
  }

  /** The answer that was kept, as text. */
  keptOf(holdId: string): { contentType: string; body: string } | undefined {
    const kept = this.hold(holdId)?.kept;
    return kept && { contentType: kept.contentType, body: Buffer.from(kept.body).toString() };
  }

  /** A key of an account may spend this much in its life. */
  cap(accountId: string, spenderId: string, capCredits: bigint): void {
    const revision = (this.#ledger.spenders.get(spenderId)?.revision ?? 0n) + 1n;
    const fields = { name: "capped", period: SpendPeriod.LIFETIME, active: true, revision };
    this.#ledger.openAccount(accountId);
    this.#ledger.putSpender(create(SpenderSchema, { ...fields, accountId, spenderId, capCredits }));
  }

  /** Somebody else gives an open hold up. */
  giveUp(holdId: string): void {
    const hold = this.hold(holdId);
    if (hold === undefined) throw new RangeError(`there is no hold ${holdId}`);
    this.model.apply({ kind: "abandon", hold: hold.number, cost: 0n }, this.#clock.now());
  }

  /** Time passes for this hold only, until its deadline is past. */
  expire(holdId: string): void {
    this.#ledger.change(holdId, { deadlineAt: BigInt(this.#clock.now() - 1) });
  }

  async #run<Answer>(call: Partial<BillingCall> & Pick<BillingCall, "kind">, answer: () => Answer) {
    const made = { ...NOTHING, ...call };
    await this.before(made);
    const answered = answer();
    this.calls.push(made);
    await this.after(made);
    return answered;
  }

  async #post({ operations }: PostRequest) {
    const calls = operations.map(callOf);
    for (const call of calls) await this.before(call);
    const outcomes = this.#ledger.post(operations, this.placeOutcome);
    const done = calls.filter((_, index) => DONE.has(outcomes[index]?.code ?? OutcomeCode.UNSPECIFIED));
    this.calls.push(...done);
    for (const call of calls) await this.after(call);
    return { outcomes };
  }

  #serve(): RpcService {
    const ledger = this.#ledger;
    return implement(BillingService, {
      post: (request) => this.#post(request),
      openAccount: ({ accountId }) =>
        this.#run({ kind: "openAccount", accountId }, () => {
          ledger.openAccount(accountId);
          return {};
        }),
      setSuspended: ({ accountId, suspended }) =>
        this.#run({ kind: "setSuspended", accountId }, () => {
          ledger.setSuspended(accountId, suspended);
          return {};
        }),
      putSpender: ({ spender }) =>
        this.#run({ kind: "putSpender", accountId: spender?.accountId ?? "", spender }, () => {
          if (spender === undefined) throw new Error("PutSpender without a spender");
          ledger.putSpender(spender);
          return {};
        }),
      putDeposit: (request) =>
        this.#run({ kind: "putDeposit", accountId: request.accountId, credits: request.credits }, () => {
          ledger.putDeposit(request);
          return {};
        }),
      putAdjustment: (request) =>
        this.#run({ kind: "putAdjustment", accountId: request.accountId, credits: request.credits }, () => {
          ledger.putAdjustment(request);
          return {};
        }),
      keepAnswer: (request) => {
        const { holdId, credits, costPicoUsd: cost } = request;
        return this.#run({ kind: "keepAnswer", holdId, credits, cost }, () => {
          ledger.keepAnswer(request);
          return {};
        });
      },
      judgeClaim: (request) =>
        this.#run({ kind: "judgeClaim", accountId: request.accountId }, () => ({
          outcome: ledger.judgeClaim(request),
        })),
      checkSpender: (request) =>
        this.#run({ kind: "checkSpender", accountId: request.accountId }, () => ({
          outcome: ledger.checkSpender(request),
        })),
      readAnswer: ({ accountId, holdId }) =>
        this.#run({ kind: "readAnswer", accountId, holdId }, () => {
          const kept = ledger.readAnswer(accountId, holdId);
          return kept === undefined ? {} : { answer: { contentType: kept.contentType, body: kept.body } };
        }),
      getCredits: (request) =>
        this.#run({ kind: "getCredits", accountId: request.accountId }, () => ledger.getCredits(request)),
      listHolds: (request) =>
        this.#run({ kind: "listHolds", accountId: request.accountId }, () => {
          const { holds, hasMore } = ledger.listHolds(request);
          return { holds: holds.map(messageOf), hasMore };
        }),
      leaseExpiredHolds: (request) =>
        this.#run({ kind: "leaseExpiredHolds" }, () => ({
          holds: ledger.leaseExpired(request).map((hold) => {
            const { kept } = hold;
            const { credits, costPicoUsd } = kept ?? NO_AMOUNTS;
            return { ...messageOf(hold), ...(kept === undefined ? {} : { kept: { credits, costPicoUsd } }) };
          }),
        })),
      verifyLedger: () => this.#run({ kind: "verifyLedger" }, () => this.#report()),
    });
  }

  #serveTextLog(): RpcService {
    const textOf = (line: TextLine) => {
      const { requestId, spenderId, model } = line;
      const { state, chargedCredits, costPicoUsd, priceVersion, provider, placedAt } =
        this.hold(requestId) ?? {};
      return {
        ...{
          requestId,
          spenderId,
          model,
          line,
          placedAt: placedAt ?? 0n,
          state: state ?? HoldState.CAPTURED,
        },
        ...{ chargedCredits: chargedCredits ?? 0n, costPicoUsd: costPicoUsd ?? 0n },
        ...{ priceVersion: priceVersion ?? "", provider: provider ?? "" },
      };
    };
    const linesOf = (accountId: string, spenderId: string) =>
      this.textLines.filter(
        (line) => line.accountId === accountId && (spenderId === "" || line.spenderId === spenderId),
      );
    return implement(TextLogService, {
      writeTexts: async ({ lines }) => {
        this.textLines.push(...lines);
        return {};
      },
      listTexts: async ({ accountId, spenderId }) => ({
        texts: linesOf(accountId, spenderId).toReversed().map(textOf),
        hasMore: false,
      }),
      findText: async ({ accountId, spenderId, requestId }) => {
        const line = linesOf(accountId, spenderId).find((one) => one.requestId === requestId);
        return line === undefined ? {} : { text: textOf(line) };
      },
      getTextRetention: async () => ({ days: 0, own: false }),
      setTextRetention: async () => ({ days: 0, own: false }),
    });
  }

  /** Without a difference: there is nothing to compare the model with. */
  #report() {
    const { holds } = this;
    const captured = holds.filter(({ state }) => state === HoldState.CAPTURED);
    const cost = captured.reduce((sum, { costPicoUsd }) => sum + costPicoUsd, 0n);
    return {
      differences: [],
      accounts: BigInt(this.model.accounts.length),
      holds: BigInt(holds.length),
      openHolds: BigInt(this.openHolds.length),
      chargedCredits: this.charged,
      chargedCostPicoUsd: `${cost}`,
      lostCostPicoUsd: `${this.model.lost}`,
    };
  }
}

const NO_AMOUNTS = { credits: 0n, costPicoUsd: 0n };

/** A hold as the contract says it. */
function messageOf({
  kept: _,
  claim: __,
  number: ___,
  leasedUntil: ____,
  releaseReason: _____,
  ...hold
}: FakeHold) {
  return hold;
}

function callOf({ operation }: Operation): BillingCall {
  switch (operation.case) {
    case "place": {
      const { holdId, accountId, credits, deadlineAt, provider } = operation.value;
      return { ...NOTHING, kind: "place", holdId, accountId, credits, deadlineAt, provider, attempt: 1 };
    }
    case "capture": {
      const { holdId, credits, costPicoUsd: cost } = operation.value;
      return { ...NOTHING, kind: "capture", holdId, credits, cost };
    }
    case "release": {
      const { holdId, reason, costPicoUsd: cost } = operation.value;
      return { ...NOTHING, kind: "release", holdId, reason, cost };
    }
    case "extend": {
      const { holdId, credits, deadlineAt } = operation.value;
      return { ...NOTHING, kind: "extend", holdId, credits, deadlineAt };
    }
    case "nextAttempt": {
      const { holdId, attempt, provider, costPicoUsd: cost, deadlineAt } = operation.value;
      return { ...NOTHING, kind: "nextAttempt", holdId, attempt, provider, cost, deadlineAt };
    }
    default:
      throw new Error("an operation without a kind");
  }
}
