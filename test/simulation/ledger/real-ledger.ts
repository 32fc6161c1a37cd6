// RealLedger owns the replay of a simulated history by the real billing service on a real PostgreSQL: each answer must equal
// that of the history, and the books must equal the history's at the end. Ids follow from the seed.
import { createHash } from "node:crypto";
import { type BillingUnderTest, lostCost, messageOfPeriod, wallet } from "@gr/billing/simulated";
import { findBudget, type Outcome as LedgerOutcome } from "@gr/ledger";
import { outcomeMessage } from "@gr/ledger-model";
import { ServiceError } from "@gr/proto";
import { ReleaseReason } from "@gr/proto/billing";
import { expect } from "@jest/globals";
import type { RecordedHistory } from "../history.ts";
import { idOf, numberOf } from "./ids.ts";
import type { JournalEntry, LeasedHold, LedgerCall } from "./ledger-journal.ts";
import type { Operation, Service, Settlement, SpenderFields } from "./operation.ts";

type CallOf<Kind extends LedgerCall["kind"]> = Extract<LedgerCall, { kind: Kind }>;

const MOST_LEASED = 100;
const MOST_HOLDS = 1_000;

export class RealLedger {
  readonly #ledger: BillingUnderTest;
  readonly #seed: number;
  readonly #history: RecordedHistory;
  /** By account. */
  readonly #adjusted = new Map<number, bigint>();
  readonly #adjustments = new Set<number>();

  constructor(ledger: BillingUnderTest, seed: number, history: RecordedHistory) {
    this.#ledger = ledger;
    this.#seed = seed;
    this.#history = history;
  }

  async open(): Promise<void> {
    const { books, spenders } = this.#history;
    for (const account of books.accounts.keys()) {
      await this.#billing.openAccount({ accountId: this.#id("account", numberOf(account)) });
    }
    for (const [index, { fields }] of spenders.entries()) await this.#putSpender(index, fields);
  }

  async take({ at, call }: JournalEntry): Promise<void> {
    this.#ledger.clock.set(at);
    switch (call.kind) {
      case "commit":
        return this.#commit(call);
      case "keep answer":
        return this.#keepAnswer(call);
      case "read answer":
        return this.#readAnswer(call);
      case "lease":
        return this.#lease(call);
      case "put spender":
        return this.#putSpender(call.index, call.fields);
      case "judge claim":
        return this.#judgeClaim(call);
      case "put deposit":
        return this.#putDeposit(call);
      case "put adjustment":
        return this.#putAdjustment(call);
    }
  }

  /** Compares the real books with those of the history, at its end. */
  async compare(): Promise<void> {
    const { books, spenders } = this.#history;
    for (const account of books.accounts.values()) {
      const { credited, debited, held, open, ended } = account;
      const number = numberOf(account.id);
      const accountId = this.#id("account", number);
      const credits = await this.#billing.getCredits({ accountId, bySpender: true });
      expect(credits).toMatchObject({
        depositedCredits: credited - (this.#adjusted.get(number) ?? 0n),
        remainingCredits: credited - debited,
        heldCredits: held,
      });
      const usage = new Map(credits.usage.map((each) => [each.spender?.spenderId, each]));
      for (const [index, spender] of spenders.entries()) {
        if (spender.account !== number) continue;
        const budget = findBudget(account, idOf(index));
        expect(usage.get(this.#id("spender", index))).toMatchObject({
          usedCredits: budget?.used,
          requests: BigInt(budget?.requests ?? -1),
        });
      }
      const { holds } = await this.#billing.listHolds({ accountId, limit: MOST_HOLDS });
      const real = new Map(holds.map((hold) => [hold.holdId, hold]));
      const mine = [...open.values(), ...ended.values()];
      expect(real.size).toBe(mine.length);
      for (const { id, credits: size, charge, cost } of mine) {
        expect(real.get(this.#id("hold", numberOf(id)))).toMatchObject({
          credits: size,
          chargedCredits: charge,
          costPicoUsd: cost,
        });
      }
    }
    const accountIds = [...books.accounts.keys()].map((id) => this.#id("account", numberOf(id)));
    expect(await lostCost(this.#ledger.db, accountIds)).toBe(books.lost);
  }

  get #billing() {
    return this.#ledger.inProcess;
  }

  /** A UUID that says nothing of its time, so that the spend mirror leaves every place to PostgreSQL. */
  #id(kind: string, index: number): string {
    const hex = createHash("sha256").update(`${this.#seed} ${kind} ${index}`).digest("hex");
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20, 32),
    ].join("-");
  }

