// Continued history owns one random history that the tables before the chain begin and that both ledgers continue: the same steps with
// the same ids, at the same times.
import { randomUUID } from "node:crypto";
import type { DepositStatus, Id, Outcome } from "@gr/ledger";
import { ServiceError } from "@gr/proto";
import type { StepLedger } from "../../step-ledger/step-ledger.ts";
import { ACCOUNTS, type HistoryOperation, OWNERS, type SpenderFields, type Step } from "../history-steps.ts";
import { THURSDAY } from "../start-billing.ts";
import { claimOf, providerOf, upstreamModelOf } from "../wallet.ts";
import type { EarlierLedger, EarlierOutcome } from "./earlier-ledger-store.ts";
import { definitionOf, NOTHING, type Operation, postedOf, type Spender } from "./earlier-operations.ts";

const LEASE_MS = 60_000;
const HOLD_MS = 600_000;

export interface Deposit {
  readonly id: Id;
  readonly credits: bigint;
  readonly status: DepositStatus;
}

/** One side of a comparison. */
export interface Ledger {
  open(accountId: Id): Promise<void>;
  setSuspended(accountId: Id, suspended: boolean): Promise<void>;
  putSpender(spender: Spender): Promise<void>;
  putDeposit(accountId: Id, deposit: Deposit, at: Date): Promise<void>;
  putAdjustment(accountId: Id, id: Id, credits: bigint, at: Date): Promise<void>;
  post(operations: readonly Operation[], at: Date): Promise<unknown[]>;
  lease(service: string, at: Date, until: Date): Promise<Id[]>;
  keep(
    holdId: Id,
    answer: { readonly body: Buffer; readonly credits: bigint; readonly cost: bigint },
  ): Promise<boolean>;
}

export function earlierSide(ledger: EarlierLedger): Ledger {
  return {
    open: (accountId) => ledger.open(accountId),
    setSuspended: (accountId, suspended) => ledger.setSuspended(accountId, suspended),
    putSpender: (spender) => ledger.putSpender(spender),
    putDeposit: (accountId, deposit, at) => ledger.putDeposit(accountId, deposit, at),
    putAdjustment: (accountId, id, credits, at) => ledger.putAdjustment(accountId, id, credits, at),
    post: async (operations, at) => {
      const outcomes: EarlierOutcome[] = [];
      for (const operation of operations) outcomes.push(await ledger.post(operation, at));
      return outcomes.map(answerOf);
    },
    lease: (service, at, until) => ledger.lease(service, at, until),
    keep: (holdId, answer) => ledger.keep(holdId, answer),
  };
}

/** @param setTime sets the clock of the ledger */
export function chainSide(ledger: StepLedger, setTime: (at: Date) => void): Ledger {
  const { accounts, writer, holds, answers } = ledger;
  return {
    open: (accountId) => accounts.open(accountId),
    setSuspended: (accountId, suspended) => accounts.setSuspended(accountId, suspended),
    putSpender: (spender) => accounts.putSpender(spender.accountId, definitionOf(spender)),
    putDeposit: async (accountId, deposit, at) => {
      setTime(at);
      await accounts.putDeposit({ ...deposit, accountId, source: "test" });
    },
    putAdjustment: async (accountId, id, credits, at) => {
      setTime(at);
      await accounts.putAdjustment({ id, accountId, credits, reason: "test" });
    },
    post: async (operations, at) => {
      setTime(at);
      return (await writer.post(operations.map(postedOf))).map(outcomeOf);
    },
    lease: async (service, at, until) => {
      setTime(at);
      const leaseMs = BigInt(until.getTime() - at.getTime());
      return (await holds.leaseExpired({ service, limit: 1_000, leaseMs })).map(({ id }) => id);
    },
    keep: async (holdId, { body, credits, cost }) => {
      try {
        await answers.keep({ accountId: undefined, holdId, credits, cost, contentType: "text/plain", body });
        return true;
      } catch (error) {
        if (error instanceof ServiceError) return false;
        throw error;
      }
    },
  };
}

/** The answer of the function `post`, as `outcomeOf` returns that of the chain. */
function answerOf({ code, remark = {} }: EarlierOutcome): unknown {
  const text = (name: string) => (typeof remark[name] === "string" ? BigInt(remark[name] as string) : 0n);
  const number = (name: string) => BigInt((remark[name] as number | null | undefined) ?? 0);
  const answer: Record<string, unknown> = { code };
  if (remark["holder"] !== undefined) answer["earlierHoldId"] = remark["holder"];
  if (remark["held"] !== undefined) answer["held"] = text("held");
  if (remark["failed"] !== undefined || remark["late"] !== undefined || remark["abandoned"] !== undefined) {
    const abandoned = remark["abandoned"] === undefined ? undefined : text("abandoned");
    answer["loss"] = { failed: text("failed"), late: text("late"), abandoned };
  }
  if (remark["inFlight"] === undefined) return answer;
  return {
    ...answer,
    refusal: {
      inFlight: remark["inFlight"],
      available: text("available"),
      cap: text("cap"),
      period: remark["period"] ?? undefined,
      resetsAt: number("resetsAt"),
      expiresAt: number("expiresAt"),
      suspended: remark["suspended"] ?? false,
    },
  };
}

