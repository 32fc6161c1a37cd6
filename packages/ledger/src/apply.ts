// Apply owns each change of an account's state. A decision and the replay of stored steps both run it, so the state in memory
// is always that of the stored steps.
import type { PicoUsd } from "@gr/money";
import { type Account, budgetOf, findHold, type Hold, type Link, newAccount } from "./account.ts";
import { type Budget, type BudgetDefinition, NO_TOTALS } from "./budget.ts";
import type { BudgetAfter, CarriedHold, CarriedWindow, Step, StepKind } from "./step.ts";
import { windowStart } from "./window.ts";

/** Functions that restore the state before, in the order of the changes. */
export type Undo = (() => void)[];

/** @throws Error if the step does not follow the latest one of the account */
export function apply(account: Account, step: Step, undo?: Undo): void {
  if (step.accountId !== account.id || step.seq !== account.seq + 1) {
    throw new Error(`Step ${step.seq} does not follow step ${account.seq} of account ${account.id}.`);
  }
  applyToHolds(account, step, undo);
  applyToBudgets(account, step, undo);
  set(account, step, TOTALS, undo);
}

/**
 * Replays one hold without its account.
 * @param steps all of the hold, in order
 * @returns undefined if its place is not among them
 */
export function replayHold(steps: readonly Step[]): Hold | undefined {
  const [first] = steps;
  if (first?.kind !== "place") return undefined;
  const account = newAccount(first.accountId);
  for (const step of steps) applyToHolds(account, step, undefined);
  return findHold(account, first.id);
}

function applyToHolds(account: Account, step: Step, undo: Undo | undefined): void {
  switch (step.kind) {
    case "place":
      placeHold(account, step, undo);
      break;
    case "capture":
    case "release":
    case "abandon":
      endHold(account, step, undo);
      break;
    case "budget":
    case "suspend":
    case "carry":
      applyDetail(account, step, undo);
      break;
    case "adjustment":
      set(account, { adjusted: account.adjusted + step.credits }, ["adjusted"], undo);
      break;
    default:
      changeHold(account, step, undo);
  }
}

/** Restores the state before the steps of this undo. */
export function takeBack(undo: Undo): void {
  for (const restore of undo.toReversed()) restore();
  undo.length = 0;
}

const TOTALS = ["seq", "at", "credited", "debited", "held"] as const;

function placeHold(account: Account, step: Step, undo: Undo | undefined): void {
  const { id, seq, at, credits, deadlineAt, tag, claim } = step;
  const carried = carriedHold(step);
  if (tag === null || deadlineAt === null)
    throw new Error(`Step ${seq} of ${account.id} places no complete hold.`);
  const chain: Link[] = step.budgets.map(({ budget, window }) => ({ budget, window }));
  put(
    account.open,
    id,
    {
      id,
      seq,
      state: "open",
      credits,
      charge: 0n,
      cost: 0n,
      placedAt: carried?.placedAt ?? at,
      deadlineAt,
      leasedUntil: 0,
      attempt: step.attempt,
      tag,
      chain,
      claim: claim?.key,
      kept: carried?.kept ?? undefined,
      booked: carried === undefined ? NO_BOOKINGS : new Map(carried.booked),
    },
    undo,
  );
  if (credits > 0n || carried !== undefined) return;
  const day = Math.max(windowStart("day", at) ?? 0, account.freeDay);
  const freeUsed = day === account.freeDay ? account.freeUsed + 1 : 1;
  set(account, { freeDay: day, freeUsed }, ["freeDay", "freeUsed"], undo);
}

/** The free places from before the chain are counted by the account's carry. */
function carriedHold({ detail }: Step): CarriedHold | undefined {
  return detail !== null && "carriedHold" in detail ? detail.carriedHold : undefined;
}

/** A late cost can belong to a hold that is no longer remembered; the ledger has it. */
function changeHold(account: Account, step: Step, undo: Undo | undefined): void {
  for (const holds of [account.open, account.ended]) {
    const hold = holds.get(step.id);
    if (hold !== undefined) put(holds, step.id, { ...hold, ...changeOf(hold, step) }, undo);
  }
}

function changeOf(
  hold: Hold,
  { kind, credits, attempt, cost, deadlineAt, tag, detail }: Step,
): Partial<Hold> {
  const deadline = deadlineAt ?? hold.deadlineAt;
  switch (kind) {
    case "extend":
      return { credits: hold.credits + credits, deadlineAt: deadline };
    case "next":
      return {
        attempt,
        tag: tag ?? hold.tag,
        deadlineAt: deadline,
        booked: withBooking(hold, attempt - 1, cost),
      };
    case "late":
      return { booked: withBooking(hold, attempt, (hold.booked.get(attempt) ?? 0n) + cost) };
    case "lease":
      return { leasedUntil: deadline };
    case "keep":
      return detail !== null && "kept" in detail ? { kept: detail.kept } : {};
    default:
      return {};
  }
}

