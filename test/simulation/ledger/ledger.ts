// PostgreSQL as billing uses it: what is committed here survives everything. Its decisions are those of LedgerModel, which
// the tests of billing hold equal to the real SQL; leases are added. Every commit is told to the audit, which decides anew.
import { LedgerModel, type LedgerOutcome } from "@gr/ledger-model";
import { type DepositStatus, OutcomeCode } from "@gr/proto/billing";
import { Audit, type AuditedHold, present } from "../books/audit.ts";
import { checkResolution, checkSaid, checkSums, checkVerdict, violated } from "../books/invariants.ts";
import { PastStates } from "../books/past-states.ts";
import type { World } from "../world/world.ts";
import type { LeasedHold, LedgerJournal } from "./ledger-journal.ts";
import {
  ALREADY_RESOLVED,
  type Claim,
  DONE,
  type Extend,
  type Next,
  type Operation,
  type Outcome,
  type Place,
  type Refusal,
  type Resolution,
  type Service,
  type Settlement,
  type SpenderFields,
  UNKNOWN_HOLD,
} from "./operation.ts";

/** Requests to free models that an account may make a day. */
export const FREE_LIMIT = 2;

interface OpenHold {
  readonly place: Place;
  provider: string;
  deadlineAt: number;
  leasedUntil: number;
}

export class Ledger {
  readonly model: LedgerModel;
  readonly audit: Audit;
  readonly past: PastStates;
  readonly open = new Map<number, OpenHold>();
  readonly #world: World;
  readonly #journal: LedgerJournal | undefined;

  constructor(
    world: World,
    accounts: number,
    spenders: readonly { account: number; fields: SpenderFields }[],
    journal?: LedgerJournal,
  ) {
    this.#world = world;
    this.#journal = journal;
    this.model = new LedgerModel(accounts, spenders, FREE_LIMIT);
    this.audit = new Audit(accounts, spenders, FREE_LIMIT);
    this.past = new PastStates(world, this.audit);
  }

  /** By PostgreSQL's clock, which a fail-over may set back. */
  get time(): number {
    return this.#world.now - this.#world.postgresLag;
  }

  /** One transaction. @throws Violation */
  commit(operations: readonly Operation[]): LedgerOutcome[] {
    const outcomes = operations.map((operation) => this.#apply(operation));
    if (operations.length > 0) {
      this.#journal?.add(this.time, { kind: "commit", operations, outcomes });
    }
    return outcomes;
  }

  #apply(operation: Operation): LedgerOutcome {
    switch (operation.kind) {
      case "place":
        return this.#place(operation);
      case "extend":
        return this.#extend(operation);
      case "next":
        return this.#next(operation);
      default:
        return this.#resolve(operation);
    }
  }

