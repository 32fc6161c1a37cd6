// What is checked of a whole request: when its client gets the answer, and when the history has come to rest.
import type { AuditedHold } from "./audit.ts";
import { checkSums, violated } from "./invariants.ts";
import type { Ledger } from "./ledger.ts";
import type { Answer, Request } from "./request.ts";
import type { Surroundings } from "./router.ts";
import { CLAIM_LIFETIME_MS, HOLD_LEASE_MS } from "./timing.ts";
import { chargeFor, type Job, metered } from "./upstream.ts";

/** Most that a clock of ours is wrong. */
export const MOST_SKEW_MS = 2_000;

/** I8, at the client: the answer says what was charged, and it was. */
export function checkAnswer({ ledger, upstream }: Surroundings, request: Request, answer: Answer): void {
  if (answer.kind === "replayed") {
    const earlier = ledger.audit.holds.get(answer.hold);
    if (earlier?.state !== "captured") throw violated("I8", `${request.hold} replays what was never charged`);
    return;
  }
  if (answer.kind !== "ok") return;
  const hold = ledger.audit.holds.get(request.hold);
  if (hold?.state !== "captured" || hold.charge !== answer.charge) {
    const state = hold === undefined ? "unknown" : `${hold.state} with charge ${hold.charge}`;
    throw violated("I8", `${request.hold} is answered with charge ${answer.charge}, its hold is ${state}`);
  }
  const bill = upstream.jobs.get(request.hold)?.bill ?? 0n;
  if (hold.charge !== chargeFor(request, bill) && !request.silenced) {
    throw violated("I8", `${request.hold} is charged ${hold.charge} for a bill of ${bill} pico`);
  }
}

/** Nothing happens any more: everything must be where it belongs. */
export function checkEnd(surroundings: Surroundings, requests: readonly Request[]): void {
  const { ledger, upstream, rows } = surroundings;
  if (ledger.open.size > 0 || rows.unsettled > 0) {
    const holds = [...ledger.open.keys()].join(", ");
    throw violated("I9", `holds still open: ${holds}; unsettled rows: ${rows.unsettled}`);
  }
  for (const request of requests) {
    const hold = ledger.audit.holds.get(request.hold);
    const job = upstream.jobs.get(request.hold);
    if (job !== undefined) checkBill(surroundings, job, hold);
    if (hold !== undefined) checkFate(surroundings, request, hold);
    const log = rows.rows.get(request.hold)?.ending?.state;
    if (log === "succeeded" && hold?.state !== "captured") {
      throw violated("I13", `${request.hold} is in the log as made, and was not charged`);
    }
    if (ledger.audit.kept.has(request.hold) && hold?.state !== "captured") {
      throw violated("I13", `the answer of ${request.hold} was kept and not charged`);
    }
  }
  checkClaims(ledger);
  checkTotals(ledger);
}

/** I1, I7, I11. */
function checkBill(
  { world }: Surroundings,
  { request, bill, visibleAt, delayed }: Job,
  hold?: AuditedHold,
): void {
  if (hold === undefined) throw violated("I6", `${request.hold} went upstream without a hold`);
  if (hold.booked === bill) return;
  // Metered, because the upstream did not say; a capture that comes too late books that as well.
  if (request.silenced && (hold.state === "captured" || hold.booked === metered(request))) return;
  const what = `${request.hold} is booked with ${hold.booked} pico, its bill is ${bill}`;
  if (hold.booked > bill) throw violated("I1", what);
  // The last look-up comes after the deadline, as extended; of text, also a lease after the first, which comes after the
  // deadline as it was then.
  const leased = hold.place.service === "text" ? hold.place.deadlineAt + HOLD_LEASE_MS - MOST_SKEW_MS : 0;
  const promised = Math.max(hold.deadlineAt, leased) - MOST_SKEW_MS;
  if (visibleAt <= promised) throw violated(hold.state === "released" ? "I7" : "I1", what);
  if (!delayed && !request.paused) throw violated("I11", what);
  world.count("bills that came too late for the books");
}

/** I8, I13: what its client was told against what it was charged. */
function checkFate({ world }: Surroundings, request: Request, hold: AuditedHold): void {
  const { answer, delivered } = request;
  if (hold.state === "captured" && request.left) world.count("charged although the client had left");
  if (answer?.kind === "ok" && hold.state !== "captured") {
    throw violated("I8", `${request.hold} was answered and not charged`);
  }
  const free = answer?.kind === "failed" || answer?.kind === "late";
  if (free && hold.charge > 0n) {
    throw violated(
      "I13",
      `${request.hold} ${answer.kind === "late" ? "came too late" : "failed"} and was charged ${hold.charge}`,
    );
  }
  const certain = answer !== undefined && answer.kind !== "unknown" && answer.kind !== "late";
  if (delivered && certain && hold.state !== "captured") {
    throw violated("I13", `${request.hold} was carried out and not charged`);
  }
  if (hold.state === "captured" && !delivered) {
    throw violated("I13", `${request.hold} was charged and has no output`);
  }
}

/** I8: one charge a day for each Idempotency-Key, and an answer to it. */
function checkClaims({ audit }: Ledger): void {
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
    if (service === "text" && !audit.kept.has(id))
      throw violated("I8", `${id} was charged, its answer is not kept`);
  }
}

/** I2, I5, from the holds alone. */
function checkTotals({ audit, model }: Ledger): void {
  audit.accounts.forEach(({ charged, held }, index) => {
    let charges = 0n;
    for (const { place, charge } of audit.holds.values()) if (place.account === index) charges += charge;
    if (charged !== charges || held !== 0n) {
      throw violated(
        "I2",
        `account ${index}: ${charged} charged, ${held} held, holds say ${charges} and none`,
      );
    }
    checkSums(model, audit, index);
  });
  audit.spenders.forEach(({ account }, index) => {
    checkSums(model, audit, account, index);
  });
}
