// What billing should do, written without a thought for how: plain objects, one operation at a time. A window is an
// object that its holds keep hold of, so a charge finds the window it belongs to whatever has happened since.
import { larger, smaller } from "@gr/money";
import { OutcomeCode } from "@gr/proto/billing";

/** "lifetime" is one window that never ends. */
export type Period = "lifetime" | "day" | "week" | "month";

export interface ModelAccount {
  deposited: bigint;
  charged: bigint;
  held: bigint;
  /** Nothing of it is spent but what was held before. */
  suspended: boolean;
}

interface Window {
  readonly start: number | undefined;
  used: bigint;
  held: bigint;
}

export interface SpenderFields {
  readonly cap: bigint | undefined;
  readonly period: Period;
  readonly expiresAt: number | undefined;
  readonly active: boolean;
}

interface ModelSpender {
  readonly account: number;
  fields: SpenderFields;
  window: Window;
  used: bigint;
  requests: bigint;
}

interface ModelHold {
  readonly account: number;
  readonly spender: number;
  readonly window: Window;
  amount: bigint;
  state: "open" | "captured" | "released";
  charge: bigint;
  cost: bigint;
  attempt: number;
  /** Of the current attempt. */
  provider: string;
  /** What is booked of each attempt, by its number: as charged, failed or late. */
  readonly booked: Map<number, bigint>;
  /** Somebody was told to resolve it. */
  leased: boolean;
}

export type ModelOperation =
  | {
      kind: "place";
      hold: number;
      account: number;
      spender: number;
      credits: bigint;
      /** As large it may be where enough is free. */
      most?: bigint | undefined;
      provider: string;
    }
  | { kind: "capture"; hold: number; credits: bigint; cost: bigint }
  | { kind: "release" | "abandon"; hold: number; cost: bigint; provider?: string | undefined }
  | { kind: "extend"; hold: number; credits: bigint; most?: bigint | undefined }
  | {
      kind: "next";
      hold: number;
      attempt: number;
      cost: bigint;
      provider: string;
      /** Whose cost it is when that attempt has begun already. */
      billedBy?: string | undefined;
    };

type Extend = Extract<ModelOperation, { kind: "extend" }>;
type Resolution = Extract<ModelOperation, { kind: "capture" | "release" | "abandon" }>;

export interface ModelOutcome {
  readonly code: OutcomeCode;
  readonly inFlight?: boolean;
  readonly available?: bigint;
  readonly cap?: bigint;
  readonly period?: Period;
  readonly resetsAt?: number;
  readonly expiresAt?: number;
  /** Nothing but that keeps the spender from spending. */
  readonly suspended?: boolean;
  /** Of a hold that may be larger than was asked for at least. */
  readonly held?: bigint;
}

const done: ModelOutcome = { code: OutcomeCode.DONE };
const alreadyResolved: ModelOutcome = { code: OutcomeCode.ALREADY_RESOLVED };

export class HoldModel {
  readonly accounts: ModelAccount[];
  readonly spenders: ModelSpender[];
  readonly holds = new Map<number, ModelHold>();
  lost = 0n;

  constructor(accounts: number, spenders: readonly { account: number; fields: SpenderFields }[]) {
    this.accounts = [];
    this.spenders = [];
    while (this.accounts.length < accounts) this.addAccount();
    for (const { account, fields } of spenders) this.addSpender(account, fields);
  }

  /** @returns its number */
  addAccount(): number {
    return this.accounts.push({ deposited: 0n, charged: 0n, held: 0n, suspended: false }) - 1;
  }

  /** @returns its number */
  addSpender(account: number, fields: SpenderFields): number {
    return this.spenders.push({ account, fields, window: newWindow(), used: 0n, requests: 0n }) - 1;
  }

  putSpender(index: number, fields: SpenderFields): void {
    const spender = at(this.spenders, index);
    if (spender.fields.period !== fields.period) spender.window = newWindow();
    spender.fields = fields;
  }

  apply(asked: ModelOperation, now: number): ModelOutcome {
    const hold = this.holds.get(asked.hold);
    const operation = withinHold(ownCost(asked, hold), hold);
    if (operation.kind === "place") return this.#place(operation, hold, now);
    if (hold === undefined) return { code: OutcomeCode.UNKNOWN_HOLD };
    if (operation.kind === "extend") return this.#extend(hold, operation, now);
    if (operation.kind === "next") return this.#next(hold, operation);
    if (hold.state !== "open") return this.#tooLate(hold, operation);
    if (operation.kind === "capture") this.#resolve(hold, "captured", operation.credits, operation.cost);
    else this.#resolve(hold, "released", 0n, operation.cost);
    if (operation.kind !== "capture") this.lost += operation.cost;
    return done;
  }

