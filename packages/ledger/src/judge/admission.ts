// Admission owns the conditions for spending: state, expiry and limit of each budget of a chain, and the balance of the account.
// Places, extensions and dry runs call it. All budgets admit a hold, or none does.
import { type Credits, larger, smaller } from "@gr/money";
import { type Account, budgetOf, findBudget, freeCredits, type Link } from "../account.ts";
import { type Budget, MAX_LEVELS, NO_TOTALS, type Totals } from "../budget.ts";
import type { Id } from "../id.ts";
import type { Outcome, OutcomeCode, Refusal, RefusingBudget } from "../outcome.ts";
import { windowEnd, windowStart } from "../window.ts";

/** One budget of a chain, with the window that a hold counts in. */
export interface Level extends Link {
  readonly of: Budget;
  readonly totals: Totals;
}

/**
 * Budgets that a hold of this budget counts in, from the lowest up. Empty if the budget is unknown.
 * @param memberId budget of a member, above a budget without a parent
 */
export function chainOf(account: Account, budgetId: Id, memberId?: Id): Budget[] {
  const own = chainFrom(account, findBudget(account, budgetId));
  const member = memberId === undefined ? undefined : findBudget(account, memberId);
  const isShared =
    own.length === 1 && own[0]?.definition.level === "key" && member?.definition.level === "member";
  return isShared ? [...own, ...chainFrom(account, member)] : own;
}

function chainFrom(account: Account, lowest: Budget | undefined): Budget[] {
  const chain: Budget[] = [];
  let budget = lowest;
  while (budget !== undefined && chain.length < MAX_LEVELS) {
    chain.push(budget);
    const { parentId } = budget.definition;
    budget = parentId === null ? undefined : findBudget(account, parentId);
  }
  return chain;
}

/** Windows that a hold placed at `now` counts in. */
export function currentLevels(chain: readonly Budget[], now: number): Level[] {
  return chain.map((of) => {
    const window = hasNewWindow(of, now) ? of.window + 1 : of.window;
    return { of, budget: of.no, window, totals: of.totals.get(window) ?? NO_TOTALS };
  });
}

/** Windows that an open hold was admitted in. */
export function levelsOf(account: Account, chain: readonly Link[]): Level[] {
  return chain.map(({ budget, window }) => {
    const of = budgetOf(account, budget);
    return { of, budget, window, totals: of.totals.get(window) ?? NO_TOTALS };
  });
}

/** The calendar window of `now` is later than the latest one with a hold. Starts never move back. */
export function hasNewWindow({ definition, windowStart: latest }: Budget, now: number): boolean {
  const start = windowStart(definition.period, now);
  return start !== null && (latest === null || latest < start);
}

/** @returns undefined if the chain may spend any amount */
export function spenderRefusal(account: Account, chain: readonly Budget[], now: number): Outcome | undefined {
  const [lowest, ...above] = chain;
  if (lowest === undefined || !lowest.definition.active) return refused("spender_inactive", account);
  if (account.suspended) return refused("spender_inactive", account, { suspended: true });
  const { expiresAt } = lowest.definition;
  if (expiresAt !== null && expiresAt <= now) return refused("spender_expired", account, { expiresAt });
  for (const { definition } of above) {
    const expired = definition.expiresAt !== null && definition.expiresAt <= now;
    if (definition.active && !expired) continue;
    return refused("budget_closed", account, {
      budget: refusing(definition, false),
      expiresAt: expired ? (definition.expiresAt ?? 0) : 0,
    });
  }
  return undefined;
}

/**
 * A window that has ended is full: its hold grows only in budgets without a limit.
 * @param total size of the hold @param more part of it that is not reserved yet
 * @returns undefined if all budgets and the balance allow it. The first refusal is one that does not depend on open holds:
 *   waiting cannot change it.
 */
export function moneyRefusal(
  account: Account,
  levels: readonly Level[],
  { total, more }: { readonly total: Credits; readonly more: Credits },
  now: number,
): Outcome | undefined {
  if (more === 0n) return undefined;
  const exceeded = (isOver: (level: Level, limit: Credits) => boolean) =>
    levels.findIndex((level) => {
      const { limit } = level.of.definition;
      return limit !== null && isOver(level, limit);
    });
  const over = (index: number, inFlight: boolean) => limitRefusal(account, levels, index, inFlight, now);
  const hopeless = exceeded(
    ({ of, window, totals }, limit) => window < of.window || totals.used + total > limit,
  );
  if (hopeless !== -1) return over(hopeless, false);
  if (total > account.credited - account.debited) return refused("insufficient_credits", account);
  const full = exceeded(({ totals }, limit) => totals.used + totals.held + more > limit);
  if (full !== -1) return over(full, true);
  if (more > freeCredits(account)) return refused("insufficient_credits", account, { inFlight: true });
  return undefined;
}

/** Credits to reserve: where much is free, a quarter of it, so that many requests share it. */
export function grantOf(
  account: Account,
  levels: readonly Level[],
  { least, most }: { readonly least: Credits; readonly most: Credits | undefined },
): Credits {
  if (most === undefined || least === 0n) return least;
  let free = freeCredits(account);
  for (const { of, totals } of levels) {
    const { limit } = of.definition;
    if (limit !== null) free = smaller(free, limit - totals.used - totals.held);
  }
  return larger(least, smaller(most, free / 4n));
}

export function refused(code: OutcomeCode, account: Account, fields: Partial<Refusal> = {}): Outcome {
  const available = larger(freeCredits(account), 0n);
  const refusal = { inFlight: false, available, resetsAt: 0, expiresAt: 0, suspended: false, ...fields };
  return { code, refusal };
}

function limitRefusal(
  account: Account,
  levels: readonly Level[],
  index: number,
  inFlight: boolean,
  now: number,
): Outcome {
  const level = levels[index];
  if (level === undefined) throw new RangeError(`The chain has no budget ${index}.`);
  const budget = refusing(level.of.definition, index === 0);
  return refused("spend_limit_exceeded", account, { inFlight, budget, resetsAt: resetOf(level.of, now) });
}

/** @returns Unix milliseconds of the end of the current window; 0 = never */
export function resetOf({ definition: { period }, windowStart: latest }: Budget, now: number): number {
  const start = windowStart(period, now);
  return start === null ? 0 : windowEnd(period, Math.max(start, latest ?? start));
}

function refusing(definition: Budget["definition"], isLowest: boolean): RefusingBudget {
  const { id, level, name, limit, period } = definition;
  return { id, level, name, limit, period, isLowest };
}