  #place(place: Place): LedgerOutcome {
    const { audit, time } = this;
    const repeated = this.model.holds.has(place.hold);
    const verdict = repeated ? undefined : audit.judge(place, time);
    const outcome = this.model.apply(place, time);
    const { code } = outcomeOf(outcome);
    if (this.#world.tracing) {
      const { hold, spender, credits } = place;
      this.#world.note(`ledger: place ${hold} of ${credits} by key ${spender}: ${code}`);
    }
    if (verdict === undefined) this.#world.count("places repeated");
    else checkVerdict(place, code, verdict);
    if (verdict === "done") this.#book(place);
    if (code === "done") checkSaid(place, outcome.held, audit);
    checkSums(this.model, audit, place.account, place.spender);
    return outcome;
  }

  #book(place: Place): void {
    const { audit, time } = this;
    this.#world.count("holds placed");
    const earlier = place.claim === undefined ? undefined : audit.claims.get(place.claim.key);
    if (earlier !== undefined) {
      this.#world.count(earlier.state === "released" ? "claims: free again" : "claims: over after a day");
    }
    if (audit.placed(place, time, this.#world.now)) this.#world.count("windows begun");
    const { provider, deadlineAt, credits, most = credits } = place;
    if (most > credits) {
      const amount = present(audit.holds.get(place.hold)).amount;
      this.#world.count(amount === most ? "holds of the whole maximum" : "holds of what there is");
    }
    this.open.set(place.hold, { place, provider, deadlineAt, leasedUntil: 0 });
    this.past.remember(place.account);
  }

  #extend(extend: Extend): LedgerOutcome {
    const { audit, time } = this;
    const { hold: id, credits, deadlineAt } = extend;
    const hold = audit.holds.get(id);
    const verdict = audit.judgeExtension(extend, time);
    const outcome = this.model.apply(extend, time);
    const { code } = outcomeOf(outcome);
    if (this.#world.tracing) this.#world.note(`ledger: extend ${id} to ${credits}: ${code}`);
    checkVerdict(extend, code, verdict);
    if (hold === undefined) return outcome;
    const { account, spender } = hold.place;
    this.#countExtension(extend, hold, verdict);
    if (verdict === "done") {
      audit.extended(extend);
      const open = present(this.open.get(id));
      open.deadlineAt = Math.max(open.deadlineAt, deadlineAt);
      this.past.remember(account);
      checkSaid(extend, outcome.held, audit);
    } else hold.refusedCredits = credits;
    checkSums(this.model, audit, account, spender);
    return outcome;
  }

  #countExtension(
    { credits, deadlineAt }: Extend,
    { amount, window, place, deadlineAt: before }: AuditedHold,
    verdict: Outcome["code"],
  ): void {
    const world = this.#world;
    if (verdict === "already resolved") world.count("extensions that came too late");
    else if (verdict !== "done") world.count("extensions refused");
    else if (credits > amount) world.count("holds extended");
    else world.count(deadlineAt > before ? "holds renewed" : "extensions repeated");
    if (window !== this.audit.spender(place.spender).window) {
      world.count("extensions in a window that had ended");
    }
  }

  #next(next: Next): LedgerOutcome {
    const { audit, model } = this;
    const { hold: id, attempt, provider, cost, deadlineAt } = next;
    const verdict = audit.judgeNext(next);
    const lost = model.lost;
    const outcome = model.apply(next, this.time);
    const { code } = outcomeOf(outcome);
    if (this.#world.tracing) {
      this.#world.note(
        `ledger: attempt ${attempt} of ${id} by ${provider}, the one before cost ${cost}: ${code}`,
      );
    }
    checkVerdict(next, code, verdict);
    const hold = audit.holds.get(id);
    if (hold === undefined) return outcome;
    const begun = hold.attempts.length;
    const loss = audit.nextAttempt(next);
    if (hold.attempts.length > begun) {
      this.#world.count(cost > 0n ? "attempts that cost us" : "attempts that failed for nothing");
      const open = present(this.open.get(id));
      open.provider = provider;
      open.deadlineAt = Math.max(open.deadlineAt, deadlineAt);
    } else if (loss > 0n) this.#world.count("costs booked as late, of an earlier attempt");
    checkSums(model, audit, hold.place.account, hold.place.spender, model.lost - lost - loss);
    return outcome;
  }

  #resolve(operation: Resolution): LedgerOutcome {
    const { model, audit } = this;
    const before = audit.holds.get(operation.hold);
    this.#countResolution(operation, before);
    const lost = model.lost;
    const outcome = model.apply(operation, this.time);
    const { code } = outcomeOf(outcome);
    if (this.#world.tracing) {
      const { kind, hold, cost } = operation;
      const amount = operation.kind === "capture" ? ` of ${operation.credits}` : "";
      this.#world.note(`ledger: ${kind} ${hold}${amount}, cost ${cost}: ${code}`);
    }
    const { verdict, loss } = audit.resolved(operation, this.#world.now);
    checkResolution(operation, code, verdict);
    if (before === undefined) return outcome;
    this.past.remember(before.place.account);
    checkSums(model, audit, before.place.account, before.place.spender, model.lost - lost - loss);
    if (before.state !== "open") this.open.delete(operation.hold);
    return outcome;
  }

  #countResolution(operation: Resolution, hold: AuditedHold | undefined): void {
    const world = this.#world;
    if (hold === undefined) return;
    if (hold.state === "open") {
      if (operation.kind !== "capture") {
        if (operation.cost > 0n) world.count("costs booked as failed");
        return;
      }
      if (hold.attempts.length > 1) world.count("charges of a later attempt");
      if (operation.credits > hold.amount) {
        throw violated(
          "I14",
          `${operation.hold} is captured with ${operation.credits}, above its hold of ${hold.amount}`,
        );
      }
      if (operation.credits === 0n) world.count("charges of nothing");
      if (hold.window !== this.audit.spender(hold.place.spender).window) {
        world.count("charges in a window that had ended");
      }
      return;
    }
    const { booked } = present(hold.attempts.at(-1));
    if (operation.cost > booked) {
      world.count("costs booked as late");
      if (booked > hold.cost) world.count("second late bills booked");
    }
    if (operation.kind === "capture") {
      world.count(hold.state === "captured" ? "captures repeated" : "captures after a release");
    }
  }

  /** @returns false when the hold is not open, is being resolved, or has no claim any more */
  keepAnswer(hold: number, settlement: Settlement): boolean {
    const leased = (this.open.get(hold)?.leasedUntil ?? 0) > 0 && !this.audit.kept.has(hold);
    const kept = !leased && this.model.claims.keep(hold, settlement);
    if (kept) this.audit.kept.add(hold);
    if (this.#world.tracing) this.#world.note(`ledger: answer of ${hold} is ${kept ? "" : "not "}kept`);
    this.#journal?.add(this.time, { kind: "keep answer", hold, settlement, kept });
    return kept;
  }

  readAnswer(account: number, hold: number): Settlement | undefined {
    const answer = this.model.claims.read(account, hold, this.time);
    this.#journal?.add(this.time, { kind: "read answer", account, hold, answer });
    return answer;
  }

  judgeClaim(account: number, spender: number, claim: Claim): LedgerOutcome {
    const outcome = this.model.judge(account, spender, claim, this.time);
    this.#journal?.add(this.time, { kind: "judge claim", account, spender, claim, outcome });
    return outcome;
  }

  anyExpired(service: Service): boolean {
    for (const { place, deadlineAt, leasedUntil } of this.open.values()) {
      if (place.service === service && deadlineAt <= this.time && leasedUntil <= this.time) return true;
    }
    return false;
  }

  leaseExpired(service: Service, leaseMs: number): LeasedHold[] {
    const leased: LeasedHold[] = [];
    for (const [hold, open] of this.open) {
      const { place, provider, deadlineAt, leasedUntil } = open;
      if (place.service !== service || deadlineAt > this.time || leasedUntil > this.time) continue;
      open.leasedUntil = this.time + leaseMs;
      this.model.lease(hold);
      present(this.audit.holds.get(hold)).leased = true;
      leased.push({ hold, provider, deadlineAt, kept: this.model.claims.kept(hold) });
    }
    this.#journal?.add(this.time, { kind: "lease", service, leaseMs, leased });
    return leased;
  }

  putSpender(index: number, fields: SpenderFields): void {
    this.#journal?.add(this.time, { kind: "put spender", index, fields });
    this.model.putSpender(index, fields);
    this.audit.putSpender(index, fields);
    this.past.remember(this.audit.spender(index).account);
  }

  /** @param change of the account's credit, as billing has decided */
  putDeposit(id: number, account: number, credits: bigint, status: DepositStatus, change: bigint): void {
    this.#journal?.add(this.time, { kind: "put deposit", id, account, credits, status });
    if (this.audit.deposit(id, account, credits, status)) this.#world.count("deposits repeated");
    this.#give(account, change);
  }

  putAdjustment(id: number, account: number, credits: bigint): void {
    this.#journal?.add(this.time, { kind: "put adjustment", id, account, credits });
    if (this.audit.adjust(id, account, credits)) this.#give(account, credits);
  }

  #give(account: number, credits: bigint): void {
    present(this.model.accounts[account]).deposited += credits;
    this.past.remember(account);
    checkSums(this.model, this.audit, account);
  }
}