  #place(
    operation: Extract<ModelOperation, { kind: "place" }>,
    hold: ModelHold | undefined,
    now: number,
  ): ModelOutcome {
    if (hold !== undefined) {
      const same = hold.account === operation.account && hold.spender === operation.spender;
      return hold.state === "open" && same ? doneWith(operation, hold.amount) : alreadyResolved;
    }
    const { account, spender: index, most } = operation;
    const refusal = this.placeRefusal(operation, now);
    if (refusal !== undefined) return refusal;
    const spender = at(this.spenders, index);
    const window = this.#windowAt(spender, now);
    spender.window = window;
    const credits = this.#grant(operation.credits, most, account, spender, window);
    window.held += credits;
    at(this.accounts, account).held += credits;
    this.holds.set(operation.hold, {
      account,
      spender: index,
      window,
      amount: credits,
      state: "open",
      charge: 0n,
      cost: 0n,
      attempt: 1,
      provider: operation.provider,
      booked: new Map(),
      leased: false,
    });
    return doneWith(operation, credits);
  }

  /** How much of at least `least` and at most `most`: a quarter of what is free. */
  #grant(
    least: bigint,
    most: bigint | undefined,
    account: number,
    { fields: { cap } }: ModelSpender,
    window: Window,
  ): bigint {
    if (most === undefined || least === 0n) return least;
    const { deposited, charged, held } = at(this.accounts, account);
    const ofAccount = deposited - charged - held;
    const ofCap = cap === undefined ? ofAccount : cap - window.used - window.held;
    return larger(least, smaller(most, smaller(ofAccount, ofCap) / 4n));
  }

  /** Why a new hold could not be placed. */
  protected placeRefusal(
    { account, spender, credits }: { account: number; spender: number; credits: bigint },
    now: number,
  ): ModelOutcome | undefined {
    const window = this.#windowAt(at(this.spenders, spender), now);
    return this.#refusal(spender, account, { window, ended: false, total: credits, more: credits }, now);
  }

  /** The window that a place is in; a new one when the current has ended. */
  #windowAt({ fields, window }: ModelSpender, now: number): Window {
    const start = windowStart(fields.period, now);
    const begins = start !== undefined && (window.start === undefined || window.start < start);
    return begins ? newWindow(start) : window;
  }

  #extend(hold: ModelHold, extend: Extend, now: number): ModelOutcome {
    const { credits: total, most } = extend;
    if (hold.state !== "open") return alreadyResolved;
    if (total <= hold.amount) return doneWith(extend, hold.amount);
    const more = total - hold.amount;
    const spender = at(this.spenders, hold.spender);
    // It grows in the window it was placed in, and cannot when that has ended.
    const ended = hold.window !== spender.window;
    const refusal = this.#refusal(
      hold.spender,
      hold.account,
      { window: hold.window, ended, total, more },
      now,
    );
    if (refusal !== undefined) return refusal;
    const mostMore = most === undefined ? undefined : most - hold.amount;
    const granted = this.#grant(more, mostMore, hold.account, spender, hold.window);
    hold.amount += granted;
    hold.window.held += granted;
    at(this.accounts, hold.account).held += granted;
    return doneWith(extend, hold.amount);
  }

  #next(
    hold: ModelHold,
    { attempt, cost, provider, billedBy }: Extract<ModelOperation, { kind: "next" }>,
  ): ModelOutcome {
    if (attempt <= hold.attempt && billedBy !== undefined) this.#bookLate(hold, attempt - 1, cost);
    if (hold.state === "open" && hold.attempt === attempt) return done;
    if (hold.attempt !== attempt - 1) return alreadyResolved;
    if (hold.state !== "open") {
      this.#bookLate(hold, hold.attempt, cost);
      return alreadyResolved;
    }
    if (hold.leased) return alreadyResolved;
    hold.booked.set(hold.attempt, cost);
    Object.assign(hold, { attempt, provider });
    this.lost += cost;
    return done;
  }

  /** Tells somebody to resolve a hold. */
  lease(hold: number): void {
    const leased = this.holds.get(hold);
    if (leased !== undefined) leased.leased = true;
  }

  /** Why the spender may not spend from the account at all. */
  protected spenderRefusal(spender: number, account: number, now: number): ModelOutcome | undefined {
    const { account: owner, fields } = at(this.spenders, spender);
    const { active, expiresAt } = fields;
    if (owner !== account || !active) return { code: OutcomeCode.SPENDER_INACTIVE };
    if (at(this.accounts, account).suspended) return { code: OutcomeCode.SPENDER_INACTIVE, suspended: true };
    if (expiresAt !== undefined && expiresAt <= now) return { code: OutcomeCode.SPENDER_EXPIRED, expiresAt };
    return undefined;
  }

  #refusal(
    spender: number,
    accountIndex: number,
    { window, ended, total, more }: { window: Window; ended: boolean; total: bigint; more: bigint },
    now: number,
  ): ModelOutcome | undefined {
    const { fields, window: current } = at(this.spenders, spender);
    const account = at(this.accounts, accountIndex);
    const left = account.deposited - account.charged;
    const free = left - account.held;
    const available = availableTo(account);
    const bad = this.spenderRefusal(spender, accountIndex, now);
    if (bad !== undefined) return { ...bad, available };
    if (more === 0n) return undefined;
    const latest = Math.max(windowStart(fields.period, now) ?? 0, current.start ?? 0);
    const overCap = (inFlight: boolean): ModelOutcome => ({
      code: OutcomeCode.SPEND_LIMIT_EXCEEDED,
      inFlight,
      available,
      cap: fields.cap ?? 0n,
      period: fields.period,
      resetsAt: windowEnd(fields.period, latest),
    });
    const overBalance = (inFlight: boolean) => ({
      code: OutcomeCode.INSUFFICIENT_CREDITS,
      inFlight,
      available,
    });
    if (fields.cap !== undefined && (ended || window.used + total > fields.cap)) return overCap(false);
    if (total > left) return overBalance(false);
    if (fields.cap !== undefined && window.used + window.held + more > fields.cap) return overCap(true);
    if (more > free) return overBalance(true);
    return undefined;
  }

  #resolve(hold: ModelHold, state: "captured" | "released", charge: bigint, cost: bigint): void {
    const spender = at(this.spenders, hold.spender);
    const account = at(this.accounts, hold.account);
    Object.assign(hold, { state, charge, cost });
    hold.booked.set(hold.attempt, cost);
    account.held -= hold.amount;
    account.charged += charge;
    hold.window.held -= hold.amount;
    hold.window.used += charge;
    spender.used += charge;
    if (state === "captured") spender.requests += 1n;
  }

  /** @param cost of this attempt, in all */
  #bookLate({ booked }: ModelHold, attempt: number, cost: bigint): void {
    const before = booked.get(attempt) ?? 0n;
    if (cost <= before) return;
    this.lost += cost - before;
    booked.set(attempt, cost);
  }

  #tooLate(hold: ModelHold, operation: Resolution): ModelOutcome {
    this.#bookLate(hold, hold.attempt, operation.cost);
    if (operation.kind !== "capture") return hold.state === "released" ? done : alreadyResolved;
    const same = hold.charge === operation.credits && hold.cost === operation.cost;
    return hold.state === "captured" && same ? done : alreadyResolved;
  }
}

