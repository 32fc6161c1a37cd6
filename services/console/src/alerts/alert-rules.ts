// AlertRules decide which thresholds an account has crossed, and which of them are reported now. A crossing is reported
// once. It is reported again after a top-up, in a new period of a budget, or after an hour below the failure rate.
// Pure: the store applies the decision.
import type { Credits } from "@gr/money";
import type { AlertKind, CrossingKind } from "../alert-kind.ts";

/** Requests of the last hour below which no rate is computed. */
export const FEWEST_REQUESTS = 20;
export const RATE_WINDOW_MS = 3_600_000;

export interface AlertRules {
  /** Null = no alert. */
  readonly lowBalance: Credits | null;
  /** Percents of each budget; empty = no alert. */
  readonly budgetPercents: readonly number[];
  /** Null = no alert. */
  readonly failurePercent: number | null;
}

/** Levels of budgets that are watched. */
export type BudgetLevelName = "account" | "member" | "customer" | "key";

/** Spend limit of a key, or of several keys below a budget. */
export interface Budget {
  readonly id: string;
  readonly name: string;
  readonly level: BudgetLevelName;
  readonly limit: Credits;
  readonly used: Credits;
  /** Start of the running period; equal texts are one period. */
  readonly period: string;
}

export interface Readings {
  readonly balance: Credits;
  readonly budgets: readonly Budget[];
  /** Requests of the last hour that have ended. */
  readonly requests: { readonly failed: number; readonly ended: number };
}

/** A threshold that is crossed. */
export interface Crossing {
  readonly kind: CrossingKind;
  /** Id of a budget, which is that of the key on its level; empty = the account. */
  readonly subject: string;
  /** Percent of a budget; 0 for other kinds. */
  readonly percent: number;
  /** Period of a budget; empty for other kinds. */
  readonly period: string;
  /** Unix milliseconds. */
  readonly crossedAt: number;
}

export type AlertFacts = Readonly<Record<string, string | number>>;

export interface NewAlert {
  readonly kind: AlertKind;
  readonly facts: AlertFacts;
}

export interface AlertDecision {
  readonly alerts: readonly NewAlert[];
  readonly crossed: readonly Crossing[];
  readonly ended: readonly Crossing[];
}

/** @param now Unix milliseconds. @param format returns the text of an amount */
export function decideAlerts(
  rules: AlertRules,
  readings: Readings,
  known: readonly Crossing[],
  { now, format }: { readonly now: number; readonly format: (credits: Credits) => string },
): AlertDecision {
  const alerts: NewAlert[] = [];
  const crossed: Crossing[] = [];
  /** Crossings that still exist. */
  const kept = new Set<Crossing>();
  const byName = new Map(known.map((one) => [nameOf(one), one]));
  const find = (kind: CrossingKind, subject: string, percent: number) =>
    byName.get(nameOf({ kind, subject, percent }));
  const cross = (kind: CrossingKind, subject = "", percent = 0, period = "") => {
    crossed.push({ kind, subject, percent, period, crossedAt: now });
  };

  const { balance, budgets, requests } = readings;
  if (rules.lowBalance !== null && balance < rules.lowBalance) {
    const before = find("low_balance", "", 0);
    if (before !== undefined) kept.add(before);
    else {
      cross("low_balance");
      const facts = { balance: format(balance), threshold: format(rules.lowBalance) };
      alerts.push({ kind: "low_balance", facts });
    }
  }

  for (const budget of budgets) {
    let highest = 0;
    for (const percent of rules.budgetPercents) {
      if (!isReached(budget, percent)) continue;
      const before = find("budget", budget.id, percent);
      if (before?.period === budget.period) kept.add(before);
      else {
        cross("budget", budget.id, percent, budget.period);
        highest = Math.max(highest, percent);
      }
    }
    // One alert for several percents that were crossed together.
    if (highest > 0) alerts.push({ kind: "budget", facts: factsOf(budget, highest, format) });
  }

  const before = find("failure_rate", "", 0);
  if (rules.failurePercent !== null && isFailing(requests, rules.failurePercent)) {
    if (before !== undefined) kept.add(before);
    else {
      cross("failure_rate");
      const { failed, ended } = requests;
      alerts.push({ kind: "failure_rate", facts: { failed, ended, threshold: rules.failurePercent } });
    }
  } else if (before !== undefined && now - before.crossedAt < RATE_WINDOW_MS) {
    // A rate around its threshold is reported once an hour.
    kept.add(before);
  }
  const replaced = new Set(crossed.map(nameOf));
  return { alerts, crossed, ended: known.filter((one) => !kept.has(one) && !replaced.has(nameOf(one))) };
}

/** An account has at most one crossing of a name. It has tens of thousands with as many budgets, so none is searched one by one. */
function nameOf({ kind, subject, percent }: Pick<Crossing, "kind" | "subject" | "percent">): string {
  return `${kind} ${percent} ${subject}`;
}

function isReached({ used, limit }: Budget, percent: number): boolean {
  return limit > 0n && used * 100n >= limit * BigInt(percent);
}

function isFailing({ failed, ended }: Readings["requests"], percent: number): boolean {
  return ended >= FEWEST_REQUESTS && failed * 100 >= ended * percent;
}

function factsOf(
  { id, name, level, used, limit }: Budget,
  percent: number,
  format: (credits: Credits) => string,
): AlertFacts {
  const owner = level === "key" ? { key_id: id, key_name: name } : { budget_id: id, budget_name: name };
  return { level, ...owner, percent, spent: format(used), spend_limit: format(limit) };
}