const CODES = new Map<OutcomeCode, Outcome>([
  [OutcomeCode.DONE, DONE],
  [OutcomeCode.ALREADY_RESOLVED, ALREADY_RESOLVED],
  [OutcomeCode.UNKNOWN_HOLD, UNKNOWN_HOLD],
]);
const REFUSALS = new Map<OutcomeCode, readonly [Refusal, Refusal]>([
  [OutcomeCode.INSUFFICIENT_CREDITS, ["balance", "balance, in flight"]],
  [OutcomeCode.SPEND_LIMIT_EXCEEDED, ["cap", "cap, in flight"]],
  [OutcomeCode.SPENDER_INACTIVE, ["disabled or deleted", "disabled or deleted"]],
  [OutcomeCode.SPENDER_EXPIRED, ["expired", "expired"]],
  [OutcomeCode.FREE_LIMIT_EXCEEDED, ["free limit", "free limit"]],
  [OutcomeCode.CLAIM_IN_PROGRESS, ["claim in progress", "claim in progress"]],
  [OutcomeCode.CLAIM_MISMATCH, ["claim mismatch", "claim mismatch"]],
]);

function outcomeOf({ code, inFlight, earlierHold }: LedgerOutcome): Outcome {
  if (earlierHold !== undefined) return { code: "claim finished", earlierHold };
  const known = CODES.get(code);
  if (known !== undefined) return known;
  const [plain, waiting] = present(REFUSALS.get(code));
  return { code: inFlight === true ? waiting : plain };
}
