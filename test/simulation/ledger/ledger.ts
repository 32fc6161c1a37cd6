// Ledger owns the view of a history on the ledger of steps. Its audit receives each commit and decides anew. It judges each answer of
// a writer by the books at the moment of the read that proves it.
import { encodeSteps, readStep } from "@gr/billing/simulated";
import {
  decide,
  type Facts,
  type Operation as LedgerOperation,
  type Outcome as LedgerOutcome,
  newAccount,
  type Step,
} from "@gr/ledger";
import { Audit, type AuditedHold, present } from "../books/audit.ts";
import { checkFromMemory, checkSaid, checkStep, checkVerdict, violated } from "../books/invariants.ts";
import { judge, type Verdict } from "../books/judge.ts";
import { PastStates } from "../books/past-states.ts";
import type { World } from "../world/world.ts";
import { type CommitAudit, Database } from "./database.ts";
import { idOf, numberOf } from "./ids.ts";
import { knownOperation } from "./known-operation.ts";
import type { Operation, Outcome, Resolution, Service, SpenderFields } from "./operation.ts";
import type { StatementJournal } from "./statement-journal.ts";
import { rowsOf, type TableStep } from "./step-tables.ts";
import type { AnswerAudit, Batch, Watched } from "./writer-watch.ts";

/** Requests to free models of an account in a day, at most. */
export const FREE_LIMIT = 2;

export class Ledger implements CommitAudit, AnswerAudit {
  readonly audit: Audit;
  readonly past: PastStates;
  readonly database: Database;
  /** In the order of their places. */
  readonly open = new Map<number, AuditedHold>();
  /** Processes of billing. */
  billing: readonly { readonly skew: number }[] = [];
  readonly #world: World;
  /** Resolvers look for holds as soon as one process of billing has any. */
  readonly #isEager: boolean;

  /** @param gifts credits of each account at the beginning */
  constructor(
    world: World,
    gifts: readonly bigint[],
    spenders: readonly { account: number; fields: SpenderFields }[],
    journal?: StatementJournal,
  ) {
    this.#world = world;
    this.#isEager = world.random.chance(0.5);
    this.audit = new Audit(gifts.length, spenders, FREE_LIMIT);
    this.past = new PastStates(world, this.audit);
    this.database = new Database(world, this, journal);
    this.#seed(gifts, spenders);
  }

  /** By PostgreSQL's clock, which a fail-over may set back. */
  get time(): number {
    return this.#world.now - this.#world.postgresLag;
  }

  /** The first steps of each account. */
  #seed(gifts: readonly bigint[], spenders: readonly { account: number; fields: SpenderFields }[]): void {
    const { database, audit } = this;
    for (const [account, credits] of gifts.entries()) {
      const accountId = idOf(account);
      const operations: Exclude<LedgerOperation, { kind: "keep" }>[] = [
        { kind: "open", accountId },
        ...spenders.flatMap((spender, index) =>
          spender.account === account
            ? [{ kind: "budget" as const, accountId, definition: definitionOf(index, spender.fields) }]
            : [],
        ),
        { kind: "adjustment", accountId, id: idOf(FIRST_GIFT + account), credits },
      ];
      const facts: Facts = { absentHolds: new Set(), claims: new Map() };
      const decision = decide(
        new Map([[accountId, newAccount(accountId)]]),
        operations,
        new Map([[accountId, facts]]),
        { now: this.#world.now - FIRST_STEPS_AGO_MS, freeLimit: FREE_LIMIT },
      );
      if (!("steps" in decision)) throw new Error("The first steps of an account need facts.");
      const rows = rowsOf([encodeSteps(decision.steps, 0)]);
      const first = database.steps.begin(rows);
      database.steps.commit(first);
      database.journal?.first.set(first.tx, decision.steps);
      for (const operation of operations) {
        if (operation.kind !== "open") audit.carryOut(knownOperation(operation), 0, this.#world.now);
      }
      Object.assign(audit.account(account), {
        seq: decision.steps.length,
        at: present(decision.steps.at(-1)).at,
      });
      this.past.remember(account);
    }
  }

  stored(batch: Batch, rows: readonly TableStep[]): void {
    for (const [accountId, own] of Map.groupBy(rows, ({ account_id: id }) => id)) {
      this.#storedOf(batch, accountId, own.map(readStep));
    }
  }

  /** The writer has decided all operations of the account in order; each step is of one of them. */
  #storedOf(batch: Batch, accountId: string, steps: readonly Step[]): void {
    const own = batch.watched.filter((each) => each.accountId === accountId);
    let next = 0;
    for (const [index, watched] of own.entries()) {
      const step = steps[next];
      const at = this.#timeOf(batch, accountId, step ?? present(steps.at(-1)));
      const verdict = judge(this.audit, watched.operation, at);
      watched.expected = [verdict];
      if (step === undefined || !isOf(step, watched.operation, verdict)) continue;
      if (verdict.step === undefined) {
        // The step of a later operation looks alike.
        if (
          own
            .slice(index + 1)
            .some((later) => isOf(step, later.operation, judge(this.audit, later.operation, at)))
        ) {
          continue;
        }
        checkVerdict(watched.operation, "done", verdict.code);
        throw violated("I2", `${watched.operation.kind} has changed account ${accountId} without a reason`);
      }
      this.#carryOut(watched, step, verdict);
      next += 1;
    }
    if (next < steps.length) {
      const { kind, id, seq } = present(steps[next]);
      throw violated("I2", `step ${seq} of account ${accountId}, ${kind} ${id}, is of no operation`);
    }
  }