function outcomeOf({ refusal, ...answer }: Outcome): unknown {
  if (refusal === undefined) return answer;
  const { budget, resetsAt, expiresAt, ...others } = refusal;
  const times = { resetsAt: BigInt(resetsAt), expiresAt: BigInt(expiresAt) };
  return { ...answer, refusal: { ...others, ...times, cap: budget?.limit ?? 0n, period: budget?.period } };
}

interface Known extends Deposit {
  readonly account: number;
}

export class ContinuedHistory {
  readonly accountIds = Array.from({ length: ACCOUNTS }, () => randomUUID() as string);
  readonly #spenders: Spender[];
  /** Of this history only, so that its leases are. */
  readonly #service = randomUUID();
  readonly #holdIds: Id[] = [];
  readonly #placedBy = new Map<number, number>();
  readonly #kept = new Map<Id, { readonly credits: bigint; readonly cost: bigint }>();
  readonly #deposits: Known[] = [];
  /** Adjustments so far, by their ids. */
  readonly adjustments: { readonly id: Id; readonly accountId: Id; readonly credits: bigint }[] = [];
  now: number;

  /** @param now Unix milliseconds of its first step */
  constructor(fields: readonly SpenderFields[], now: number) {
    this.now = now;
    this.#spenders = OWNERS.map((owner, index) => ({
      ...this.#fieldsOf(fields[index]),
      id: randomUUID(),
      accountId: this.#account(owner),
      name: `key "${index}" \\ of the history`,
      createdAt: new Date(now - 1_000 * (index % 2)),
      revision: 0n,
    }));
  }

  get spenderIds(): Id[] {
    return this.#spenders.map(({ id }) => id);
  }

  async begin(ledgers: readonly Ledger[]): Promise<void> {
    for (const accountId of this.accountIds) {
      const first: Deposit = { id: randomUUID(), credits: 60n, status: "COMPLETED" };
      await each(ledgers, async (ledger) => {
        await ledger.open(accountId);
        await ledger.putDeposit(accountId, first, this.#date());
      });
    }
    for (const spender of this.#spenders) await each(ledgers, (ledger) => ledger.putSpender(spender));
  }

  /** Applies one step to each ledger. @returns the answer of each */
  async take(ledgers: readonly Ledger[], step: Step): Promise<unknown[]> {
    const at = this.#date();
    switch (step.step) {
      case "clock":
        this.now += step.ms;
        return [];
      case "spender": {
        const { period, cap, expiresAt, active } = {
          ...fieldsFrom(this.#spenders[step.index]),
          ...step.change,
        };
        const known = this.#spenders[step.index];
        if (known === undefined) return [];
        const fields = this.#fieldsOf({ period, cap, expiresAt, active });
        const spender = { ...known, ...fields, revision: known.revision + 1n };
        this.#spenders[step.index] = spender;
        return await each(ledgers, (ledger) => ledger.putSpender(spender));
      }
      case "deposit":
        return await this.#deposit(ledgers, step);
      case "adjustment": {
        const adjustment = {
          id: randomUUID(),
          accountId: this.#account(step.account),
          credits: step.credits,
        };
        this.adjustments.push(adjustment);
        const { accountId, id, credits } = adjustment;
        return await each(ledgers, (ledger) => ledger.putAdjustment(accountId, id, credits, at));
      }
      case "suspend": {
        const accountId = this.#account(step.account);
        return await each(ledgers, (ledger) => ledger.setSuspended(accountId, step.suspended));
      }
      case "keep": {
        const holdId = this.#holdId(this.#holdOf(step.hold));
        const { credits, cost } = step.answer;
        const answer = { body: Buffer.from(`${credits} ${cost}`), credits, cost };
        const kept = await each(ledgers, (ledger) => ledger.keep(holdId, answer));
        if (kept[0] === true && !this.#kept.has(holdId)) this.#kept.set(holdId, step.answer);
        return kept;
      }
      case "lease": {
        const until = new Date(this.now + LEASE_MS);
        return await each(ledgers, async (ledger) => (await ledger.lease(this.#service, at, until)).sort());
      }
      case "post": {
        const operations = step.operations.map((one) => this.#operation(this.#meant(one)));
        return await each(ledgers, (ledger) => ledger.post(operations, at));
      }
      default:
        return [];
    }
  }

  /** A later step continues an earlier deposit: it completes, repeats or refunds it. */
  async #deposit(
    ledgers: readonly Ledger[],
    {
      account,
      credits,
      refund,
    }: { readonly account: number; readonly credits: bigint; readonly refund: boolean },
  ): Promise<unknown[]> {
    const put = ({ account: owner, ...report }: Known) =>
      each(ledgers, (ledger) => ledger.putDeposit(this.#account(owner), report, this.#date()));
    const known = refund ? this.#deposits.shift() : undefined;
    if (known !== undefined) await put(known);
    const next: Known =
      known === undefined
        ? { account, id: randomUUID(), credits, status: refund ? "PENDING" : "COMPLETED" }
        : { ...known, status: known.status === "PENDING" ? "COMPLETED" : "REFUNDED" };
    this.#deposits.push(next);
    return await put(next);
  }

  /** About the hold that is meant; and a capture after a kept answer has its amounts. */
  #meant({ fresh, ...one }: HistoryOperation): HistoryOperation {
    const named = this.#holdOf(one.hold, fresh);
    const isForeign = one.kind === "place" && (this.#placedBy.get(named) ?? one.account) !== one.account;
    const hold = isForeign ? this.#holdOf(0, true) : named;
    if (one.kind === "place") this.#placedBy.set(hold, this.#placedBy.get(hold) ?? one.account);
    const kept = this.#kept.get(this.#holdId(hold));
    return one.kind !== "capture" || kept === undefined ? { ...one, hold } : { ...one, ...kept, hold };
  }

  #operation(one: HistoryOperation): Operation {
    const deadlineAt = BigInt(this.now + HOLD_MS);
    const biller = (provider: string | undefined) =>
      provider === undefined ? null : tagOf(provider, "", "");
    const onHold = { ...NOTHING, kind: one.kind, holdId: this.#holdId(one.hold) };
    switch (one.kind) {
      case "place": {
        const [accountId, spenderId] = [this.#account(one.account), this.#spenders[one.spender]?.id ?? null];
        const claim = one.claim && claimOf(`${one.claim.key}`, `${one.claim.content}`);
        const tag = tagOf(one.provider, upstreamModelOf(1), this.#service);
        const size = { credits: one.credits, most: one.most ?? null };
        return { ...onHold, accountId, spenderId, ...size, deadlineAt, tag, claim: claim ?? null };
      }
      case "capture":
        return { ...onHold, credits: one.credits, cost: one.cost };
      case "extend":
        return { ...onHold, credits: one.credits, most: one.most ?? null, deadlineAt };
      case "next": {
        const tag = tagOf(providerOf(one.attempt), upstreamModelOf(one.attempt), "");
        return {
          ...onHold,
          attempt: one.attempt,
          cost: one.cost,
          deadlineAt,
          tag,
          billedBy: biller(one.billedBy),
        };
      }
      default:
        return { ...onHold, cost: one.cost, tag: biller(one.provider) };
    }
  }

  #holdOf(hold: number, fresh = false): number {
    const count = this.#holdIds.length;
    return fresh || count === 0 ? this.#holdIds.push(randomUUID()) - 1 : hold % count;
  }

  #holdId(hold: number): Id {
    return this.#holdIds[hold] ?? "";
  }

  #account(index: number): Id {
    return this.accountIds[index] ?? "";
  }

  #date(): Date {
    return new Date(this.now);
  }

  #fieldsOf(fields: SpenderFields | undefined) {
    const { cap, period, expiresAt, active } = fields ?? {
      cap: undefined,
      period: "lifetime" as const,
      expiresAt: undefined,
      active: true,
    };
    const expires = expiresAt === undefined ? null : new Date(expiresAt - THURSDAY + this.now);
    return { cap: cap ?? null, period, expiresAt: expires, active };
  }
}

function fieldsFrom(spender: Spender | undefined): SpenderFields {
  return {
    cap: spender?.cap ?? undefined,
    period: spender?.period ?? "lifetime",
    expiresAt: undefined,
    active: spender?.active ?? true,
  };
}

function tagOf(provider: string, upstreamModel: string, service: string) {
  return { service, provider, upstreamModel, model: "sandbox/chat", priceVersion: "v1" };
}

async function each<Answer>(
  ledgers: readonly Ledger[],
  ask: (ledger: Ledger) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const ledger of ledgers) answers.push(await ask(ledger));
  return answers;
}
