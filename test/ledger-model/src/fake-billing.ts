// FakeBilling owns the whole BillingService in memory, for the tests of other modules. A test may look at its holds and its log,
// and may make it wait, fail or lose an answer. The history test of billing proves that it answers like the real service.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ActivityService } from "@gr/proto/activity";
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
import { PutBudgetRequestSchema } from "@gr/proto/budgets";
import { type SavedText, SavedTextService } from "@gr/proto/saved-texts";
import { type Clock, defineModule, implement, type Module, type RpcService, systemClock } from "@gr/runtime";
import { z } from "zod";
import { FakeBudgets } from "./fake-budgets.ts";
import { type FakeHold, FakeLedger, type FakeLedgerOptions } from "./fake-ledger.ts";

/** One operation of a Post, or another call. An absent field is empty, zero or undefined. */
export interface BillingCall {
  readonly kind: keyof typeof BillingService.method | NonNullable<Operation["operation"]["case"]>;
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

export type FakeBillingOptions = Partial<FakeLedgerOptions>;

const DONE: ReadonlySet<OutcomeCode> = new Set([OutcomeCode.DONE, OutcomeCode.ALREADY_RESOLVED]);

export class FakeBilling {
  /** Calls that were carried out, in order: no refused operation, and none on an unknown hold. */
  readonly calls: BillingCall[] = [];
  /** The log of text requests, as it was written. */
  readonly textLines: TextLine[] = [];
  /** Saved prompts and answers, as they were written. */
  readonly savedTexts: SavedText[] = [];
  /** Runs before a call is carried out, for each of its operations. A rejection fails the whole call, and nothing of it is done. */
  before: (call: BillingCall) => Promise<void> = async () => undefined;
  /** Runs between a call and its answer. A rejection replaces the answer. */
  after: (call: BillingCall) => Promise<void> = async () => undefined;
  /** Answer to places with a free claim or without one; DONE = the ledger decides. */
  placeOutcome: OutcomeCode = OutcomeCode.DONE;
  readonly service: RpcService;
  /** A module of this service alone, for a process of the module under test. */
  readonly module: Module;
  readonly #ledger: FakeLedger;
  readonly #budgets: FakeBudgets;

  constructor(options: FakeBillingOptions = {}) {
    const clock: Clock = options.clock ?? systemClock;
    this.#ledger = new FakeLedger({ ...options, clock });
    this.#budgets = new FakeBudgets(this.#ledger.memory, () => clock.now());
    this.service = this.#serve();
    this.module = defineModule({
      name: "billing",
      needs: [],
      config: z.object({}),
      create: async () => ({
        rpc: [
          this.service,
          this.#budgets.serve(),
          this.#serveTextLog(),
          this.#serveSavedTexts(),
          this.#serveActivity(),
        ],
      }),
    });
  }

  /** Booked costs that no charge pays, in pico. */
  get lost(): bigint {
    return this.#ledger.memory.lost;
  }

  /** Oldest first. */
  get holds(): FakeHold[] {
    return this.#ledger.holds();
  }

  get openHolds(): FakeHold[] {
    return this.holds.filter(({ state }) => state === HoldState.OPEN);
  }

  /** Charges of all accounts, in credits. */
  get charged(): bigint {
    return this.holds.reduce((sum, { chargedCredits }) => sum + chargedCredits, 0n);
  }

  hold(holdId: string): FakeHold | undefined {
    return this.#ledger.hold(holdId);
  }

  /** UNSPECIFIED if there is no such hold. */
  state(holdId: string): HoldState {
    return this.hold(holdId)?.state ?? HoldState.UNSPECIFIED;
  }

  /** Calls on one hold that were carried out. */
  callsOf(holdId: string): BillingCall[] {
    return this.calls.filter((call) => call.holdId === holdId);
  }

  /** The kept answer, as text. */
  keptOf(holdId: string): { contentType: string; body: string } | undefined {
    const kept = this.hold(holdId)?.kept;
    return kept && { contentType: kept.contentType, body: Buffer.from(kept.body).toString() };
  }

