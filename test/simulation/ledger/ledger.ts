// Ledger owns PostgreSQL as billing uses it: a commit survives each fault. `@gr/ledger` decides, and the tests of billing hold
// it equal to the real SQL. The audit receives each commit and decides anew.
import {
  type DepositEntry,
  findHold,
  type Hold,
  type KeptAmounts,
  type Operation as LedgerOperation,
  type Outcome as LedgerOutcome,
} from "@gr/ledger";
import { MemoryLedger } from "@gr/ledger-model";
import type { DepositStatus } from "@gr/proto/billing";
import { Audit, type AuditedHold, present } from "../books/audit.ts";
import { checkResolution, checkSaid, checkSums, checkVerdict, violated } from "../books/invariants.ts";
import { PastStates } from "../books/past-states.ts";
import type { World } from "../world/world.ts";
import { idOf } from "./ids.ts";
import type { LeasedHold, LedgerJournal } from "./ledger-journal.ts";
import { definitionOf, ledgerClaim, ledgerOperation } from "./ledger-operation.ts";
import type {
  Claim,
  Extend,
  Next,
  Operation,
  Outcome,
  Place,
  Resolution,
  Service,
  Settlement,
  SpenderFields,
} from "./operation.ts";

/** Requests to free models that an account may make a day. */
export const FREE_LIMIT = 2;

export class Ledger {
  readonly books = new MemoryLedger(FREE_LIMIT);
  readonly audit: Audit;
  readonly past: PastStates;
  /** In the order of their places. */
  readonly open = new Map<number, Place>();
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
    this.audit = new Audit(accounts, spenders, FREE_LIMIT);
    this.past = new PastStates(world, this.audit);
    for (let account = 0; account < accounts; account += 1) {
      this.#decide({ kind: "open", accountId: idOf(account) });
    }
    for (const [index, { account, fields }] of spenders.entries()) {
      this.#decide({ kind: "budget", accountId: idOf(account), definition: definitionOf(index, fields, 0n) });
    }
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

