// BillingStores owns the stores of one billing process, over the ledger of the history. In production they are SQL.
import {
  type AccountStore,
  type AdjustmentStore,
  type AnswerStore,
  type Operation as BillingOperation,
  type ClaimingSpender,
  type Deposit,
  depositEntry,
  type Hold,
  type HoldStore,
  invalid,
  type Lease,
  type Posted,
  type ReadSpendNumbers,
  type Spender,
  type SpendNumbers,
} from "@gr/billing/simulated";
import type { Outcome as LedgerOutcome } from "@gr/ledger";
import { outcomeMessage } from "@gr/ledger-model";
import { DepositStatus } from "@gr/proto/billing";
import { present } from "../books/audit.ts";
import { windowEndOf } from "../books/window.ts";
import type { Life } from "../world/process.ts";
import { claimOf, idOf, numberOf } from "./ids.ts";
import type { Ledger } from "./ledger.ts";
import type { Operation, Service } from "./operation.ts";
import { runStatement } from "./postgres.ts";

const STATUSES = {
  PENDING: DepositStatus.PENDING,
  COMPLETED: DepositStatus.COMPLETED,
  FAILED: DepositStatus.FAILED,
  REFUNDED: DepositStatus.REFUNDED,
} as const;

/** Tables beside the ledger, which all processes share. */
export class BillingTables {
  readonly ledger: Ledger;
  readonly deposits = new Map<string, Deposit>();
  /** The ids under which holds were placed. */
  readonly holdIds = new Map<number, string>();

  constructor(ledger: Ledger) {
    this.ledger = ledger;
  }
}

/** The stores of one process. */
export class BillingStores {
  readonly #life: Life;
  readonly #tables: BillingTables;
  readonly #ledger: Ledger;

  constructor(life: Life, tables: BillingTables) {
    this.#life = life;
    this.#tables = tables;
    this.#ledger = tables.ledger;
  }

  /** A check that fails ends the history, whoever has asked. */
  #run<Reply>(statement: () => Reply): Promise<Reply> {
    return runStatement(this.#life, statement);
  }

