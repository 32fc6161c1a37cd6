// Audit owns independent books of a history: they carry out each stored step anew, and each difference is a violation.
// They share no code with `@gr/ledger`, so only an error in both stays unnoticed.
import { DepositStatus } from "@gr/proto/billing";
import type {
  Credit,
  Extend,
  Next,
  Operation,
  Place,
  PutKey,
  Resolution,
  SpenderFields,
} from "../ledger/operation.ts";
import { Violation } from "../world/violation.ts";
import { endOf } from "./judge.ts";
import { windowStartOf } from "./window.ts";

export interface AuditedAccount {
  deposited: bigint;
  charged: bigint;
  held: bigint;
  /** Number and time of the latest step. */
  seq: number;
  at: number;
}

/** Requests to free models on one day. */
interface FreeUse {
  day: number;
  used: number;
}

interface AuditedWindow {
  readonly start: number;
  used: bigint;
  held: bigint;
}

export interface AuditedSpender {
  readonly account: number;
  fields: SpenderFields;
  revision: bigint;
  window: AuditedWindow;
}

/** Provider that was asked, and its bill by the books: as charged, failed or late. */
export interface AuditedAttempt {
  readonly provider: string;
  booked: bigint;
}

export interface AuditedHold {
  readonly id: number;
  readonly place: Place;
  readonly window: AuditedWindow;
  /** By the account's clock. */
  readonly placedAt: number;
  /** As placed, and as extended since. */
  amount: bigint;
  /** Size of the last refused extension. */
  refusedCredits: bigint | undefined;
  /** A refused extension arrived a second time and was carried out, after the router had read the refusal. */
  grewUnheard: boolean;
  deadlineAt: number;
  state: "open" | "captured" | "released";
  charge: bigint;
  /** As it was resolved with. */
  cost: bigint;
  readonly attempts: AuditedAttempt[];
  /** A resolver has had it. */
  leased: boolean;
  leasedUntil: number;
  /** By true time. */
  readonly reservedAt: number;
  /** Kind and time of its end; by true time. */
  resolution: Resolution["kind"] | undefined;
  resolvedAt: number;
}

export class Audit {
  readonly accounts: AuditedAccount[];
  readonly spenders: AuditedSpender[];
  readonly holds = new Map<number, AuditedHold>();
  /** The hold that has each claim, by its key. */
  readonly claims = new Map<number, AuditedHold>();
  /** Holds with a kept answer. */
  readonly kept = new Set<number>();
  readonly freeLimit: number;
  readonly #freeUse: FreeUse[];
  readonly #credits = new Map<string, Credit>();
  /** Reports of each payment that billing has received. */
  readonly #reports = new Map<number, Set<DepositStatus>>();

  constructor(
    accounts: number,
    spenders: readonly { account: number; fields: SpenderFields }[],
    freeLimit: number,
  ) {
    this.freeLimit = freeLimit;
    this.#freeUse = Array.from({ length: accounts }, () => ({ day: 0, used: 0 }));
    this.accounts = Array.from({ length: accounts }, () => ({
      ...{ deposited: 0n, charged: 0n, held: 0n },
      ...{ seq: 0, at: 0 },
    }));
    this.spenders = spenders.map(({ account, fields }) => ({
      ...{ account, fields, revision: 0n },
      window: newWindow(0),
    }));
  }

  account(index: number): AuditedAccount {
    return present(this.accounts[index]);
  }

  spender(index: number): AuditedSpender {
    return present(this.spenders[index]);
  }

  /** @returns undefined if it is new */
  credit(kind: Credit["kind"], id: number): Credit | undefined {
    return this.#credits.get(`${kind} ${id}`);
  }

  /** A report of a payment has reached billing. @returns whether it is a repeated one */
  reported(id: number, status: DepositStatus): boolean {
    const known = this.#reports.get(id) ?? new Set();
    this.#reports.set(id, known);
    const isRepeated = known.has(status);
    known.add(status);
    return isRepeated;
  }

  /** A payment counts after a report as completed. A refund needs a payment that counts, and a report as refunded. */
  mayCredit({ kind, id }: Credit): boolean {
    const reports = this.#reports.get(id) ?? new Set();
    if (kind === "deposit") return reports.has(DepositStatus.COMPLETED);
    if (kind === "refund")
      return reports.has(DepositStatus.REFUNDED) && this.credit("deposit", id) !== undefined;
    return true;
  }

  /** Whether the books have the result of an answered report. */
  hasCredited(id: number, status: DepositStatus): boolean {
    const counts = this.credit("deposit", id) !== undefined;
    if (status === DepositStatus.COMPLETED) return counts;
    return status !== DepositStatus.REFUNDED || !counts || this.credit("refund", id) !== undefined;
  }

