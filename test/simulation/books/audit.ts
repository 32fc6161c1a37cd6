// Audit owns independent books of a history: they compute the right result of each commit, and each difference is a violation.
// They share no code with `@gr/ledger`, so only an error in both stays unnoticed.
import { smaller } from "@gr/money";
import { DepositStatus } from "@gr/proto/billing";
import type { Extend, Next, Outcome, Place, Resolution, SpenderFields } from "../ledger/operation.ts";
import { CLAIM_LIFETIME_MS } from "../world/timing.ts";
import { Violation } from "../world/violation.ts";
import { windowStartOf } from "./window.ts";

export interface AuditedAccount {
  deposited: bigint;
  charged: bigint;
  held: bigint;
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
  window: AuditedWindow;
}

/** Who was asked to do the work, and what the books say that it billed: as charged, failed or late. */
export interface AuditedAttempt {
  readonly provider: string;
  booked: bigint;
}

export interface AuditedHold {
  readonly id: number;
  readonly place: Place;
  readonly window: AuditedWindow;
  /** By PostgreSQL's clock. */
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
  /** Somebody was told to resolve it. */
  leased: boolean;
  /** By true time. */
  readonly reservedAt: number;
  /** How and when it was resolved; by true time. */
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
  readonly #freeUse: FreeUse[];
  readonly #freeLimit: number;
  readonly #deposits = new Map<number, DepositStatus>();
  readonly #adjustments = new Set<number>();

  constructor(
    accounts: number,
    spenders: readonly { account: number; fields: SpenderFields }[],
    freeLimit: number,
  ) {
    this.#freeLimit = freeLimit;
    this.#freeUse = Array.from({ length: accounts }, () => ({ day: 0, used: 0 }));
    this.accounts = Array.from({ length: accounts }, () => ({ deposited: 0n, charged: 0n, held: 0n }));
    this.spenders = spenders.map(({ account, fields }) => ({ account, fields, window: newWindow(0) }));
  }

  account(index: number): AuditedAccount {
    return present(this.accounts[index]);
  }

  spender(index: number): AuditedSpender {
    return present(this.spenders[index]);
  }

  putSpender(index: number, fields: SpenderFields): void {
    const spender = this.spender(index);
    if (spender.fields.period !== fields.period) spender.window = newWindow(0);
    spender.fields = fields;
  }

  /** Money counts while it is here. @returns whether this was told before */
  deposit(id: number, account: number, credits: bigint, status: DepositStatus): boolean {
    const before = this.#deposits.get(id);
    this.#deposits.set(id, status);
    const counted = before === DepositStatus.COMPLETED ? credits : 0n;
    const counts = status === DepositStatus.COMPLETED ? credits : 0n;
    this.account(account).deposited += counts - counted;
    return before === status;
  }

