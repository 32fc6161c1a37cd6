// Judge of an existing hold: grow, next attempt, capture, release, lease, keep. An open hold ends once; a later
// operation books only a cost that the ledger does not have yet, as our loss.
import { type Credits, type PicoUsd, smaller } from "@gr/money";
import { type Account, findHold, type Hold } from "../account.ts";
import type {
  Capture,
  Extend,
  HoldOperation,
  Keep,
  Lease,
  NextAttempt,
  Place,
  Release,
} from "../operation.ts";
import { DONE, type Loss, type Outcome } from "../outcome.ts";
import type { BudgetAfter, Step } from "../step.ts";
import { grantOf, levelsOf, moneyRefusal, spenderRefusal } from "./admission.ts";
import type { Facts, Judged } from "./facts.ts";
import { changes, holdStep } from "./new-step.ts";

const RESOLVED: Outcome = { code: "already_resolved" };

export function judgeHold(
  account: Account,
  operation: Exclude<HoldOperation, Place>,
  facts: Facts,
  now: number,
): Judged {
  const { holdId } = operation;
  const hold = findHold(account, holdId);
  if (hold === undefined) {
    return facts.absentHolds.has(holdId)
      ? { outcome: { code: "unknown_hold" } }
      : { missing: { hold: holdId } };
  }
  switch (operation.kind) {
    case "extend":
      return judgeExtend(account, operation, hold, now);
    case "next":
      return judgeNext(account, operation, hold, now);
    case "capture":
      return judgeCapture(account, operation, hold, now);
    case "release":
      return judgeRelease(account, operation, hold, now);
    case "lease":
      return judgeLease(account, operation, hold, now);
    case "keep":
      return judgeKeep(account, operation, hold, now);
  }
}

/** A hold grows in the windows that it was admitted in. */
function judgeExtend(
  account: Account,
  { credits, most, deadlineAt }: Extend,
  hold: Hold,
  now: number,
): Judged {
  if (hold.state !== "open") return { outcome: RESOLVED };
  const withSize = (held: Credits): Outcome => (most === undefined ? DONE : { code: "done", held });
  const levels = levelsOf(account, hold.chain);
  const wanted = credits - hold.credits;
  let more = 0n;
  if (wanted > 0n) {
    const chain = levels.map(({ of }) => of);
    const refusal =
      spenderRefusal(account, chain, now) ??
      moneyRefusal(account, levels, { total: credits, more: wanted }, now);
    if (refusal !== undefined) return { outcome: refusal };
    const growth = most === undefined ? undefined : most - hold.credits;
    more = grantOf(account, levels, { least: wanted, most: growth });
  } else if (deadlineAt <= hold.deadlineAt) {
    return { outcome: withSize(hold.credits) };
  }
  const step = {
    ...holdStep(account, "extend", now, hold),
    credits: more,
    deadlineAt: Math.max(deadlineAt, hold.deadlineAt),
    held: account.held + more,
    budgets: budgetsAfter(account, hold, { held: more, used: 0n }),
  };
  return changes(step, withSize(hold.credits + more));
}

function judgeNext(account: Account, next: NextAttempt, hold: Hold, now: number): Judged {
  const { attempt, cost, provider, upstreamModel, deadlineAt, billedBy } = next;
  const isLeased = hold.leasedUntil > 0;
  if (hold.state !== "open" || hold.attempt !== attempt - 1 || isLeased) {
    const outcome = hold.state === "open" && hold.attempt === attempt ? DONE : RESOLVED;
    const failed = attempt - 1;
    const isLate =
      failed === hold.attempt ? hold.state !== "open" : failed < hold.attempt && billedBy !== undefined;
    const payee = failed === hold.attempt ? hold.tag.provider : (billedBy ?? "");
    return isLate
      ? judgeLate(account, hold, { attempt: failed, cost, billedBy: payee }, outcome, now)
      : { outcome };
  }
  const step = {
    ...holdStep(account, "next", now, hold),
    attempt,
    cost,
    billedBy: cost > 0n ? hold.tag.provider : null,
    deadlineAt: Math.max(deadlineAt, hold.deadlineAt),
    tag: { ...hold.tag, provider, upstreamModel },
  };
  return changes(step, withLoss({ failed: cost }));
}