  /** The time of an account never falls, and is one that its writer has read. */
  #timeOf({ times }: Batch, accountId: string, { at, seq }: Step): number {
    const { at: before } = this.audit.account(numberOf(accountId));
    if (at === before || (at > before && times.has(at))) return at;
    throw violated("I19", `step ${seq} of account ${accountId} has the time ${at} after ${before}`);
  }

  #carryOut(watched: Watched, step: Step, verdict: Verdict): void {
    const { audit } = this;
    const { operation } = watched;
    const { now } = this.#world;
    const account = audit.account(numberOf(step.accountId));
    if (step.seq !== account.seq + 1) {
      throw violated("I2", `step ${step.seq} of ${step.accountId} follows step ${account.seq}`);
    }
    Object.assign(account, { seq: step.seq, at: step.at });
    this.#countBefore(operation, verdict);
    const windows = audit.spenders.map(({ window }) => window);
    const loss = audit.carryOut(operation, step.at, now);
    if (operation.kind === "place" && audit.spenders.some(({ window }, index) => window !== windows[index])) {
      this.#world.count("windows begun");
    }
    const hold = "hold" in operation ? audit.holds.get(operation.hold) : undefined;
    if (operation.kind === "place" && hold !== undefined) this.open.set(hold.id, hold);
    if (hold !== undefined && hold.state !== "open") this.open.delete(hold.id);
    this.#countAfter(operation, verdict);
    checkStep(audit, operation, step, { loss, hold });
    this.past.remember(numberOf(step.accountId));
    const isSized =
      (operation.kind === "place" || operation.kind === "extend") && operation.most !== undefined;
    watched.expected = [{ ...verdict, held: isSized ? hold?.amount : undefined }];
    watched.isStored = true;
    if (this.#world.tracing) this.#note(watched, verdict.code);
  }

  confirmed({ watched, times }: Batch, accountId: string): void {
    const { at } = this.audit.account(numberOf(accountId));
    for (const each of watched) {
      if (each.accountId !== accountId || each.isStored) continue;
      each.expected = Array.from(times, (time) => judge(this.audit, each.operation, Math.max(time, at)));
    }
  }

  answered(batch: Batch, outcomes: readonly LedgerOutcome[]): void {
    for (const [index, watched] of batch.watched.entries())
      this.#check(batch, watched, present(outcomes[index]));
  }

  #check(batch: Batch, watched: Watched, outcome: LedgerOutcome): void {
    const { operation, expected, isStored } = watched;
    const code = wordOf(outcome);
    if (!isStored) this.#countSilent(operation, code);
    if (this.#world.tracing && !isStored) this.#note(watched, code);
    const right = expected.find((verdict) => verdict.code === code);
    if (right === undefined) {
      const isHopeless = operation.kind === "place" && (code === "balance" || code === "cap");
      if (batch.isFromMemory && isHopeless) {
        this.#world.count("refused from memory");
        checkFromMemory(this, operation, batch.beganAt);
        return;
      }
      const [first] = expected;
      if (first === undefined)
        throw violated("I10", `${operation.kind} has the answer "${code}" of older steps`);
      checkVerdict(operation, code, first.code);
      return;
    }
    if (right.step !== undefined && !isStored) {
      throw violated("I2", `${operation.kind} was answered "${code}", and nothing is stored`);
    }
    if (code === "claim finished") {
      const earlier = numberOf(outcome.earlierHoldId ?? "");
      if (earlier !== right.earlier)
        throw violated("I8", `the answer of ${earlier} is given, not of ${right.earlier}`);
    }
    if (operation.kind === "place" || operation.kind === "extend")
      checkSaid(operation, outcome.held, right.held);
    if (operation.kind === "extend" && code !== "done")
      this.#refusedExtension(operation.hold, operation.credits);
  }

  #refusedExtension(hold: number, credits: bigint): void {
    const known = this.audit.holds.get(hold);
    if (known !== undefined) known.refusedCredits = credits;
  }

  #note({ operation }: Watched, code: string): void {
    const subject =
      "hold" in operation ? operation.hold : "id" in operation ? operation.id : operation.spender;
    const amount = "credits" in operation ? ` of ${operation.credits}` : "";
    this.#world.note(`ledger: ${operation.kind} ${subject}${amount}: ${code}`);
  }

  #countBefore(operation: Operation, { step }: Verdict): void {
    const world = this.#world;
    const { audit } = this;
    switch (operation.kind) {
      case "place": {
        world.count("holds placed");
        const earlier = operation.claim && audit.claims.get(operation.claim.key);
        if (earlier === undefined) break;
        world.count(earlier.state === "released" ? "claims: free again" : "claims: over after a day");
        break;
      }
      case "extend": {
        const hold = present(audit.holds.get(operation.hold));
        world.count(operation.credits > hold.amount ? "holds extended" : "holds renewed");
        this.#countWindow(hold, "extensions in a window that had ended");
        break;
      }
      case "next":
        if (step === "late") world.count("costs booked as late, of an earlier attempt");
        else world.count(operation.cost > 0n ? "attempts that cost us" : "attempts that failed for nothing");
        break;
      case "capture":
      case "release":
      case "abandon":
        this.#countEnd(operation, present(audit.holds.get(operation.hold)), step);
    }
  }

  #countWindow({ window, place }: AuditedHold, name: Parameters<World["count"]>[0]): void {
    if (window !== this.audit.spender(place.spender).window) this.#world.count(name);
  }

  #countEnd(operation: Resolution, hold: AuditedHold, step: Verdict["step"]): void {
    const world = this.#world;
    if (step === "late") {
      const { booked } = present(hold.attempts.at(-1));
      world.count("costs booked as late");
      if (booked > hold.cost) world.count("second late bills booked");
      if (operation.kind === "capture") this.#countCaptureAfterEnd(hold);
      return;
    }
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
    this.#countWindow(hold, "charges in a window that had ended");
  }

  #countCaptureAfterEnd({ state }: AuditedHold): void {
    this.#world.count(state === "captured" ? "captures repeated" : "captures after a release");
  }

  #countAfter(operation: Operation, { step }: Verdict): void {
    if (operation.kind !== "place" || step !== "place") return;
    const { hold, credits, most = credits } = operation;
    if (most <= credits) return;
    const { amount } = present(this.audit.holds.get(hold));
    this.#world.count(amount === most ? "holds of the whole maximum" : "holds of what there is");
  }

  #countSilent(operation: Operation, code: Outcome["code"]): void {
    const world = this.#world;
    const hold = "hold" in operation ? this.audit.holds.get(operation.hold) : undefined;
    if (hold === undefined) return;
    if (operation.kind === "place") world.count("places repeated");
    if (operation.kind === "capture" && hold.state !== "open") this.#countCaptureAfterEnd(hold);
    if (operation.kind !== "extend") return;
    if (code === "already resolved") world.count("extensions that came too late");
    else if (code === "done") world.count("extensions repeated");
    else {
      world.count("extensions refused");
      this.#countWindow(hold, "extensions in a window that had ended");
    }
  }

  /** Milliseconds by which the first or the last process of billing sees a deadline earlier, by the history. */
  #resolverSkew(): number {
    const skews = this.billing.map(({ skew }) => skew);
    return this.#isEager ? Math.max(...skews) : Math.min(...skews);
  }

  /** Whether a resolver may find a hold at one of the billing processes. */
  anyExpired(service: Service): boolean {
    const at = this.#world.now + this.#resolverSkew();
    for (const { place, deadlineAt, leasedUntil } of this.open.values()) {
      if (place.service === service && deadlineAt <= at && leasedUntil <= at) return true;
    }
    return false;
  }
}