  /** @returns whether it is new */
  adjust(id: number, account: number, credits: bigint): boolean {
    if (this.#adjustments.has(id)) return false;
    this.#adjustments.add(id);
    this.account(account).deposited += credits;
    return true;
  }

  /** What a place should be answered at this moment. */
  judge(place: Place, at: number): Outcome["code"] {
    const spender = this.spender(place.spender);
    const { fields } = spender;
    if (!fields.active || spender.account !== place.account) return "disabled or deleted";
    if (fields.expiresAt !== undefined && fields.expiresAt <= at) return "expired";
    const claimed = this.#judgeClaim(place, at);
    if (claimed === undefined) return this.#judgeMoney(place, spender, at);
    if (claimed !== "claim finished" || this.#isOwn(place)) return claimed;
    // Another spender's request: a cap without room for this one comes first.
    return this.#judgeMoney(place, spender, at) === "cap" ? "cap" : claimed;
  }

  /** What an extension should be answered: as a place of the difference, in the window of its hold. */
  judgeExtension({ hold: id, credits }: Extend, at: number): Outcome["code"] {
    const hold = this.holds.get(id);
    if (hold === undefined) return "unknown hold";
    if (hold.state !== "open") return "already resolved";
    const more = credits - hold.amount;
    if (more <= 0n) return "done";
    const { fields, window } = this.spender(hold.place.spender);
    const { deposited, charged, held } = this.account(hold.place.account);
    const { cap, active, expiresAt } = fields;
    if (!active) return "disabled or deleted";
    if (expiresAt !== undefined && expiresAt <= at) return "expired";
    if (cap !== undefined && (hold.window !== window || window.used + credits > cap)) return "cap";
    if (charged + credits > deposited) return "balance";
    if (cap !== undefined && window.used + window.held + more > cap) return "cap, in flight";
    return charged + held + more > deposited ? "balance, in flight" : "done";
  }

  /** An extension that was committed. */
  extended({ hold: id, credits, most, deadlineAt }: Extend): void {
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

  /** What the beginning of another attempt should be answered. */
  judgeNext({ hold: id, attempt }: Next): Outcome["code"] {
    const hold = this.holds.get(id);
    if (hold === undefined) return "unknown hold";
    if (hold.state !== "open") return "already resolved";
    const { length } = hold.attempts;
    const begins = attempt === length + 1 && !hold.leased;
    return attempt === length || begins ? "done" : "already resolved";
  }

  /** The beginning of another attempt, as it was asked for. @returns what of its cost is a new loss of ours */
  nextAttempt({ hold: id, attempt, provider, cost, billedBy, deadlineAt }: Next): bigint {
    const hold = present(this.holds.get(id));
    const { length } = hold.attempts;
    if (attempt <= length && billedBy !== undefined) {
      const earlier = present(hold.attempts[attempt - 2]);
      if (earlier.provider !== billedBy) {
        throw new Violation("simulation", `attempt ${attempt - 1} of ${id} was not made by ${billedBy}`);
      }
      return bookLate(earlier, cost);
    }
    if (attempt !== length + 1) return 0n;
    if (hold.state !== "open") return bookLate(present(hold.attempts.at(-1)), cost);
    if (hold.leased) return 0n;
    present(hold.attempts.at(-1)).booked = cost;
    hold.attempts.push({ provider, booked: 0n });
    hold.deadlineAt = Math.max(hold.deadlineAt, deadlineAt);
    return cost;
  }

  #judgeClaim({ claim, hold }: Place, at: number): Outcome["code"] | undefined {
    const owner = claim === undefined ? undefined : this.claims.get(claim.key);
    if (owner === undefined || owner.id === hold) return undefined;
    if (this.isOver(owner, at)) return undefined;
    // What was kept may have been seen: its key stays taken.
    if (owner.state === "released" && !this.kept.has(owner.id)) return undefined;
    if (owner.place.claim?.content !== claim?.content) return "claim mismatch";
    return owner.state === "open" ? "claim in progress" : "claim finished";
  }

  #isOwn({ claim, spender }: Place): boolean {
    return claim !== undefined && this.claims.get(claim.key)?.place.spender === spender;
  }

  /** Whether the claim of this hold has had its time. While the hold is open, it never has. */
  isOver({ state, placedAt }: AuditedHold, at: number): boolean {
    return state !== "open" && at - placedAt >= CLAIM_LIFETIME_MS;
  }

  #judgeMoney({ credits, account: index }: Place, spender: AuditedSpender, at: number): Outcome["code"] {
    if (credits === 0n) return this.#freeUseAt(index, at).used < this.#freeLimit ? "done" : "free limit";
    const { fields, window } = spender;
    const begins = windowStartOf(fields.period, at) > window.start;
    const used = begins ? 0n : window.used;
    const held = begins ? 0n : window.held;
    const { deposited, charged, held: heldOfAccount } = this.account(index);
    const { cap } = fields;
    if (cap !== undefined && used + credits > cap) return "cap";
    if (charged + credits > deposited) return "balance";
    if (cap !== undefined && used + held + credits > cap) return "cap, in flight";
    return charged + heldOfAccount + credits > deposited ? "balance, in flight" : "done";
  }

  #freeUseAt(account: number, at: number): FreeUse {
    const use = present(this.#freeUse[account]);
    const day = windowStartOf("day", at);
    if (day > use.day) Object.assign(use, { day, used: 0 });
    return use;
  }

  /** What is taken of what is free, by whoever needs so much at least and can use so much. */
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

  /** A place that was committed. @param now true time. @returns whether it began a window */
  placed(place: Place, at: number, now: number): boolean {
    const spender = this.spender(place.spender);
    const start = windowStartOf(spender.fields.period, at);
    const begins = start > spender.window.start;
    if (begins) spender.window = newWindow(start);
    const amount = this.#share(place.credits, place.most, spender, spender.window);
    spender.window.held += amount;
    this.account(place.account).held += amount;
    if (place.credits === 0n) this.#freeUseAt(place.account, at).used += 1;
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
      reservedAt: now,
      resolution: undefined,
      resolvedAt: Number.POSITIVE_INFINITY,
    };
    this.holds.set(place.hold, hold);
    if (place.claim !== undefined) this.claims.set(place.claim.key, hold);
    return begins;
  }

  /** Books a capture or release. @returns what it should be answered, and what of its cost is a new loss of ours */
  resolved(asked: Resolution, now: number): { verdict: Outcome["code"]; loss: bigint } {
    const hold = this.holds.get(asked.hold);
    if (hold === undefined) return { verdict: "unknown hold", loss: 0n };
    const named = asked.kind === "capture" ? undefined : asked.provider;
    const current = present(hold.attempts.at(-1)).provider;
    // What an earlier attempt cost was booked when it ended.
    const operation = named === undefined || named === current ? asked : { ...asked, cost: 0n };
    const captures = operation.kind === "capture";
    const charge = captures ? smaller(operation.credits, hold.amount) : 0n;
    if (hold.state === "open") {
      const account = this.account(hold.place.account);
      hold.state = captures ? "captured" : "released";
      hold.resolution = operation.kind;
      hold.resolvedAt = now;
      hold.charge = charge;
      hold.cost = operation.cost;
      present(hold.attempts.at(-1)).booked = operation.cost;
      hold.window.held -= hold.amount;
      hold.window.used += charge;
      account.held -= hold.amount;
      account.charged += charge;
      return { verdict: "done", loss: captures ? 0n : operation.cost };
    }
    const again = captures
      ? hold.state === "captured" && hold.charge === charge && hold.cost === operation.cost
      : hold.state === "released";
    return {
      verdict: again ? "done" : "already resolved",
      loss: bookLate(present(hold.attempts.at(-1)), operation.cost),
    };
  }
}

/** @param cost of the attempt in all. @returns what of it is new */
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
