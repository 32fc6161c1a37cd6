// Budget owns one limit of an account: a key, a member, a customer or a job. Budgets form a tree; a hold counts in each
// budget from its own up to the root. Totals belong to the window in which their holds were admitted.
import type { Credits } from "@gr/money";
import type { Id } from "./id.ts";
import type { Period } from "./window.ts";

/** Budgets of one hold, at most. */
export const MAX_LEVELS = 4;

/** Budgets of one account without those of keys, at most. */
export const MAX_BUDGETS = 10_000;

export type Level = "account" | "member" | "customer" | "key" | "job";

/** A parent has a lower depth than its child, so no chain has a cycle or a fifth level. */
const DEPTHS: Readonly<Record<Level, number>> = { account: 1, member: 2, customer: 2, key: 3, job: 4 };

/** Returns true if budgets of the first level can have children of the second. */
export function isAbove(level: Level, other: Level): boolean {
  return DEPTHS[level] < DEPTHS[other];
}

export interface BudgetDefinition {
  readonly id: Id;
  /** Budget above this one; null for a root. A root can get a parent once. A parent never changes. */
  readonly parentId: Id | null;
  /** It never changes. */
  readonly level: Level;
  readonly name: string;
  /** Credits of one window, at most; null = no limit. */
  readonly limit: Credits | null;
  readonly period: Period;
  /** Unix milliseconds; null = never. */
  readonly expiresAt: number | null;
  readonly active: boolean;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Number of changes, from 1; 0 = not counted. A lower one never replaces a higher one. */
  readonly revision: bigint;
}

/** Credits of one budget in one window. */
export interface Totals {
  readonly used: Credits;
  readonly held: Credits;
  /** Number of open holds. A hold of zero credits is one of them. */
  readonly holds: number;
}

export const NO_TOTALS: Totals = { used: 0n, held: 0n, holds: 0 };

export interface Budget {
  definition: BudgetDefinition;
  /** Number within the account, from 1. */
  readonly no: number;
  /** Number of the current window. It only rises. */
  window: number;
  /** Start of the current window, Unix milliseconds; null for a lifetime and before the first hold of a period. */
  windowStart: number | null;
  /** The current window, and earlier ones while they have open holds. */
  readonly totals: Map<number, Totals>;
  /** Charges of all windows. */
  used: Credits;
  /** Captured holds of all windows. */
  requests: number;
}
