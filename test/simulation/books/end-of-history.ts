// End of history owns the checks of whole requests: at the answer for the client, and after the last event of the history.

import type { LogEntry } from "@gr/media-generation/simulated";
import { smaller } from "@gr/money";
import type { Ledger } from "../ledger/ledger.ts";
import type { Answer, Request } from "../system/request.ts";
import type { Surroundings } from "../system/surroundings.ts";
import { chargeFor, type Job, metered, sumOf } from "../system/upstream.ts";
import {
  BILL_LOOKED_FOR_MS,
  CLAIM_LIFETIME_MS,
  HOLD_LEASE_MS,
  MOST_SKEW_MS,
  SEARCH_PAUSES,
} from "../world/timing.ts";
import type { AuditedAttempt, AuditedHold } from "./audit.ts";
import { present } from "./audit.ts";
import { violated } from "./invariants.ts";

/** Time between the end of a pause of a search and its look-up at the provider, in ms. */
const SLACK_MS = 100;

/** Checks I8 at the client: the charge in the answer is the charge in the books. */
export function checkAnswer(
  { ledger, world, upstreams }: Surroundings,
  request: Request,
  answer: Answer,
): void {
  if (answer.kind === "replayed") {
    const earlier = ledger.audit.holds.get(answer.hold);
    if (earlier?.state !== "captured") {
      throw world.fail(violated("I8", `${request.hold} replays what was never charged`));
    }
    return;
  }
  if (answer.kind !== "ok") return;
  const hold = ledger.audit.holds.get(request.hold);
  if (hold?.state !== "captured" || hold.charge !== answer.charge) {
    const state = hold === undefined ? "unknown" : `${hold.state} with charge ${hold.charge}`;
    throw world.fail(
      violated("I8", `${request.hold} is answered with charge ${answer.charge}, its hold is ${state}`),
    );
  }
  const { provider } = present(hold.attempts.at(-1));
  const bill = sumOf(upstreams.get(provider)?.jobs.get(request.hold) ?? []);
  if (request.carried > 0n) world.count("streams that went on elsewhere, charged");
  // Costs that were booked late were unknown at the charge.
  const due = smaller(chargeFor(request, hold.cost + request.carried, answer.made), hold.amount);
  // The router cannot read the size of a hold that grew while an answer was lost.
  const unheard = hold.charge < due && (request.notBookedAt > 0 || hold.grewUnheard);
  if (hold.charge !== due && !unheard) {
    throw world.fail(
      violated(
        "I8",
        `${request.hold} is charged ${hold.charge} for ${answer.made} of ${request.n} at a cost of ${hold.cost} pico, billed ${bill}`,
      ),
    );
  }
}

/** Checks I8 and I13: the log has the booked charge of an ended request, now and later. */
export function checkEntry(
  { ledger, world }: Surroundings,
  request: Request,
  { status, charge }: LogEntry,
): void {
  const hold = ledger.audit.holds.get(request.hold);
  if (status !== "succeeded") {
    world.count("media: read in the log as free");
    request.wasShownFree = true;
    return;
  }
  world.count("media: read in the log as made");
  if (hold?.state === "captured" && hold.charge === charge) return;
  const what = `${request.hold} is in the log as made for ${charge}, its hold is ${hold?.state}, charge ${hold?.charge}`;
  throw world.fail(violated("I8", what));
}

/** Checks all books after the last event. */
export function checkEnd(surroundings: Surroundings): void {
  const { ledger, requests, upstreams, table } = surroundings;
  if (ledger.open.size > 0 || table.unbooked > 0) {
    const holds = [...ledger.open.keys()].join(", ");
    throw violated("I9", `holds still open: ${holds}; rows not booked: ${table.unbooked}`);
  }
  for (const request of requests) {
    const hold = ledger.audit.holds.get(request.hold);
    for (const [provider, { jobs }] of upstreams) {
      const all = jobs.get(request.hold);
      if (all !== undefined) checkBill(surroundings, provider, request, all, hold);
    }
    if (hold === undefined) continue;
    checkAttempts(surroundings, hold);
    checkFate(surroundings, request, hold);
    checkUnsent(surroundings, request, hold);
    checkLog(surroundings, request, hold);
    if (ledger.audit.kept.has(request.hold) && hold.state !== "captured") {
      throw violated("I13", `the answer of ${request.hold} was kept and not charged`);
    }
  }
  checkClaims(ledger, requests);
  checkTotals(ledger);
}