/** Ids of the credits at the beginning. */
const FIRST_GIFT = 1_000_000;
/** Before the history begins, and longer than a clock of ours is wrong. */
const FIRST_STEPS_AGO_MS = 60_000;

function definitionOf(index: number, { cap, period, expiresAt, active }: SpenderFields) {
  return {
    ...{ id: idOf(index), parentId: null, level: "key" as const, name: `key ${index}` },
    ...{ limit: cap ?? null, period, expiresAt: expiresAt ?? null, active, createdAt: 0, revision: 0n },
  };
}

/** Whether the step can be that of the operation. */
function isOf(step: Step, operation: Operation, verdict: Verdict): boolean {
  if (step.kind !== (verdict.step ?? operation.kind)) return false;
  switch (operation.kind) {
    case "budget":
      return numberOf(step.id) === operation.spender;
    case "deposit":
    case "refund":
    case "adjustment":
      return numberOf(step.id) === operation.id;
    case "extend":
      return numberOf(step.id) === operation.hold && (step.deadlineAt ?? 0) >= operation.deadlineAt;
    case "next":
      return (
        numberOf(step.id) === operation.hold &&
        step.attempt === (step.kind === "late" ? operation.attempt - 1 : operation.attempt)
      );
    default:
      return numberOf(step.id) === operation.hold;
  }
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
  leased: ["leased", "leased"],
  stale_revision: ["stale revision", "stale revision"],
};

function wordOf({ code, refusal }: LedgerOutcome): Outcome["code"] {
  const [plain, waiting] = present(WORDS[code]);
  return refusal?.inFlight === true ? waiting : plain;
}