function endHold(account: Account, step: Step, undo: Undo | undefined): void {
  const hold = account.open.get(step.id);
  if (hold === undefined) throw new Error(`Step ${step.seq} of ${account.id} ends a hold that is not open.`);
  const { kind, charge, cost } = step;
  put(account.open, step.id, undefined, undo);
  const state = kind === "capture" ? "captured" : "released";
  const booked = withBooking(hold, hold.attempt, cost);
  put(account.ended, step.id, { ...hold, state, charge, cost, booked }, undo);
}

const NO_BOOKINGS: ReadonlyMap<number, PicoUsd> = new Map();

function withBooking({ booked }: Hold, attempt: number, cost: PicoUsd): ReadonlyMap<number, PicoUsd> {
  return new Map(booked).set(attempt, cost);
}

function applyToBudgets(account: Account, step: Step, undo: Undo | undefined): void {
  for (const after of step.budgets) {
    const budget = budgetOf(account, after.budget);
    if (after.window > budget.window) {
      const carried = carriedWindow(step);
      const start =
        carried === undefined ? windowStart(budget.definition.period, step.at) : carried.windowStart;
      set(budget, { window: after.window, windowStart: start }, ["window", "windowStart"], undo);
      dropUnheld(budget, undo);
    }
    putTotals(budget, after, HOLDS[step.kind] ?? 0, undo);
    const captured = step.kind === "capture" ? 1 : carriedWindow(step)?.requests;
    if (captured === undefined) continue;
    const life = { used: budget.used + step.charge, requests: budget.requests + captured };
    set(budget, life, ["used", "requests"], undo);
  }
}

function carriedWindow({ detail }: Step): CarriedWindow | undefined {
  return detail !== null && "carriedWindow" in detail ? detail.carriedWindow : undefined;
}

/** Change of the number of open holds. */
const HOLDS: Partial<Record<StepKind, number>> = { place: 1, capture: -1, release: -1, abandon: -1 };

/** A past window without an open hold changes no more. */
function putTotals(
  budget: Budget,
  { window, used, held }: BudgetAfter,
  more: number,
  undo: Undo | undefined,
): void {
  const holds = (budget.totals.get(window)?.holds ?? 0) + more;
  const isOver = window < budget.window && holds === 0;
  put(budget.totals, window, isOver ? undefined : { used, held, holds }, undo);
}

function dropUnheld(budget: Budget, undo: Undo | undefined): void {
  for (const [window, { holds }] of budget.totals) {
    if (window < budget.window && holds === 0) put(budget.totals, window, undefined, undo);
  }
}

function applyDetail(account: Account, { at, detail }: Step, undo: Undo | undefined): void {
  if (detail === null) return;
  if ("suspended" in detail) set(account, detail, ["suspended"], undo);
  if ("carriedAccount" in detail) {
    const names = ["adjusted", "suspended", "freeDay", "freeUsed", "carriedAt"] as const;
    set(account, { ...detail.carriedAccount, carriedAt: at }, names, undo);
  }
  if ("definition" in detail) putBudget(account, detail.definition, undo);
}

/** A new period opens the next window at zero. */
function putBudget(account: Account, definition: BudgetDefinition, undo: Undo | undefined): void {
  const { id, period } = definition;
  const known = account.budgetNumbers.get(id);
  if (known === undefined) {
    const no = account.budgets.length + 1;
    const totals = new Map([[1, NO_TOTALS]]);
    account.budgets.push({ definition, no, window: 1, windowStart: null, totals, used: 0n, requests: 0 });
    undo?.push(() => void account.budgets.pop());
    put(account.budgetNumbers, id, no, undo);
    return;
  }
  const budget = budgetOf(account, known);
  const isNewPeriod = budget.definition.period !== period;
  set(budget, { definition }, ["definition"], undo);
  if (!isNewPeriod) return;
  set(budget, { window: budget.window + 1, windowStart: null }, ["window", "windowStart"], undo);
  dropUnheld(budget, undo);
}

function put<Key, Value>(
  map: Map<Key, Value>,
  key: Key,
  value: Value | undefined,
  undo: Undo | undefined,
): void {
  if (undo !== undefined) {
    const before = map.get(key);
    undo.push(() => void (before === undefined ? map.delete(key) : map.set(key, before)));
  }
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

/** Copies these members, and no others. */
function set<Target extends object, Name extends keyof Target>(
  target: Target,
  values: Pick<Target, Name>,
  names: readonly Name[],
  undo: Undo | undefined,
): void {
  const before = names.map((name) => target[name]);
  for (const name of names) target[name] = values[name];
  undo?.push(() => {
    for (const [index, name] of names.entries()) target[name] = before[index] as Target[Name];
  });
}
