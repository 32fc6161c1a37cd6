// PostgreSQL as billing uses it: what is committed here survives everything. Its decisions are those of LedgerModel,
// which a property test holds equal to the real SQL; leases are added. Every commit is told to the audit. What can be
// wrong with a ledger is in flawed-ledger.ts.
import { OutcomeCode } from "@gr/proto/billing";
import { LedgerModel, type LedgerOutcome } from "../src/test/ledger-model.ts";
import { Audit, type AuditedHold, present } from "./audit.ts";
import { FlawedLedger } from "./flawed-ledger.ts";
import { checkResolution, checkSums, checkVerdict } from "./invariants.ts";
import {
  ALREADY_RESOLVED,
  DONE,
  type Operation,
  type Outcome,
  type Place,
  type Refusal,
  type Service,
  type Settlement,
  type SpenderFields,
  UNKNOWN_HOLD,
} from "./operation.ts";
import { PastStates } from "./past-states.ts";
import type { World } from "./world.ts";

/** Requests to free models that an account may make a day. */
const FREE_LIMIT = 2;

interface OpenHold {
  readonly place: Place;
  leasedUntil: number;
}

export interface LeasedHold {
  readonly hold: number;
  readonly deadlineAt: number;
  readonly kept: Settlement | undefined;
}

export class Ledger {
  readonly model: LedgerModel;
  readonly audit: Audit;
  readonly past: PastStates;
  readonly open = new Map<number, OpenHold>();
  readonly #world: World;
  readonly #flawed: FlawedLedger;
  readonly #deposits = new Set<number>();

  constructor(
    world: World,
    accounts: number,
    spenders: readonly { account: number; fields: SpenderFields }[],
  ) {
    this.#world = world;
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
    return operations.map((operation) =>
      operation.kind === "place" ? this.#place(operation) : this.#resolve(operation),
    );
  }

  #place(place: Place): Outcome {
    const { audit, time } = this;
    const repeated = this.model.holds.has(place.hold);
    const verdict = repeated ? undefined : audit.judge(place, time);
    const outcome = outcomeOf(this.#flawed.place(place, time));
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
    if (place.claim !== undefined && audit.claims.has(place.claim.key))
      this.#world.count("claims: free again");
    if (audit.placed(place, time)) this.#world.count("windows begun");
    this.open.set(place.hold, { place, leasedUntil: 0 });
    this.past.remember(place.account);
  }

  #resolve(operation: Exclude<Operation, Place>): Outcome {
    const { model, audit } = this;
    const before = audit.holds.get(operation.hold);
    this.#countResolution(operation, before);
    const lost = model.lost;
    const outcome = outcomeOf(this.#flawed.resolve(operation, this.time));
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

  #countResolution(operation: Exclude<Operation, Place>, hold: AuditedHold | undefined): void {
    const world = this.#world;
    if (hold === undefined) return;
    if (hold.state === "open") {
      if (operation.kind !== "capture") {
        if (operation.cost > 0n) world.count("costs booked as failed");
        return;
      }
      if (operation.credits > hold.place.credits) world.count("charges above the hold");
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
    const leased = (this.open.get(hold)?.leasedUntil ?? 0) > 0;
    if (leased && this.#world.flaw !== "answer kept under a lease") return false;
    const kept = this.model.claims.keep(hold, settlement);
    if (kept) this.audit.kept.add(hold);
    return kept;
  }

  anyExpired(service: Service): boolean {
    for (const { place, leasedUntil } of this.open.values()) {
      if (place.service === service && place.deadlineAt <= this.time && leasedUntil <= this.time) return true;
    }
    return false;
  }

  leaseExpired(service: Service, leaseMs: number): LeasedHold[] {
    const leased: LeasedHold[] = [];
    for (const [hold, open] of this.open) {
      const { place, leasedUntil } = open;
      if (place.service !== service || place.deadlineAt > this.time || leasedUntil > this.time) continue;
      open.leasedUntil = this.time + leaseMs;
      leased.push({ hold, deadlineAt: place.deadlineAt, kept: this.model.claims.kept(hold) });
    }
    return leased;
  }

  putSpender(index: number, fields: SpenderFields): void {
    this.model.putSpender(index, fields);
    this.audit.putSpender(index, fields);
    this.past.remember(this.audit.spender(index).account);
  }

  /** Completed, refunded or adjusted money; the same id again changes nothing. */
  putMoney(id: number, account: number, credits: bigint): void {
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