/** Checks I1: a provider without a bill has no booked cost. */
function checkAttempts({ upstreams }: Surroundings, { id, attempts }: AuditedHold): void {
  for (const { provider, booked } of attempts) {
    const jobs = upstreams.get(provider)?.jobs.get(id);
    if (booked > 0n && jobs === undefined) {
      throw violated("I1", `${id} is booked with ${booked} pico by ${provider}, which never had it`);
    }
  }
}

/** I1, I7, I11. @param jobs of this request at this provider */
function checkBill(
  surroundings: Surroundings,
  provider: string,
  request: Request,
  jobs: readonly Job[],
  hold?: AuditedHold,
): void {
  const attempt = hold?.attempts.find((each) => each.provider === provider);
  if (hold === undefined || attempt === undefined) {
    throw violated("I6", `${request.hold} went to ${provider} without a hold that names it`);
  }
  const askable = surroundings.upstreams.get(provider)?.tells(request.service) !== false;
  const billed = jobs.filter(({ bill }) => bill > 0n).sort((one, other) => one.visibleAt - other.visibleAt);
  const [first] = billed;
  // A part of a stream after which no other attempt could begin has failed, at any cost.
  const failed = request.failedAt !== undefined || request.partsAt.has(provider);
  const freed = hold.state === "released" && hold.cost === 0n && !failed;
  const couldBeAsked = askable && !request.silenced && !request.paused;
  const gaveUp = attempt === hold.attempts.at(-1) && freed && couldBeAsked;
  if (gaveUp && first !== undefined && first.visibleAt <= lastLookUp(hold)) {
    throw violated("I7", `${request.hold} was given up, though its bill could be found in time`);
  }
  const bill = sumOf(billed);
  if (attempt.booked === bill) return;
  const what = `${request.hold} is booked with ${attempt.booked} pico by ${provider}, its bill is ${bill}`;
  if (wasMetered(surroundings, request, billed, attempt, { askable, hold, what })) return;
  const missing = missingOf(billed, attempt.booked);
  if (missing === undefined) throw violated("I1", what);
  if (askable) checkMissing(surroundings, request, missing, { hold, provider, what });
  else surroundings.world.count("bills of who cannot be asked");
}

/** Returns the first bill that is not booked, in the order of the bills. Undefined: the booked cost is none of them. */
function missingOf(billed: readonly Job[], booked: bigint): Job | undefined {
  let rest = booked;
  for (const job of billed) {
    if (rest === 0n) return job;
    rest -= job.bill;
  }
  return undefined;
}

/**
 * Checks that the search for the bill of a delivered answer had its promised time, and that no found cost exceeds the booked one. A router
 * that paused has no such time.
 */
function wasMetered(
  surroundings: Surroundings,
  request: Request,
  billed: readonly Job[],
  { provider, booked }: AuditedAttempt,
  { askable, hold, what }: { readonly askable: boolean; readonly hold: AuditedHold; readonly what: string },
): boolean {
  const { partsAt, silenced, paused, n } = request;
  const deliveredAt = partsAt.get(provider) ?? request.deliveredAt;
  const all = Array.from({ length: n }, (_, index) => metered(request, index + 1));
  if (deliveredAt === undefined || !all.includes(booked)) return false;
  const [first] = billed;
  if (silenced || paused || first === undefined || !askable) return true;
  if (first.visibleAt <= deliveredAt + BILL_LOOKED_FOR_MS) return false;
  surroundings.world.count("bills that came after the answer was metered");
  let found = 0n;
  for (const job of billed) {
    found += job.bill;
    if (found > booked) checkSearched(surroundings, request, job, { hold, provider, what });
  }
  return true;
}