  #decide(operation: LedgerOperation): LedgerOutcome {
    return this.books.decide(operation, this.time);
  }

  /** The answer of the books, before the audit has judged it. */
  #answer(operation: Operation): LedgerOutcome {
    const place = operation.kind === "place" ? operation : this.audit.holds.get(operation.hold)?.place;
    return this.#decide(ledgerOperation(operation, place?.account ?? 0));
  }

  #bookedHold(hold: number, account: number): Hold {
    return present(findHold(this.books.account(idOf(account)), idOf(hold)));
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
    const repeated = audit.holds.has(place.hold);
    const verdict = repeated ? undefined : audit.judge(place, time);
    const outcome = this.#answer(place);
    const code = wordOf(outcome);
    if (this.#world.tracing) {
      const { hold, spender, credits } = place;
      this.#world.note(`ledger: place ${hold} of ${credits} by key ${spender}: ${code}`);
    }
    if (verdict === undefined) this.#world.count("places repeated");
    else checkVerdict(place, code, verdict);
    if (verdict === "done") this.#book(place);
    if (code === "done") checkSaid(place, outcome.held, audit);
    checkSums(this.books, audit, place.account, place.spender);
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
    const { credits, most = credits } = place;
    if (most > credits) {
      const amount = present(audit.holds.get(place.hold)).amount;
      this.#world.count(amount === most ? "holds of the whole maximum" : "holds of what there is");
    }
    this.open.set(place.hold, place);
    this.past.remember(place.account);
  }

  #extend(extend: Extend): LedgerOutcome {
    const { audit, time } = this;
    const { hold: id, credits } = extend;
    const hold = audit.holds.get(id);
    const verdict = audit.judgeExtension(extend, time);
    const outcome = this.#answer(extend);
    const code = wordOf(outcome);
    if (this.#world.tracing) this.#world.note(`ledger: extend ${id} to ${credits}: ${code}`);
    checkVerdict(extend, code, verdict);
    if (hold === undefined) return outcome;
    const { account, spender } = hold.place;
    this.#countExtension(extend, hold, verdict);
    if (verdict === "done") {
      audit.extended(extend);
      this.past.remember(account);
      checkSaid(extend, outcome.held, audit);
    } else hold.refusedCredits = credits;
    checkSums(this.books, audit, account, spender);
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
    const { audit, books } = this;
    const { hold: id, attempt, provider, cost } = next;
    const verdict = audit.judgeNext(next);
    const { lost } = books;
    const outcome = this.#answer(next);
    const code = wordOf(outcome);
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
    } else if (loss > 0n) this.#world.count("costs booked as late, of an earlier attempt");
    checkSums(books, audit, hold.place.account, hold.place.spender, books.lost - lost - loss);
    return outcome;
  }

  #resolve(operation: Resolution): LedgerOutcome {
    const { books, audit } = this;
    const before = audit.holds.get(operation.hold);
    this.#countResolution(operation, before);
    const { lost } = books;
    const outcome = this.#answer(operation);
    const code = wordOf(outcome);
    if (this.#world.tracing) {
      const { kind, hold, cost } = operation;
      const amount = operation.kind === "capture" ? ` of ${operation.credits}` : "";
      this.#world.note(`ledger: ${kind} ${hold}${amount}, cost ${cost}: ${code}`);
    }
    const { verdict, loss } = audit.resolved(operation, this.#world.now);
    checkResolution(operation, code, verdict);
    if (before === undefined) return outcome;
    this.past.remember(before.place.account);
    checkSums(books, audit, before.place.account, before.place.spender, books.lost - lost - loss);
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
    const account = this.audit.holds.get(hold)?.place.account;
    const amounts = { charge: settlement.credits, cost: settlement.cost };
    const kept = account !== undefined && this.books.keep(idOf(account), idOf(hold), amounts, this.time);
    if (kept) this.audit.kept.add(hold);
    if (this.#world.tracing) this.#world.note(`ledger: answer of ${hold} is ${kept ? "" : "not "}kept`);
    this.#journal?.add(this.time, { kind: "keep answer", hold, settlement, kept });
    return kept;
  }

  readAnswer(account: number, hold: number): Settlement | undefined {
    const answer = settlementOf(this.books.keptAmounts(idOf(account), idOf(hold), this.time));
    this.#journal?.add(this.time, { kind: "read answer", account, hold, answer });
    return answer;
  }

  judgeClaim(account: number, spender: number, claim: Claim): LedgerOutcome {
    const asked = { budgetId: idOf(spender), claim: ledgerClaim(claim) };
    const outcome = this.books.judgeClaim(idOf(account), asked, this.time);
    this.#journal?.add(this.time, { kind: "judge claim", account, spender, claim, outcome });
    return outcome;
  }

  anyExpired(service: Service): boolean {
    return this.#expired(service).length > 0;
  }

  #expired(service: Service): Place[] {
    return [...this.open.values()].filter((place) => {
      if (place.service !== service) return false;
      const { deadlineAt, leasedUntil } = this.#bookedHold(place.hold, place.account);
      return deadlineAt <= this.time && leasedUntil <= this.time;
    });
  }

  leaseExpired(service: Service, leaseMs: number): LeasedHold[] {
    const leased: LeasedHold[] = [];
    for (const { hold, account } of this.#expired(service)) {
      const { tag, deadlineAt, kept } = this.#bookedHold(hold, account);
      const until = this.time + leaseMs;
      this.#decide({ kind: "lease", accountId: idOf(account), holdId: idOf(hold), until });
      present(this.audit.holds.get(hold)).leased = true;
      leased.push({ hold, provider: tag.provider, deadlineAt, kept: settlementOf(kept) });
    }
    this.#journal?.add(this.time, { kind: "lease", service, leaseMs, leased });
    return leased;
  }

  /** @returns false if a newer revision is stored */
  putSpender(index: number, fields: SpenderFields, revision: bigint): boolean {
    const { account } = this.audit.spender(index);
    const definition = definitionOf(index, fields, revision);
    const { code } = this.#decide({ kind: "budget", accountId: idOf(account), definition });
    if (code !== "done") return false;
    this.#journal?.add(this.time, { kind: "put spender", index, fields });
    this.audit.putSpender(index, fields);
    this.past.remember(account);
    return true;
  }

  /** @param entry step of this status, as billing has decided */
  putDeposit(id: number, account: number, credits: bigint, status: DepositStatus, entry: DepositEntry): void {
    this.#journal?.add(this.time, { kind: "put deposit", id, account, credits, status });
    if (this.audit.deposit(id, account, credits, status)) this.#world.count("deposits repeated");
    if (entry !== null) this.#credit(entry, id, account, entry === "deposit" ? credits : -credits);
    checkSums(this.books, this.audit, account);
  }

  putAdjustment(id: number, account: number, credits: bigint): void {
    this.#journal?.add(this.time, { kind: "put adjustment", id, account, credits });
    if (this.audit.adjust(id, account, credits)) this.#credit("adjustment", id, account, credits);
    checkSums(this.books, this.audit, account);
  }

  #credit(kind: "deposit" | "refund" | "adjustment", id: number, account: number, credits: bigint): void {
    this.#decide({ kind, accountId: idOf(account), id: idOf(id), credits });
    this.past.remember(account);
  }
}

function settlementOf(kept: KeptAmounts | undefined): Settlement | undefined {
  return kept && { credits: kept.charge, cost: kept.cost };
}

/** Words of the audit for each code, without and with open holds as the reason. */
const WORDS: Partial<Record<LedgerOutcome["code"], readonly [Outcome["code"], Outcome["code"]]>> = {
  done: ["done", "done"],
  already_resolved: ["already resolved", "already resolved"],
  unknown_hold: ["unknown hold", "unknown hold"],
  insufficient_credits: ["balance", "balance, in flight"],
  spend_limit_exceeded: ["cap", "cap, in flight"],
  spender_inactive: ["disabled or deleted", "disabled or deleted"],
  spender_expired: ["expired", "expired"],
  free_limit_exceeded: ["free limit", "free limit"],
  claim_in_progress: ["claim in progress", "claim in progress"],
  claim_mismatch: ["claim mismatch", "claim mismatch"],
  claim_finished: ["claim finished", "claim finished"],
};

function wordOf({ code, refusal }: LedgerOutcome): Outcome["code"] {
  const [plain, waiting] = present(WORDS[code]);
  return refusal?.inFlight === true ? waiting : plain;
}
