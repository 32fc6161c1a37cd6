// The invariants of the money, I1 to I18: each with why it matters and where production keeps it. Numbers and sense are those
// of the research that the design rests on; I13 is who pays, I14 how much, I15 and I16 are of media, I17 and I18 of text.
// This file and end-of-history.ts are all that can fail a history,
// apart from a defect of the code or of the simulation.
import { findBudget } from "@gr/ledger";
import type { MemoryLedger } from "@gr/ledger-model";
import { PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import { idOf } from "../ledger/ids.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Extend, Next, Outcome, Place, Resolution } from "../ledger/operation.ts";
import { Violation } from "../world/violation.ts";
import type { World } from "../world/world.ts";
import { type Audit, present } from "./audit.ts";

const INVARIANTS = {
  // Otherwise we pay bills that our books do not know. Kept by: capture, release and the next attempt carry the cost; look-ups.
  I1: "what a provider billed is booked to it, to the pico: as a charge's cost or as our loss",
  // Otherwise balances and entries tell different stories. Kept by: post writes both; VerifyLedger.
  I2: "the balance of an account is its deposits less its charges, each charge once",
  // Otherwise a cap is a suggestion. Kept by: post decides under the row locks.
  I3: "a hold is placed or extended only when it fits under the cap of its key, with everything used and held in its window",
  // Otherwise credit is given that nobody has paid for. Kept by: as I3.
  I4: "a hold is placed or extended only when the balance covers it beside all other holds",
  // Otherwise money is locked for ever, or spent twice. Kept by: compare-and-set; VerifyLedger.
  I5: "held is the sum of the open holds, of an account and of a window",
  // Otherwise work is done that nobody pays, or paid twice. Kept by: place and next attempt before dispatch; state of the hold.
  I6: "a hold is resolved once, and a provider's work has a hold before it that names this provider",
  // Otherwise a look-up that was possible was not made. Kept by: two look-ups, the second late enough.
  I7: "no hold is released without a bill that the provider could have been asked for in time",
  // Otherwise clients are charged twice or get answers for nothing. Kept by: capture before answer, claims, kept answers.
  I8: "who holds a 2xx was charged for it exactly once; whoever repeats a claimed request gets that same answer",
  // Otherwise customers find their money reserved by nothing. Kept by: deadlines, leases, resolvers; releases of what was not sent.
  I9: "what nothing was sent for is free at once; some time after the last fault there is no open hold and no unbooked row",
  // Otherwise paying customers are turned away. Kept by: PostgreSQL refuses; the mirror's age and epochs.
  I10: "each refusal is right by what PostgreSQL said then, or within the mirror's second and no known change since",
  // Otherwise reconciliation never ends. Kept by: grace, deadline, look-ups, searches.
  I11: "a bill stays out of the books only if it came later than anybody promised to look, or its searcher died",
  // Otherwise revocation is a hope. Kept by: the spender's row is read under lock by each place.
  I12: "a disabled, deleted or expired key places no hold and is given no answer after that was committed",
  // Otherwise customers pay for our failures, or we for what they got. Kept by: paid-request.
  I13: "what was delivered is charged, whoever ended it; a definite error is never charged",
  // Otherwise a balance or a cap is overrun by text. Kept by: holds that grow before they are used up; limits on output.
  I14: "an answer goes on only while its hold covers what it has used, and one in one piece is asked for within its hold",
  // Otherwise we pay twice for what is sold once. Kept by: MediaWork falls back from what was surely not accepted.
  I15: "media goes to a second provider only when the first has surely billed nothing",
  // Otherwise what somebody wanted gone can still be fetched. Kept by: GenerationRecord removes what was deleted meanwhile.
  I16: "what a caller has had removed is gone",
  // Otherwise a client reads the beginning of two answers. Kept by: asBilled, the relay of a stream.
  I17: "text goes to another route only while its client has got nothing of an answer, or goes on with what it has got",
  // Otherwise one upstream's failure is everybody's. Kept by: notAsked, asBilled, the continuation and the attempts of paid-request.
  I18: "text whose attempt has surely cost nothing, or that is to go on elsewhere, goes to the next route if there is one",
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
  { kind, hold }: Place | Extend | Next,
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

/** After a place or an extension: whoever asked was told how much there is. */
export function checkSaid(
  { hold, kind, most }: Place | Extend,
  held: bigint | undefined,
  audit: Audit,
): void {
  const { amount } = present(audit.holds.get(hold));
  if (held === (most === undefined ? undefined : amount)) return;
  throw violated("I14", `${kind} ${hold} was told ${held}, and ${amount} are held`);
}

/** Whenever a stream is looked at and goes on, and when an answer in one piece is asked for. */
export function checkCovered(world: World, { audit }: Ledger, hold: number, used: PicoUsd): void {
  const amount = audit.holds.get(hold)?.amount ?? 0n;
  if (used <= amount * PICO_PER_CREDIT) return;
  throw world.fail(violated("I14", `${hold} goes on with ${used} pico, and ${amount} credits are held`));
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
  books: MemoryLedger,
  audit: Audit,
  account: number,
  spender?: number,
  loss = 0n,
): void {
  const booked = books.account(idOf(account));
  const right = audit.account(account);
  if (booked.credited !== right.deposited || booked.debited !== right.charged) {
    const sums = `${booked.credited} - ${booked.debited} instead of ${right.deposited} - ${right.charged}`;
    throw violated("I2", `account ${account} has ${sums}`);
  }
  if (booked.held !== right.held) {
    throw violated("I5", `account ${account} holds ${booked.held} instead of ${right.held}`);
  }
  if (loss !== 0n) throw violated("I1", `a loss of ${loss} pico was booked that is none`);
  if (spender === undefined) return;
  const budget = present(findBudget(booked, idOf(spender)));
  const { used, held } = budget.totals.get(budget.window) ?? { used: 0n, held: 0n };
  const { window: rightWindow } = audit.spender(spender);
  if (held !== rightWindow.held || used !== rightWindow.used) {
    const numbers = `used ${used}, held ${held}`;
    const rightNumbers = `used ${rightWindow.used}, held ${rightWindow.held}`;
    throw violated("I5", `the window of key ${spender} says ${numbers} instead of ${rightNumbers}`);
  }
}

/** When a request goes to a provider. */
export function checkDispatch(world: World, { audit }: Ledger, hold: number, provider: string): void {
  const named = audit.holds.get(hold)?.attempts.at(-1)?.provider;
  if (named === provider) return;
  const holds = named === undefined ? "has no hold" : `its hold names ${named}`;
  throw world.fail(violated("I6", `${hold} goes to ${provider}, and ${holds}`));
}

/** When media goes to a provider. @param billing who else bills it, or may yet */
export function checkFallBack(
  world: World,
  hold: number,
  provider: string,
  billing: readonly string[],
): void {
  if (billing.length === 0) return;
  throw world.fail(
    violated("I15", `${hold} goes to ${provider}, and ${billing.join(", ")} bills it as well`),
  );
}

/** When the mirror refuses a place. @param since when the account was last forgotten, or as long as the mirror remembers */
export function checkMirrored(
  ledger: Ledger,
  place: Pick<Place, "hold" | "account" | "spender" | "credits">,
  since: number,
  now: number,
): void {
  if (ledger.past.wasRefusable(place, since)) return;
  const { fields } = ledger.audit.spender(place.spender);
  if (!fields.active || (fields.expiresAt !== undefined && fields.expiresAt <= now)) return;
  throw violated("I10", `the mirror refused place ${place.hold} of ${place.credits} by key ${place.spender}`);
}