/** Returns faults of bills that the books do not contain. */
interface Missing {
  readonly hold: AuditedHold;
  readonly provider: string;
  readonly what: string;
}

/** A bill that is not in the books: nobody may have been able to find it in the time that was promised. */
function checkMissing(
  surroundings: Surroundings,
  request: Request,
  job: Job,
  { hold, provider, what }: Missing,
): void {
  const { world } = surroundings;
  const { givenUpAt, resolvedBy } = request;
  const { visibleAt, delayed } = job;
  if (request.silenced) {
    world.count("bills that nobody would say");
    return;
  }
  if (checkSearched(surroundings, request, job, { hold, provider, what })) return;
  if (visibleAt <= lastLookUp(hold)) throw violated(hold.state === "released" ? "I7" : "I1", what);
  if (!delayed && !request.paused) throw violated("I11", what);
  if (givenUpAt !== undefined && resolvedBy?.steady === true) {
    const until = givenUpAt + sum(SEARCH_PAUSES.unresolved) - SLACK_MS;
    if (visibleAt <= until && !request.paused && request.notBookedAt < until) throw violated("I11", what);
  } else if (givenUpAt !== undefined) world.count("bills whose searcher died");
  world.count("bills that came too late for the books");
}

/**
 * Checks a request that ended before its bill arrived: the process that ended the request searched for the promised time.
 * @returns false for any other request
 */
function checkSearched(
  { world }: Surroundings,
  request: Request,
  { visibleAt }: Job,
  { hold, provider, what }: Missing,
): boolean {
  const { servedBy, searcher, partsAt, deliveredAt, failedAt, notBookedAt, paused, recordLost } = request;
  const partAt = partsAt.get(provider);
  const since = partAt ?? (hold.state === "captured" ? deliveredAt : failedAt);
  if (since === undefined) return false;
  const steady = (partAt === undefined ? searcher : servedBy)?.steady === true;
  // No process searches for the bill of a request that another process captures, or of a part with an unknown successor.
  const passed = notBookedAt > 0 && (partAt !== undefined || hold.state === "captured");
  const until = since + sum(SEARCH_PAUSES.failed) - SLACK_MS;
  if (!steady || paused || passed) world.count("bills whose searcher died");
  else if (recordLost) {
    world.count("bills that nobody searched for: it was not known how their request had ended");
  } else if (visibleAt <= until && notBookedAt < until) throw violated("I11", what);
  else world.count("bills that came too late for the books");
  return true;
}

/**
 * Returns the time of the last look-up for an open hold: after its extended deadline. For text the first look-up follows the deadline of
 * that moment, and the last one a lease later.
 */
function lastLookUp({ place, deadlineAt }: AuditedHold): number {
  const leased = place.service === "text" ? place.deadlineAt + HOLD_LEASE_MS - MOST_SKEW_MS : 0;
  return Math.max(deadlineAt, leased) - MOST_SKEW_MS;
}

/** Checks I9: the process of a hold without a sent request frees the hold before its deadline. */
function checkUnsent({ upstreams }: Surroundings, request: Request, hold: AuditedHold): void {
  const { servedBy, paused, notBookedAt, answer, endedAt } = request;
  if (answer !== undefined && answer.kind !== "failed") return;
  if (servedBy?.steady !== true || paused || notBookedAt > 0) return;
  if ([...upstreams.values()].some(({ sent }) => sent.has(hold.id))) return;
  // A request that arrives after all callers have stopped waits for its deadline.
  if (hold.reservedAt >= endedAt || hold.resolvedAt < hold.place.deadlineAt - MOST_SKEW_MS) return;
  throw violated("I9", `nothing was sent for ${hold.id}, and its hold was left to its deadline`);
}