  /** Sets the spend limit of a key, for its lifetime. */
  cap(accountId: string, spenderId: string, spendLimit: bigint): void {
    const revision = (this.#ledger.spender(accountId, spenderId)?.revision ?? 0n) + 1n;
    const fields = { name: "limited", period: SpendPeriod.LIFETIME, active: true, revision };
    this.#ledger.openAccount(accountId);
    const limited = { ...fields, accountId, spenderId, capCredits: spendLimit };
    this.#ledger.putSpender(create(SpenderSchema, limited));
  }

  /** Creates a budget above keys, or changes the named fields of one. */
  putBudget(budget: MessageInitShape<typeof PutBudgetRequestSchema>): void {
    this.#budgets.put(create(PutBudgetRequestSchema, budget));
  }

  /** Another process releases an open hold, without an outcome. */
  giveUp(holdId: string): void {
    this.#ledger.giveUp(holdId);
  }

  /** Time passes for this hold alone, until its deadline is past. */
  expire(holdId: string): void {
    this.#ledger.expire(holdId);
  }

  async #post({ operations }: PostRequest) {
    const calls = operations.map(({ operation }) => callOf(operation.case, operation.value));
    for (const call of calls) await this.before(call);
    const outcomes = this.#ledger.post(operations, this.placeOutcome);
    const done = calls.filter((_, index) => DONE.has(outcomes[index]?.code ?? OutcomeCode.UNSPECIFIED));
    this.calls.push(...done);
    for (const call of calls) await this.after(call);
    return { outcomes };
  }

  #serve(): RpcService {
    const ledger = this.#ledger;
    const logged =
      <Request extends object, Answer>(kind: BillingCall["kind"], answer: (request: Request) => Answer) =>
      async (request: Request): Promise<Answer> => {
        const call = callOf(kind, request);
        await this.before(call);
        const answered = answer(request);
        this.calls.push(call);
        await this.after(call);
        return answered;
      };
    const done = <Request>(act: (request: Request) => void) => {
      return (request: Request) => {
        act(request);
        return {};
      };
    };
    return implement(BillingService, {
      post: (request) => this.#post(request),
      openAccount: logged(
        "openAccount",
        done(({ accountId }) => ledger.openAccount(accountId)),
      ),
      setSuspended: logged(
        "setSuspended",
        done(({ accountId, suspended }) => ledger.setSuspended(accountId, suspended)),
      ),
      putSpender: logged(
        "putSpender",
        done(({ spender }) => ledger.putSpender(spender ?? create(SpenderSchema))),
      ),
      putDeposit: logged(
        "putDeposit",
        done((request) => ledger.putDeposit(request)),
      ),
      putAdjustment: logged(
        "putAdjustment",
        done((request) => ledger.putAdjustment(request)),
      ),
      keepAnswer: logged(
        "keepAnswer",
        done((request) => ledger.keepAnswer(request)),
      ),
      judgeClaim: logged("judgeClaim", (request) => ({ outcome: ledger.judgeClaim(request) })),
      checkSpender: logged("checkSpender", (request) => ({ outcome: ledger.checkSpender(request) })),
      readAnswer: logged("readAnswer", ({ accountId, holdId }) => {
        const { contentType, body } = ledger.readAnswer(accountId, holdId) ?? {};
        return contentType === undefined || body === undefined ? {} : { answer: { contentType, body } };
      }),
      getCredits: logged("getCredits", (request) => ledger.getCredits(request)),
      listHolds: logged("listHolds", (request) => {
        const { holds, hasMore } = ledger.listHolds(request);
        return { holds: holds.map(({ kept: _, ...hold }) => hold), hasMore };
      }),
      leaseExpiredHolds: logged("leaseExpiredHolds", (request) => ({
        holds: ledger.leaseExpired(request).map(({ kept, ...hold }) => {
          if (kept === undefined) return hold;
          const { credits, costPicoUsd } = kept;
          return { ...hold, kept: { credits, costPicoUsd } };
        }),
      })),
      verifyLedger: logged("verifyLedger", () => this.#report()),
    });
  }