/** Says how large the hold is where that is not known from what was asked. */
function doneWith({ most }: { readonly most?: bigint | undefined }, held: bigint): ModelOutcome {
  return most === undefined ? done : { ...done, held };
}

/** No charge is above its hold. */
function withinHold(operation: ModelOperation, hold: ModelHold | undefined): ModelOperation {
  if (operation.kind !== "capture" || hold === undefined || operation.credits <= hold.amount)
    return operation;
  return { ...operation, credits: hold.amount };
}

/** What another provider billed was booked when its attempt ended. */
function ownCost(operation: ModelOperation, hold: ModelHold | undefined): ModelOperation {
  if (operation.kind !== "release" && operation.kind !== "abandon") return operation;
  const another = operation.provider !== undefined && operation.provider !== hold?.provider;
  return another ? { ...operation, cost: 0n } : operation;
}

/** Credits that a hold could still take from it. */
export function availableTo({ deposited, charged, held }: ModelAccount): bigint {
  const free = deposited - charged - held;
  return free > 0n ? free : 0n;
}

function newWindow(start?: number): Window {
  return { start, used: 0n, held: 0n };
}

/** Unix milliseconds of the 00:00 UTC that began the window; undefined for a lifetime. */
export function windowStart(period: Period, now: number): number | undefined {
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (period === "day") return Date.UTC(year, month, day);
  if (period === "week") return Date.UTC(year, month, day - ((date.getUTCDay() + 6) % 7));
  return period === "month" ? Date.UTC(year, month, 1) : undefined;
}

/** 0 = never. */
export function windowEnd(period: Period, start: number): number {
  if (period === "lifetime") return 0;
  const date = new Date(start);
  if (period === "month") return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
  return start + (period === "day" ? 1 : 7) * 86_400_000;
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`nothing at ${index}`);
  return item;
}