  /** Of its own, so that its rounds lease its own holds only. */
  #service(service: Service): string {
    return `${service} of ${this.#seed}`;
  }

  async #commit({ operations, outcomes }: CallOf<"commit">): Promise<void> {
    const answered = await wallet.post(this.#billing, ...operations.map((each) => this.#message(each)));
    expect(answered).toEqual(outcomes.map((each) => this.#outcome(each)));
  }

  #outcome(outcome: LedgerOutcome) {
    const { earlierHoldId } = outcome;
    if (earlierHoldId === undefined) return outcomeMessage(outcome);
    return outcomeMessage({ ...outcome, earlierHoldId: this.#id("hold", numberOf(earlierHoldId)) });
  }

  #message(one: Operation): wallet.OperationInit {
    const holdId = this.#id("hold", one.hold);
    switch (one.kind) {
      case "place": {
        const { claim, account, spender, credits, service } = one;
        const from = { accountId: this.#id("account", account), spenderId: this.#id("spender", spender) };
        return wallet.place(from, credits, {
          holdId,
          service: this.#service(service),
          provider: one.provider,
          deadlineAt: BigInt(one.deadlineAt),
          ...(one.most === undefined ? {} : { mostCredits: one.most }),
          ...(claim === undefined ? {} : { claim: wallet.claimOf(`${claim.key}`, `${claim.content}`) }),
        });
      }
      case "capture":
        return wallet.capture(holdId, one.credits, one.cost);
      case "extend":
        return wallet.extend(holdId, one.credits, BigInt(one.deadlineAt), one.most);
      case "next": {
        const { attempt, provider, billedBy = "", cost: costPicoUsd, deadlineAt } = one;
        const value = {
          holdId,
          attempt,
          provider,
          billedBy,
          upstreamModel: "model",
          costPicoUsd,
          deadlineAt: BigInt(deadlineAt),
        };
        return { operation: { case: "nextAttempt", value } };
      }
      default:
        return wallet.release(holdId, one.cost, reasonOf(one.kind), one.provider);
    }
  }

  async #keepAnswer({ hold, settlement, kept }: CallOf<"keep answer">): Promise<void> {
    const { credits, cost } = settlement;
    const request = { holdId: this.#id("hold", hold), credits, costPicoUsd: cost, contentType: "text/plain" };
    const wasKept = await this.#billing.keepAnswer({ ...request, body: bodyOf(settlement) }).then(
      () => true,
      (error) => {
        if (error instanceof ServiceError && error.reason === "invalid_value") return false;
        throw error;
      },
    );
    expect(wasKept).toBe(kept);
  }

  async #readAnswer(call: CallOf<"read answer">): Promise<void> {
    const request = { accountId: this.#id("account", call.account), holdId: this.#id("hold", call.hold) };
    const { answer } = await this.#billing.readAnswer(request);
    expect(answer && Buffer.from(answer.body)).toEqual(call.answer && bodyOf(call.answer));
  }

  async #lease({ service, leaseMs, leased }: CallOf<"lease">): Promise<void> {
    const request = { service: this.#service(service), limit: MOST_LEASED, leaseMs: BigInt(leaseMs) };
    const { holds } = await this.#billing.leaseExpiredHolds(request);
    const real = new Map(
      holds.map(({ holdId, provider, deadlineAt, kept }) => [
        holdId,
        { provider, deadlineAt, kept: kept && { credits: kept.credits, cost: kept.costPicoUsd } },
      ]),
    );
    const expected = new Map(leased.map((each) => [this.#id("hold", each.hold), leaseOf(each)]));
    expect(real).toEqual(expected);
  }

  #putSpender(index: number, { cap, period, expiresAt, active }: SpenderFields): Promise<void> {
    const accountId = this.#id("account", this.#history.spenders[index]?.account ?? 0);
    const written = wallet.putSpender(this.#billing, accountId, {
      spenderId: this.#id("spender", index),
      ...(cap === undefined ? {} : { capCredits: cap }),
      period: messageOfPeriod(period),
      ...(expiresAt === undefined ? {} : { expiresAt: BigInt(expiresAt) }),
      active,
    });
    return written.then(() => undefined);
  }

  async #putDeposit({ id, account, credits, status }: CallOf<"put deposit">): Promise<void> {
    const [depositId, accountId] = [this.#id("money", id), this.#id("account", account)];
    await this.#billing.putDeposit({ depositId, accountId, credits, status, source: "test" });
  }

  /** A repeated id is the same adjustment, and counts once. */
  async #putAdjustment({ id, account, credits }: CallOf<"put adjustment">): Promise<void> {
    if (!this.#adjustments.has(id)) {
      this.#adjusted.set(account, (this.#adjusted.get(account) ?? 0n) + credits);
    }
    this.#adjustments.add(id);
    const [adjustmentId, accountId] = [this.#id("money", id), this.#id("account", account)];
    await this.#billing.putAdjustment({ adjustmentId, accountId, credits, reason: "test" });
  }

  async #judgeClaim({ account, spender, claim, outcome }: CallOf<"judge claim">): Promise<void> {
    const answered = await this.#billing.judgeClaim({
      accountId: this.#id("account", account),
      spenderId: this.#id("spender", spender),
      claim: wallet.claimOf(`${claim.key}`, `${claim.content}`),
    });
    expect(answered.outcome).toEqual(this.#outcome(outcome));
  }
}

function reasonOf(kind: "release" | "abandon"): ReleaseReason {
  return kind === "abandon" ? ReleaseReason.UNRESOLVED : ReleaseReason.FAILED;
}

function bodyOf({ credits, cost }: Settlement): Buffer {
  return Buffer.from(`${credits} ${cost}`);
}

function leaseOf({ provider, deadlineAt, kept }: LeasedHold) {
  return { provider, deadlineAt: BigInt(deadlineAt), kept };
}