  readonly post = (operations: readonly BillingOperation[]): Promise<Posted[]> =>
    this.#run(() => {
      for (const { kind, holdId } of operations) {
        if (kind === "place") this.#tables.holdIds.set(numberOf(holdId), holdId);
      }
      try {
        return this.#ledger.commit(operations.map(operationOf)).map((each) => this.#posted(each));
      } catch (error) {
        throw this.#life.world.fail(error);
      }
    });

  #posted(outcome: LedgerOutcome): Posted {
    const { refusal, earlierHoldId, held } = outcome;
    const { code } = outcomeMessage(outcome);
    if (held !== undefined) return { code, held };
    if (earlierHoldId !== undefined) {
      return { code, earlierHoldId: present(this.#tables.holdIds.get(numberOf(earlierHoldId))) };
    }
    if (refusal === undefined) return { code };
    const { inFlight, available, budget, resetsAt, expiresAt, suspended } = refusal;
    return {
      code,
      refusal: {
        ...{ inFlight, available, suspended },
        cap: budget?.limit ?? 0n,
        period: budget?.period,
        resetsAt: BigInt(resetsAt),
        expiresAt: BigInt(expiresAt),
      },
    };
  }

  readonly accounts: AccountStore = {
    open: async () => undefined,
    setSuspended: async () => {
      throw new Error("nobody suspends an account here");
    },
    putSpender: (spender) => this.#run(() => this.#putSpender(spender)),
    putDeposit: (deposit) => this.#run(() => this.#putDeposit(deposit)),
    readCredits: async () => {
      throw new Error("nobody reads credits here");
    },
    ping: async () => undefined,
  };

  #putSpender({ id, cap, period, expiresAt, active, revision }: Spender): void {
    const fields = { cap: cap ?? undefined, period, expiresAt: expiresAt?.getTime(), active };
    if (this.#ledger.putSpender(numberOf(id), fields, revision)) return;
    throw invalid("spender.revision", "A newer one is stored");
  }

  #putDeposit(deposit: Deposit): void {
    const { id, accountId, credits, status } = deposit;
    const { deposits } = this.#tables;
    const entry = depositEntry(deposits.get(id), deposit);
    deposits.set(id, deposit);
    try {
      this.#ledger.putDeposit(numberOf(id), numberOf(accountId), credits, STATUSES[status], entry);
    } catch (error) {
      throw this.#life.world.fail(error);
    }
  }

  readonly adjustments: AdjustmentStore = {
    put: ({ id, accountId, credits }) =>
      this.#run(() => this.#ledger.putAdjustment(numberOf(id), numberOf(accountId), credits)),
  };

  readonly answers: AnswerStore = {
    keep: ({ holdId, credits, cost }) =>
      this.#run(() => {
        if (this.#ledger.keepAnswer(numberOf(holdId), { credits, cost })) return;
        throw invalid("hold_id", "The hold is not open, has no claim, or is being resolved");
      }),
    read: (accountId, holdId) =>
      this.#run(() => {
        const kept = this.#ledger.readAnswer(numberOf(accountId), numberOf(holdId));
        return kept && { contentType: "text/plain", body: new Uint8Array() };
      }),
  };

  readonly judgeClaim = ({ accountId, spenderId, claim }: ClaimingSpender): Promise<Posted> =>
    this.#run(() =>
      this.#posted(this.#ledger.judgeClaim(numberOf(accountId), numberOf(spenderId), claimOf(claim))),
    );

  readonly holds: HoldStore = {
    list: async () => ({ holds: [], hasMore: false }),
    countOpen: async () => [],
    leaseExpired: (lease) => this.#run(() => this.#lease(lease)),
  };

  #lease({ service, leaseMs }: Lease): Hold[] {
    return this.#ledger.leaseExpired(service as Service, Number(leaseMs)).map((leased) => {
      const hold = present(this.#ledger.audit.holds.get(leased.hold));
      const { provider, deadlineAt, kept } = leased;
      return {
        id: present(this.#tables.holdIds.get(leased.hold)),
        accountId: idOf(hold.place.account),
        spenderId: idOf(hold.place.spender),
        credits: hold.amount,
        state: "open",
        charge: 0n,
        cost: 0n,
        attempt: hold.attempts.length,
        service,
        provider,
        upstreamModel: "model",
        model: "model",
        priceVersion: "v1",
        placedAt: new Date(hold.placedAt),
        deadlineAt: new Date(deadlineAt),
        kept,
      };
    });
  }

  readonly readNumbers: ReadSpendNumbers = (payers) =>
    this.#run(() => {
      const numbers = payers.flatMap(({ accountId, spenderId }) => {
        const each = this.#numbersOf(numberOf(accountId), numberOf(spenderId));
        return each === undefined ? [] : [[spenderId, each] as const];
      });
      return new Map(numbers);
    });

  /** Undefined for a spender that may not spend. */
  #numbersOf(account: number, spender: number): SpendNumbers | undefined {
    const { audit, time } = this.#ledger;
    const { fields, window } = audit.spender(spender);
    const { deposited, charged, held } = audit.account(account);
    const { cap, period, active, expiresAt } = fields;
    if (!active || (expiresAt !== undefined && expiresAt <= time)) return undefined;
    const windowEnd = windowEndOf(period, Math.max(time, window.start));
    const began = windowEnd !== 0 && windowEndOf(period, window.start) < windowEnd;
    const ends = [windowEnd, expiresAt ?? 0].filter((end) => end > 0);
    const free = deposited - charged - held;
    return {
      balance: deposited - charged,
      available: free > 0n ? free : 0n,
      cap: cap ?? null,
      used: began ? 0n : window.used,
      period,
      resetsAt: BigInt(windowEnd),
      confirmedAt: BigInt(time),
      endsAt: BigInt(ends.length === 0 ? 0 : Math.min(...ends)),
    };
  }
}

function operationOf(operation: BillingOperation): Operation {
  const { kind, holdId, credits } = operation;
  const hold = numberOf(holdId);
  const cost = operation.cost ?? 0n;
  const most = operation.most ?? undefined;
  const deadlineAt = Number(operation.deadlineAt ?? 0n);
  switch (kind) {
    case "place":
      return {
        kind,
        hold,
        account: numberOf(operation.accountId ?? ""),
        spender: numberOf(operation.spenderId ?? ""),
        credits,
        most,
        service: present(operation.tag).service as Service,
        provider: present(operation.tag).provider,
        deadlineAt,
        claim: operation.claim === null ? undefined : claimOf(operation.claim),
      };
    case "capture":
      return { kind, hold, credits, cost };
    case "extend":
      return { kind, hold, credits, most, deadlineAt };
    case "next":
      return {
        kind,
        hold,
        attempt: operation.attempt ?? 0,
        provider: present(operation.tag).provider,
        billedBy: operation.billedBy?.provider,
        cost,
        deadlineAt,
      };
    default:
      return { kind, hold, cost, provider: operation.tag?.provider };
  }
}