/** Checks I8, I13 and I16: the entries of the log, and the hosted files. */
function checkLog({ world, table, files }: Surroundings, request: Request, hold: AuditedHold): void {
  const { hold: id, ephemeral, removed, removalAskedAt } = request;
  const row = table.rows.get(id);
  const kept = (row?.order.outputs ?? []).map((name) => files.get(name)).filter((file) => file !== undefined);
  // A process that wrote a file after the removal and died cannot delete it. Production does so a day later.
  if (removed !== undefined && kept.some(({ by, at }) => by.alive || at < removalAskedAt)) {
    throw violated("I16", `${id} was removed, and its files are still there`);
  }
  if (row?.state !== "succeeded") return;
  if (hold.state !== "captured") throw violated("I13", `${id} is in the log as made, and was not charged`);
  if (removed === "running") world.count("media: given up too late, and charged");
  if (ephemeral) return;
  const { outputs } = row.order;
  if (hold.charge !== chargeFor(request, hold.cost, outputs.length)) {
    throw violated("I8", `${id} was charged ${hold.charge} for ${outputs.length} of ${request.n}`);
  }
  if (!row.deleted && !outputs.every((name) => files.has(name))) {
    throw violated("I8", `${id} was charged, and its files are not there`);
  }
}

/** Checks I8 and I13: the answers to the client against the charge. */
function checkFate({ world }: Surroundings, request: Request, hold: AuditedHold): void {
  const { answer, delivered, made } = request;
  if (hold.state === "captured" && request.left) world.count("charged although the client had left");
  if (answer?.kind === "ok" && hold.state !== "captured") {
    throw violated("I8", `${request.hold} was answered and not charged`);
  }
  const free = answer?.kind === "failed" || answer?.kind === "late";
  if (free && hold.charge > 0n) {
    const how = answer.kind === "late" ? "came too late" : "failed";
    throw violated("I13", `${request.hold} ${how} and was charged ${hold.charge}`);
  }
  if (request.wasShownFree && hold.charge > 0n) {
    throw violated("I13", `${request.hold} was free in the log, and was charged ${hold.charge}`);
  }
  const { servedBy, paused, notBookedAt } = request;
  const undisturbed = servedBy?.steady === true && !paused && notBookedAt === 0;
  if (request.turnedAway && answer?.kind === "failed" && undisturbed && !request.left) {
    throw violated("I18", `${request.hold} failed without a try of its next route`);
  }
  if (answer?.kind === "late" && delivered && undisturbed) {
    throw violated("I13", `${request.hold} was withheld, though its process was at work all the time`);
  }
  const certain = answer !== undefined && answer.kind !== "unknown" && answer.kind !== "late";
  if (delivered && certain && hold.state !== "captured") {
    throw violated("I13", `${request.hold} was carried out and not charged`);
  }
  if (hold.state === "captured" && !made) {
    throw violated("I13", `${request.hold} was charged and has no output`);
  }
}

/** Checks I8: one charge a day for each Idempotency-Key, with an answer. */
function checkClaims({ audit }: Ledger, requests: readonly Request[]): void {
  const charged = new Map<number, number>();
  // In the order in which they were placed.
  for (const { id, place, state, placedAt } of audit.holds.values()) {
    const { claim, service } = place;
    if (claim === undefined || state !== "captured") continue;
    const before = charged.get(claim.key);
    if (before !== undefined && placedAt - before < CLAIM_LIFETIME_MS) {
      throw violated("I8", `idempotency key ${claim.key} was charged twice in a day`);
    }
    charged.set(claim.key, placedAt);
    const keeps = service === "text" && requests[id]?.huge !== true;
    if (keeps && !audit.kept.has(id)) throw violated("I8", `${id} was charged, its answer is not kept`);
  }
}

/** I2, I5, from the holds alone. Each step has the totals of the audit. */
function checkTotals({ audit }: Ledger): void {
  audit.accounts.forEach(({ charged, held }, index) => {
    let charges = 0n;
    for (const { place, charge } of audit.holds.values()) if (place.account === index) charges += charge;
    if (charged !== charges || held !== 0n) {
      throw violated(
        "I2",
        `account ${index}: ${charged} charged, ${held} held, holds say ${charges} and none`,
      );
    }
  });
}

function sum(pauses: readonly number[]): number {
  return pauses.reduce((total, pause) => total + pause, 0);
}