  freeUsed(account: number, at: number): number {
    const { day, used } = present(this.#freeUse[account]);
    return windowStartOf("day", at) > day ? 0 : used;
  }

  /**
   * Carries out the operation of a stored step.
   * @param at time of the step @param now true time
   * @returns its new loss of ours, in pico
   */
  carryOut(operation: Operation, at: number, now: number): bigint {
    switch (operation.kind) {
      case "place":
        this.#place(operation, at, now);
        return 0n;
      case "extend":
        this.#extend(operation);
        return 0n;
      case "next":
        return this.#next(operation);
      case "lease":
        Object.assign(present(this.holds.get(operation.hold)), {
          leased: true,
          leasedUntil: operation.until,
        });
        return 0n;
      case "keep":
        this.kept.add(operation.hold);
        return 0n;
      case "budget":
        this.#putKey(operation);
        return 0n;
      case "deposit":
      case "refund":
      case "adjustment":
        this.#credits.set(`${operation.kind} ${operation.id}`, operation);
        this.account(operation.account).deposited += operation.credits;
        return 0n;
      default:
        return this.#resolve(operation, now);
    }
  }

  #putKey({ spender: index, fields, revision }: PutKey): void {
    const spender = this.spender(index);
    if (spender.fields.period !== fields.period) spender.window = newWindow(0);
    Object.assign(spender, { fields, revision });
  }

  #place(place: Place, at: number, now: number): void {
    const spender = this.spender(place.spender);
    const start = windowStartOf(spender.fields.period, at);
    if (start > spender.window.start) spender.window = newWindow(start);
    const amount = this.#share(place.credits, place.most, spender, spender.window);
    spender.window.held += amount;
    this.account(place.account).held += amount;
    if (place.credits === 0n) this.#useFree(place.account, at);
    const hold: AuditedHold = {
      id: place.hold,
      place,
      window: spender.window,
      placedAt: at,
      amount,
      refusedCredits: undefined,
      grewUnheard: false,
      deadlineAt: place.deadlineAt,
      state: "open",
      charge: 0n,
      cost: 0n,
      attempts: [{ provider: place.provider, booked: 0n }],
      leased: false,
      leasedUntil: 0,
      reservedAt: now,
      resolution: undefined,
      resolvedAt: Number.POSITIVE_INFINITY,
    };
    this.holds.set(place.hold, hold);
    if (place.claim !== undefined) this.claims.set(place.claim.key, hold);
  }

  #useFree(account: number, at: number): void {
    const use = present(this.#freeUse[account]);
    const day = windowStartOf("day", at);
    if (day > use.day) Object.assign(use, { day, used: 0 });
    use.used += 1;
  }

  #extend({ hold: id, credits, most, deadlineAt }: Extend): void {
    const hold = present(this.holds.get(id));
    const least = credits > hold.amount ? credits - hold.amount : 0n;
    const spender = this.spender(hold.place.spender);
    const more = this.#share(least, most && most - hold.amount, spender, hold.window);
    hold.amount += more;
    if (more > 0n && credits === hold.refusedCredits) hold.grewUnheard = true;
    hold.window.held += more;
    this.account(hold.place.account).held += more;
    hold.deadlineAt = Math.max(hold.deadlineAt, deadlineAt);
  }

  /** Part of the free credits for a hold that needs so much at least and can use so much. */
  #share(
    least: bigint,
    most: bigint | undefined,
    { account: index, fields }: AuditedSpender,
    window: AuditedWindow,
  ): bigint {
    if (most === undefined || least === 0n) return least;
    const { deposited, charged, held } = this.account(index);
    let free = deposited - charged - held;
    if (fields.cap !== undefined && fields.cap - window.used - window.held < free) {
      free = fields.cap - window.used - window.held;
    }
    // Four of the same size would fit, or it is the least.
    let share = most;
    if (share * 4n > free) share = (free - (free % 4n)) / 4n;
    return share < least ? least : share;
  }

  #next({ hold: id, attempt, provider, cost, billedBy, deadlineAt }: Next): bigint {
    const hold = present(this.holds.get(id));
    const { length } = hold.attempts;
    if (attempt <= length) {
      const earlier = present(hold.attempts[attempt - 2]);
      if (earlier.provider !== billedBy) {
        throw new Violation("simulation", `attempt ${attempt - 1} of ${id} was not made by ${billedBy}`);
      }
      return bookLate(earlier, cost);
    }
    if (hold.state !== "open") return bookLate(present(hold.attempts.at(-1)), cost);
    present(hold.attempts.at(-1)).booked = cost;
    hold.attempts.push({ provider, booked: 0n });
    hold.deadlineAt = Math.max(hold.deadlineAt, deadlineAt);
    return cost;
  }

  #resolve(asked: Resolution, now: number): bigint {
    const hold = present(this.holds.get(asked.hold));
    const { charge, cost } = endOf(hold, asked);
    const attempt = present(hold.attempts.at(-1));
    if (hold.state !== "open") return bookLate(attempt, cost);
    const account = this.account(hold.place.account);
    const captures = asked.kind === "capture";
    hold.state = captures ? "captured" : "released";
    hold.resolution = asked.kind;
    hold.resolvedAt = now;
    hold.charge = charge;
    hold.cost = cost;
    attempt.booked = cost;
    hold.window.held -= hold.amount;
    hold.window.used += charge;
    account.held -= hold.amount;
    account.charged += charge;
    return captures ? 0n : cost;
  }
}

/** @param cost of the attempt in all. @returns its part that is new */
function bookLate(attempt: AuditedAttempt, cost: bigint): bigint {
  const more = cost - attempt.booked;
  if (more <= 0n) return 0n;
  attempt.booked = cost;
  return more;
}

function newWindow(start: number): AuditedWindow {
  return { start, used: 0n, held: 0n };
}

export function present<T>(value: T | undefined | null): T {
  if (value === undefined || value === null) throw new Violation("simulation", "there is no such thing");
  return value;
}
