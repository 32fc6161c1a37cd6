// PostgreSQL as billing uses it: what is committed here survives everything. Its decisions are those of LedgerModel,
// which a property test holds equal to the real SQL; leases are added. Every commit is told to the audit. What can be
// wrong with a ledger is in flawed-ledger.ts.

import { LedgerModel, type LedgerOutcome } from "@gr/ledger-model";
import { OutcomeCode } from "@gr/proto/billing";
import { Audit, type AuditedHold, present } from "./audit.ts";
import { FlawedLedger } from "./flawed-ledger.ts";
import { checkResolution, checkSums, checkVerdict } from "./invariants.ts";
import type { LeasedHold, LedgerJournal } from "./ledger-journal.ts";
import {
  ALREADY_RESOLVED,
  DONE,
  type Extend,
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
import { PastStates } from "./past-states.ts";
import { CLAIM_LIFETIME_MS } from "./timing.ts";
import type { World } from "./world.ts";

/** Requests to free models that an account may make a day. */
export const FREE_LIMIT = 2;

interface OpenHold {
  readonly place: Place;
  deadlineAt: number;
  leasedUntil: number;
}

export class Ledger {
  readonly model: LedgerModel;
  readonly audit: Audit;
  readonly past: PastStates;
  readonly open = new Map<number, OpenHold>();
  readonly #world: World;
  readonly #flawed: FlawedLedger;
  readonly #journal: LedgerJournal | undefined;
  readonly #deposits = new Set<number>();

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
    this.#flawed = new FlawedLedger(world, this.model);
  }

  /** By PostgreSQL's clock, which a fail-over may set back. */
  get time(): number {
    return this.#world.now - this.#world.postgresLag;
  }

  /** One transaction. */
  commit(operations: readonly Operation[]): Outcome[] {
    const outcomes = operations.map((operation) => {
      if (operation.kind === "place") return this.#place(operation);
      return operation.kind === "extend" ? this.#extend(operation) : this.#resolve(operation);
    });
    this.#journal?.committed(this.time, operations);
    return outcomes;
  }

  #answer(outcome: LedgerOutcome): Outcome {
    this.#journal?.answered(outcome);
    return outcomeOf(outcome);
  }

  #place(place: Place): Outcome {
    const { audit, time } = this;
    const repeated = this.model.holds.has(place.hold);
    const verdict = repeated ? undefined : audit.judge(place, time);
    const outcome = this.#answer(this.#flawed.place(place, time));
    if (this.#world.tracing) {
      const { hold, spender, credits } = place;
      this.#world.note(`ledger: place ${hold} of ${credits} by key ${spender}: ${outcome.code}`);
    }
    if (verdict === undefined) this.#world.count("places repeated");
    else checkVerdict(place, outcome.code, verdict);
    if (verdict === "done") this.#book(place);
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
    if (audit.placed(place, time)) this.#world.count("windows begun");
    this.open.set(place.hold, { place, deadlineAt: place.deadlineAt, leasedUntil: 0 });
    this.past.remember(place.account);
  }

  #extend(extend: Extend): Outcome {
    const { audit, time } = this;
    const { hold: id, credits, deadlineAt } = extend;
    const hold = audit.holds.get(id);
    const verdict = audit.judgeExtension(extend, time);
    const outcome = this.#answer(this.#flawed.extend(extend, time));
    if (this.#world.tracing) this.#world.note(`ledger: extend ${id} to ${credits}: ${outcome.code}`);
    checkVerdict(extend, outcome.code, verdict);
    if (hold === undefined) return outcome;
    const { account, spender } = hold.place;
    this.#countExtension(extend, hold, verdict);
    if (verdict === "done") {
      audit.extended(extend);
      const open = present(this.open.get(id));
      open.deadlineAt = Math.max(open.deadlineAt, deadlineAt);
      this.past.remember(account);
    }
    checkSums(this.model, audit, account, spender);
    return outcome;
  }

  #countExtension(
    { credits }: Extend,
    { amount, window, place }: AuditedHold,
    verdict: Outcome["code"],
  ): void {
    const world = this.#world;
    if (verdict === "already resolved") world.count("extensions that came too late");
    else if (verdict !== "done") world.count("extensions refused");
    else if (credits <= amount) world.count("extensions repeated");
    else world.count("holds extended");
    if (window !== this.audit.spender(place.spender).window) {
      world.count("extensions in a window that had ended");
    }
  }

  #resolve(operation: Resolution): Outcome {
    const { model, audit } = this;
    const before = audit.holds.get(operation.hold);
    this.#countResolution(operation, before);
    const lost = model.lost;
    const outcome = this.#answer(this.#flawed.resolve(operation, this.time));
    const bookedBefore = before?.booked ?? 0n;
    const wasOpen = before?.state === "open";
    const verdict = audit.resolved(operation);
    if (this.#world.tracing) {
      const { kind, hold, cost } = operation;
      const amount = operation.kind === "capture" ? ` of ${operation.credits}` : "";
      this.#world.note(`ledger: ${kind} ${hold}${amount}, cost ${cost}: ${outcome.code}`);
    }
    checkResolution(operation, outcome.code, verdict);
    if (before === undefined) return outcome;
    const loss =
      before.booked - bookedBefore - (wasOpen && operation.kind === "capture" ? operation.cost : 0n);
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
      if (operation.credits > hold.amount) world.count("charges above the hold");
      if (operation.credits === 0n) world.count("charges of nothing");
      if (hold.window !== this.audit.spender(hold.place.spender).window) {
        world.count("charges in a window that had ended");
      }
      return;
    }
    if (operation.cost > hold.cost && !hold.lateBooked) world.count("costs booked as late");
    if (operation.kind === "capture") {
      world.count(hold.state === "captured" ? "captures repeated" : "captures after a release");
    }
  }

  /** @returns false when the hold is not open, is being resolved, or has no claim any more */
  keepAnswer(hold: number, settlement: Settlement): boolean {
    const leased = (this.open.get(hold)?.leasedUntil ?? 0) > 0 && !this.audit.kept.has(hold);
    const refused = leased && this.#world.flaw !== "answer kept under a lease";
    const kept = !refused && this.model.claims.keep(hold, settlement);
    if (kept) this.audit.kept.add(hold);
    this.#journal?.add(this.time, { kind: "keep answer", hold, settlement, kept });
    return kept;
  }

  /** "over" when it was kept and its day has ended. */
  readAnswer(account: number, hold: number): "kept" | "over" | "none" {
    const answer = this.model.claims.read(account, hold, this.time);
    this.#journal?.add(this.time, { kind: "read answer", account, hold, answer });
    if (answer !== undefined) return "kept";
    return this.time - present(this.audit.holds.get(hold)).placedAt >= CLAIM_LIFETIME_MS ? "over" : "none";
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
      const { place, deadlineAt, leasedUntil } = open;
      if (place.service !== service || deadlineAt > this.time || leasedUntil > this.time) continue;
      open.leasedUntil = this.time + leaseMs;
      leased.push({ hold, deadlineAt, kept: this.model.claims.kept(hold) });
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

  /** Completed, refunded or adjusted money; the same id again changes nothing. */
  putMoney(id: number, account: number, credits: bigint): void {
    this.#journal?.add(this.time, { kind: "put money", id, account, credits });
    const known = this.#deposits.has(id);
    if (known) this.#world.count("deposits repeated");
    else this.audit.account(account).deposited += credits;
    this.#deposits.add(id);
    if (!known || this.#world.flaw === "deposit repeated counts twice") {
      present(this.model.accounts[account]).deposited += credits;
    }
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
