// The invariants of the money, I1 to I13: each with why it matters and where the real system keeps it. Numbers and sense
// are those of the research that the design rests on; I13 is who-pays. This file and
// end-of-history.ts are all that can fail a history, apart from an error of the simulation itself.
import type { LedgerModel } from "@gr/ledger-model";
import { type Audit, present } from "./audit.ts";
import type { Ledger } from "./ledger.ts";
import type { Extend, Outcome, Place, Resolution } from "./operation.ts";
import type { SpendMirror } from "./spend-mirror.ts";
import { MIRROR_FRESH_MS } from "./timing.ts";
import { Violation } from "./violation.ts";

const INVARIANTS = {
  // Otherwise we pay bills that our books do not know. Kept by: capture and release carry the cost, give-up.ts,
  // resolve-holds.ts, resolver.ts; `late` entries.
  I1: "what the upstream billed is booked, to the pico: as a charge's cost or as our loss",
  // Otherwise balances and entries tell different stories. Kept by: post() writes both; VerifyLedger 1, 2, 7.
  I2: "the balance of an account is its deposits less its charges, each charge once",
  // Otherwise a cap is a suggestion. Kept by: post() decides under the row locks.
  I3: "a hold is placed only when it fits under the cap of its key, with everything used and held in its window",
  // Otherwise credit is given that nobody has paid for. Kept by: as I3.
  I4: "a hold is placed only when the balance covers it beside all other holds",
  // Otherwise money is locked for ever, or spent twice. Kept by: compare-and-set; VerifyLedger 1, 2.
  I5: "held is the sum of the open holds, of an account and of a window",
  // Otherwise work is done that nobody pays, or paid twice. Kept by: place before dispatch; state of the hold.
  I6: "a hold is resolved once, and an upstream job has a hold before it",
  // Otherwise a look-up that was possible was not made. Kept by: two look-ups, the second late enough.
  I7: "no hold is released without a bill that the upstream could have been asked for in time",
  // Otherwise clients are charged twice or get answers for nothing. Kept by: capture before answer, claims, kept answers.
  I8: "who holds a 2xx was charged for it exactly once; whoever repeats a claimed request gets that same answer",
  // Otherwise customers find their money reserved by nothing. Kept by: deadlines, leases, resolvers.
  I9: "some time after the last fault there is no open hold and no unsettled row",
  // Otherwise paying customers are turned away. Kept by: PostgreSQL refuses; the mirror's age and epochs.
  I10: "each refusal is right by what PostgreSQL said then, or within the mirror's second and no known change since",
  // Otherwise the loss account hides errors. Kept by: grace, deadlines.
  I11: "a bill stays out of the books only if a delay beyond the grace was injected",
  // Otherwise revocation is a hope. Kept by: the spender's row is read under lock by each place.
  I12: "a disabled, deleted or expired key places no hold and is given no answer after that was committed",
  // Otherwise customers pay for our failures, or we for what they got. Kept by: settle.ts, give-up.ts, end-generation.ts.
  I13: "output that reached us is charged, also when its client has left; a definite error is never charged",
} as const;

export type Invariant = keyof typeof INVARIANTS;

export function violated(invariant: Invariant, what: string): Violation {
  return new Violation(invariant, `${invariant}: ${what} (${INVARIANTS[invariant]})`);
}

const OF_WRONG_ADMISSION: Partial<Record<Outcome["code"], Invariant>> = {
  cap: "I3",
  "cap, in flight": "I3",
  balance: "I4",
  "balance, in flight": "I4",
  "disabled or deleted": "I12",
  expired: "I12",
};

/** At each place of a new hold and each extension: the ledger's answer against the audit's. */
export function checkVerdict(
  { kind, hold }: Place | Extend,
  answered: Outcome["code"],
  right: Outcome["code"],
): void {
  if (answered === right) return;
  const what = `${kind} ${hold} was answered "${answered}" instead of "${right}"`;
  if (right === "disabled or deleted" || right === "expired") throw violated("I12", what);
  if (right === "unknown hold" || right === "already resolved") throw violated("I6", what);
  if (right.startsWith("claim") || answered.startsWith("claim")) throw violated("I8", what);
  throw violated(answered === "done" ? (OF_WRONG_ADMISSION[right] ?? "I8") : "I10", what);
}

/** At each capture and release. */
export function checkResolution(
  { kind, hold }: Resolution,
  answered: Outcome["code"],
  right: Outcome["code"],
): void {
  if (answered === right) return;
  const what = `${kind} of ${hold} was answered "${answered}" instead of "${right}"`;
  throw violated(right === "done" ? "I13" : "I6", what);
}

/** After each operation: what it touched, in the ledger and in the audit. */
export function checkSums(
  model: LedgerModel,
  audit: Audit,
  account: number,
  spender?: number,
  loss = 0n,
): void {
  const booked = present(model.accounts[account]);
  const right = audit.account(account);
  if (booked.deposited !== right.deposited || booked.charged !== right.charged) {
    const sums = `${booked.deposited} - ${booked.charged} instead of ${right.deposited} - ${right.charged}`;
    throw violated("I2", `account ${account} has ${sums}`);
  }
  if (booked.held !== right.held) {
    throw violated("I5", `account ${account} holds ${booked.held} instead of ${right.held}`);
  }
  if (loss !== 0n) throw violated("I1", `a loss of ${loss} pico was booked that is none`);
  if (spender === undefined) return;
  const { window } = present(model.spenders[spender]);
  const { window: rightWindow } = audit.spender(spender);
  if (window.held !== rightWindow.held || window.used !== rightWindow.used) {
    const numbers = `used ${window.used}, held ${window.held}`;
    const rightNumbers = `used ${rightWindow.used}, held ${rightWindow.held}`;
    throw violated("I5", `the window of key ${spender} says ${numbers} instead of ${rightNumbers}`);
  }
}

/** When a request goes upstream. */
export function checkDispatch(ledger: Ledger, hold: number): void {
  if (!ledger.audit.holds.has(hold)) throw violated("I6", `${hold} goes upstream without a hold`);
}

/** When the mirror refuses a place. */
export function checkMirrored(ledger: Ledger, mirror: SpendMirror, place: Place, now: number): void {
  const oldest = Math.max(now - MIRROR_FRESH_MS, mirror.forgotten.get(place.account) ?? 0);
  if (ledger.past.wasRefusable(place, oldest)) return;
  const { fields } = ledger.audit.spender(place.spender);
  if (!fields.active || (fields.expiresAt !== undefined && fields.expiresAt <= now)) return;
  throw violated("I10", `the mirror refused place ${place.hold} of ${place.credits} by key ${place.spender}`);
}