  /** Names are accepted, and no activity is kept. */
  #serveActivity(): RpcService {
    return implement(ActivityService, {
      readActivity: async () => ({}),
      nameModelKinds: async () => ({}),
      nameKeyMembers: async () => ({}),
    });
  }

  #serveSavedTexts(): RpcService {
    const isOf = ({
      accountId,
      spenderId,
      requestId,
    }: Record<"accountId" | "spenderId" | "requestId", string>) => {
      return (text: SavedText) =>
        text.accountId === accountId &&
        (spenderId === "" || text.spenderId === spenderId) &&
        (requestId === "" || text.requestId === requestId);
    };
    return implement(SavedTextService, {
      saveTexts: async ({ texts }) => {
        this.savedTexts.push(...texts);
        return { refused: 0 };
      },
      findSavedText: async (request) => {
        const text = this.savedTexts.find(isOf(request));
        return text === undefined ? {} : { text, days: 30 };
      },
      deleteSavedTexts: async (request) => {
        const gone = this.savedTexts.filter(isOf(request));
        for (const text of gone) this.savedTexts.splice(this.savedTexts.indexOf(text), 1);
        return { deleted: BigInt(gone.length) };
      },
      getSavedTextUse: async () => ({ days: 30 }),
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
    /** Begin and id, as text that sorts like both. */
    const placeOf = ({ beganAt, requestId }: Pick<TextLine, "beganAt" | "requestId">) =>
      `${beganAt.toString().padStart(16, "0")} ${requestId}`;
    return implement(TextLogService, {
      writeTexts: async ({ lines }) => {
        this.textLines.push(...lines);
        return {};
      },
      listTexts: async ({ accountId, spenderId, model, before, limit }) => {
        const all = linesOf(accountId, spenderId).filter((line) => model === "" || line.model === model);
        const sorted = all.toSorted((one, other) => (placeOf(one) < placeOf(other) ? 1 : -1));
        const place = before && placeOf(before);
        const rest = sorted.filter((line) => place === undefined || placeOf(line) < place);
        return { texts: rest.slice(0, limit).map(textOf), hasMore: rest.length > limit };
      },
      // Lines are for lists and reads; no test of another module sums them.
      sumTexts: async () => ({}),
      findText: async ({ accountId, spenderId, requestId }) => {
        const line = linesOf(accountId, spenderId).find((one) => one.requestId === requestId);
        return line === undefined ? {} : { text: textOf(line) };
      },
      getTextRetention: async () => ({ days: 0, own: false }),
      setTextRetention: async () => ({ days: 0, own: false }),
    });
  }

  /** Without a difference: there are no other books to compare these with. */
  #report() {
    const { holds } = this;
    const captured = holds.filter(({ state }) => state === HoldState.CAPTURED);
    const cost = captured.reduce((sum, { costPicoUsd }) => sum + costPicoUsd, 0n);
    const accounts = [...this.#ledger.memory.accounts.values()].filter(({ seq }) => seq > 0);
    return {
      differences: [],
      accounts: BigInt(accounts.length),
      holds: BigInt(holds.length),
      openHolds: BigInt(this.openHolds.length),
      chargedCredits: this.charged,
      chargedCostPicoUsd: `${cost}`,
      lostCostPicoUsd: `${this.lost}`,
    };
  }
}

type Fields = Omit<BillingCall, "kind" | "cost"> & { readonly costPicoUsd: bigint };

function callOf(kind: BillingCall["kind"] | undefined, request: object = {}): BillingCall {
  if (kind === undefined) throw new Error("The operation has no kind.");
  const fields: Partial<Fields> = request;
  const { spender, holdId = "", accountId = spender?.accountId ?? "", credits = 0n } = fields;
  const { costPicoUsd: cost = 0n, deadlineAt = 0n, provider = "" } = fields;
  const { attempt = kind === "place" ? 1 : 0 } = fields;
  const reason =
    kind === "release" ? (fields.reason ?? ReleaseReason.UNSPECIFIED) : ReleaseReason.UNSPECIFIED;
  return { kind, holdId, accountId, credits, cost, reason, deadlineAt, attempt, provider, spender };
}
