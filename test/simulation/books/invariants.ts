// The invariants of the money, I1 to I19: each with its reason and the place where production keeps it. Numbers and sense are those
// of the research that the design rests on. I13 is about the payer, I14 about the amount; I15 and I16 are of media, I17 and I18 of text, I19
// of clocks. Only this file and end-of-history.ts fail a history, apart from a defect of the code or of the simulation.
import type { Step } from "@gr/ledger";
import { PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import type { DepositStatus } from "@gr/proto/billing";
import { numberOf } from "../ledger/ids.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Extend, Operation, Outcome, Place } from "../ledger/operation.ts";
import { CONFIRMED_FOR_MS } from "../world/timing.ts";
import { Violation } from "../world/violation.ts";
import type { World } from "../world/world.ts";
import { type Audit, type AuditedHold, present } from "./audit.ts";

const INVARIANTS = {
  // Otherwise we pay bills that our books do not contain. Kept by: capture, release and the next attempt carry the cost; look-ups.
  I1: "what a provider billed is booked to it, to the pico: as a charge's cost or as our loss",
  // Otherwise balances and entries differ. Kept by: a step has both; the key of the table; VerifyLedger.
  I2: "the balance of an account is its deposits less its charges, each charge once",
  // Otherwise a cap is a suggestion. Kept by: one decision; the key of the table refuses a decision about an older state.
  I3: "a hold is placed or extended only when it fits under the cap of its key, with everything used and held in its window",
  // Otherwise customers spend credit without a payment. Kept by: as I3.
  I4: "a hold is placed or extended only when the balance covers it beside all other holds",
  // Otherwise money is locked for ever, or spent twice. Kept by: totals in each step; VerifyLedger.
  I5: "held is the sum of the open holds, of an account and of a window",
  // Otherwise work is done that nobody pays, or paid twice. Kept by: place and next attempt before dispatch; state of the hold.
  I6: "a hold is resolved once, and a provider's work has a hold before it that names this provider",
  // Otherwise a possible look-up is omitted. Kept by: two look-ups, the second late enough.
  I7: "no hold is released without a bill that the provider could have been asked for in time",
  // Otherwise clients are charged twice or get answers for nothing. Kept by: capture before answer, claims, kept answers.
  I8: "who holds a 2xx was charged for it exactly once; whoever repeats a claimed request gets that same answer",
  // Otherwise customers find their money reserved by nothing. Kept by: deadlines, leases, resolvers; releases of holds without a sent request.
  I9: "what nothing was sent for is free at once; some time after the last fault there is no open hold and no unbooked row",
  // Otherwise paying customers are turned away. Kept by: a read after the decision; the age of a confirmation.
  I10: "each refusal is right by the stored steps of that moment, or of the second before for a hopeless place",
  // Otherwise reconciliation never ends. Kept by: grace, deadline, look-ups, searches.
  I11: "a bill stays out of the books only if it came later than anybody promised to look, or its searcher died",
  // Otherwise revocation is a hope. Kept by: the definition of a key is a step of its account.
  I12: "a disabled, deleted or expired key places no hold and is given no answer after that was committed",
  // Otherwise customers pay for our failures, or we for their answers. Kept by: paid-request.
  I13: "what was delivered is charged, whoever ended it; a definite error is never charged",
  // Otherwise a balance or a cap is overrun by text. Kept by: holds that grow before they are used up; limits on output.
  I14: "an answer goes on only while its hold covers what it has used, and one in one piece is asked for within its hold",
  // Otherwise we pay twice for one sale. Kept by: MediaWork fails over only from a job that was certainly not accepted.
  I15: "media goes to a second provider only when the first has surely billed nothing",
  // Otherwise a deleted file can still be fetched. Kept by: GenerationRecord deletes the files of a request that its client deleted.
  I16: "what a caller has had removed is gone",
  // Otherwise a client reads the beginning of two answers. Kept by: asBilled, the relay of a stream.
  I17: "text goes to another route only while its client has got nothing of an answer, or goes on with what it has got",
  // Otherwise one upstream's failure is everybody's. Kept by: notAsked, asBilled, the continuation and the attempts of paid-request.
  I18: "text whose attempt has surely cost nothing, or that is to go on elsewhere, goes to the next route if there is one",
  // Otherwise a hold ends early, or a window opens again. Kept by: decide.
  I19: "the time of an account never falls, and is that of a process that wrote to it",
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

/** At each answer: the ledger's against the audit's. */
export function checkVerdict(operation: Operation, answered: Outcome["code"], right: Outcome["code"]): void {
  if (answered === right) return;
  const { kind } = operation;
  const subject = "hold" in operation ? operation.hold : "id" in operation ? operation.id : operation.spender;
  const what = `${kind} ${subject} was answered "${answered}" instead of "${right}"`;
  if (kind === "capture" || kind === "release" || kind === "abandon") {
    throw violated(right === "done" ? "I13" : "I6", what);
  }
  if (right === "disabled or deleted" || right === "expired") throw violated("I12", what);
  if (right === "unknown hold" || right === "already resolved" || right === "leased")
    throw violated("I6", what);
  if (right.startsWith("claim") || answered.startsWith("claim")) throw violated("I8", what);
  throw violated(answered === "done" ? (OF_WRONG_ADMISSION[right] ?? "I8") : "I10", what);
}

/** After a place or an extension: the answer has the size of the hold. */
export function checkSaid(
  { hold, kind }: Place | Extend,
  held: bigint | undefined,
  right: bigint | undefined,
): void {
  if (held === right) return;
  throw violated("I14", `${kind} ${hold} was answered with the size ${held}, and ${right} are held`);
}

/** Checks a stream at each look that continues it, and a request for an answer in one piece. */
export function checkCovered(world: World, { audit }: Ledger, hold: number, used: PicoUsd): void {
  const amount = audit.holds.get(hold)?.amount ?? 0n;
  if (used <= amount * PICO_PER_CREDIT) return;
  throw world.fail(violated("I14", `${hold} goes on with ${used} pico, and ${amount} credits are held`));
}

/** Each stored step, after the audit has carried out its operation: the row has the totals and the amounts of the audit. */
export function checkStep(
  audit: Audit,
  operation: Operation,
  step: Step,
  { loss, hold }: { readonly loss: bigint; readonly hold: AuditedHold | undefined },
): void {
  const account = numberOf(step.accountId);
  const { deposited, charged, held } = audit.account(account);
  if (step.credited !== deposited || step.debited !== charged) {
    const sums = `${step.credited} - ${step.debited} instead of ${deposited} - ${charged}`;
    throw violated("I2", `account ${account} has ${sums}`);
  }
  if (step.held !== held) throw violated("I5", `account ${account} holds ${step.held} instead of ${held}`);
  if (step.kind === "deposit" || step.kind === "refund") checkCredit(audit, operation);
  if (hold !== undefined) checkStepOfHold(step, hold, loss);
}

/** A payment counts only if it was reported so. */
function checkCredit(audit: Audit, operation: Operation): void {
  if (operation.kind !== "deposit" && operation.kind !== "refund") return;
  if (audit.mayCredit(operation)) return;
  throw violated("I2", `${operation.kind} ${operation.id} counts, and was not reported so`);
}

function checkStepOfHold(step: Step, hold: AuditedHold, loss: bigint): void {
  const { kind, charge, cost } = step;
  const booked = kind === "capture" ? hold.cost : loss;
  if (cost !== booked) throw violated("I1", `${kind} of ${hold.id} books ${cost} pico instead of ${booked}`);
  if (cost > 0n) {
    const { provider } = present(hold.attempts[kind === "next" ? step.attempt - 2 : step.attempt - 1]);
    if (step.billedBy !== provider) {
      throw violated("I1", `${kind} of ${hold.id} books a cost of ${provider} to ${step.billedBy}`);
    }
  }
  const right = kind === "capture" ? hold.charge : 0n;
  if (charge !== right) throw violated("I2", `${kind} of ${hold.id} charges ${charge} instead of ${right}`);
  const [budget] = step.budgets;
  if (budget === undefined) return;
  const { used, held } = budget;
  const { window } = hold;
  if (held !== window.held || used !== window.used) {
    const numbers = `used ${used}, held ${held}`;
    const rightNumbers = `used ${window.used}, held ${window.held}`;
    throw violated("I5", `the window of ${hold.id} has ${numbers} instead of ${rightNumbers}`);
  }
}

/** Checks the answer of billing to a report of a payment. */
export function checkReport(audit: Audit, id: number, status: DepositStatus): void {
  if (audit.hasCredited(id, status)) return;
  throw violated("I2", `deposit ${id} has the answered status ${status}, and the ledger has another one`);
}

/** Checks a request that a process sends to a provider. */
export function checkDispatch(world: World, { audit }: Ledger, hold: number, provider: string): void {
  const named = audit.holds.get(hold)?.attempts.at(-1)?.provider;
  if (named === provider) return;
  const holds = named === undefined ? "has no hold" : `its hold names ${named}`;
  throw world.fail(violated("I6", `${hold} goes to ${provider}, and ${holds}`));
}

/** Checks media that a process sends to a provider. @param billing other providers with a bill, or with a possible one */
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

/** Checks a refusal without a statement, by an account that its writer has read within the last second. */
export function checkFromMemory(ledger: Ledger, place: Place, beganAt: number): void {
  const isNew = (ledger.audit.holds.get(place.hold)?.reservedAt ?? beganAt) >= beganAt;
  if (isNew && ledger.past.wasRefusable(place, beganAt - CONFIRMED_FOR_MS)) return;
  throw violated("I10", `memory refused place ${place.hold} of ${place.credits} by key ${place.spender}`);
}