/** No charge is above its hold. A higher cost is our loss. */
function judgeCapture(account: Account, { charge: wanted, cost }: Capture, hold: Hold, now: number): Judged {
  const charge = smaller(wanted, hold.credits);
  if (hold.state !== "open") {
    const isSame = hold.state === "captured" && hold.charge === charge && hold.cost === cost;
    return isSame ? { outcome: DONE } : judgeAfterEnd(account, hold, cost, RESOLVED, now);
  }
  return changes({ ...endStep(account, "capture", now, hold, charge), cost, billedBy: hold.tag.provider });
}

function judgeRelease(account: Account, release: Release, hold: Hold, now: number): Judged {
  const { provider, unresolved } = release;
  const isForeign = provider !== undefined && provider !== hold.tag.provider;
  const cost = isForeign ? 0n : release.cost;
  if (hold.state !== "open") {
    return judgeAfterEnd(account, hold, cost, hold.state === "released" ? DONE : RESOLVED, now);
  }
  const step = {
    ...endStep(account, unresolved ? "abandon" : "release", now, hold, 0n),
    cost,
    billedBy: cost > 0n ? hold.tag.provider : null,
  };
  const loss = unresolved ? { late: cost, abandoned: hold.credits } : { failed: cost };
  return changes(step, withLoss(loss));
}

function judgeLease(account: Account, { until }: Lease, hold: Hold, now: number): Judged {
  if (hold.state !== "open") return { outcome: RESOLVED };
  if (hold.deadlineAt > now || hold.leasedUntil > now) return { outcome: { code: "leased" } };
  return changes({ ...holdStep(account, "lease", now, hold), deadlineAt: until });
}

/** A resolver that has the hold found no kept answer, so none is kept afterwards. */
function judgeKeep(account: Account, { charge, cost }: Keep, hold: Hold, now: number): Judged {
  if (hold.claim === undefined) return { outcome: { code: "unknown_hold" } };
  if (hold.kept !== undefined) return { outcome: DONE };
  if (hold.state !== "open") return { outcome: RESOLVED };
  if (hold.leasedUntil > 0) return { outcome: { code: "leased" } };
  return changes({ ...holdStep(account, "keep", now, hold), detail: { kept: { charge, cost } } });
}

function judgeAfterEnd(account: Account, hold: Hold, cost: PicoUsd, outcome: Outcome, now: number): Judged {
  return judgeLate(account, hold, { attempt: hold.attempt, cost, billedBy: hold.tag.provider }, outcome, now);
}

/** A report has the total cost of one attempt: the part that is not booked yet is our loss, and repeats book nothing. */
function judgeLate(
  account: Account,
  hold: Hold,
  report: { readonly attempt: number; readonly cost: PicoUsd; readonly billedBy: string },
  outcome: Outcome,
  now: number,
): Judged {
  const { attempt, billedBy } = report;
  const cost = report.cost - (hold.booked.get(attempt) ?? 0n);
  if (cost <= 0n) return { outcome };
  const step = { ...holdStep(account, "late", now, hold), attempt, cost, billedBy };
  return changes(step, { ...outcome, loss: { failed: 0n, late: cost, abandoned: undefined } });
}

function endStep(
  account: Account,
  kind: "capture" | "release" | "abandon",
  now: number,
  hold: Hold,
  charge: Credits,
): Step {
  return {
    ...holdStep(account, kind, now, hold),
    credits: -hold.credits,
    charge,
    debited: account.debited + charge,
    held: account.held - hold.credits,
    budgets: budgetsAfter(account, hold, { held: -hold.credits, used: charge }),
  };
}

function budgetsAfter(
  account: Account,
  hold: Hold,
  change: { readonly held: Credits; readonly used: Credits },
): BudgetAfter[] {
  return levelsOf(account, hold.chain).map(({ budget, window, totals }) => ({
    budget,
    window,
    used: totals.used + change.used,
    held: totals.held + change.held,
  }));
}

function withLoss(loss: Partial<Loss>): Outcome {
  const { failed = 0n, late = 0n, abandoned } = loss;
  if (failed === 0n && late === 0n && abandoned === undefined) return DONE;
  return { code: "done", loss: { failed, late, abandoned } };
}
