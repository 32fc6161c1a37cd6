// SpendPeriods owns the names of the periods of spend limits. Keys, console and command line show them in JSON and options.
// A new value of the contract does not compile without its name.
import { SpendPeriod } from "@gr/proto/billing";

export const SPEND_PERIOD_NAMES = ["day", "week", "month"] as const;
export type SpendPeriodName = (typeof SPEND_PERIOD_NAMES)[number];

export const SPEND_PERIODS: Readonly<Record<SpendPeriodName, SpendPeriod>> = {
  day: SpendPeriod.DAY,
  week: SpendPeriod.WEEK,
  month: SpendPeriod.MONTH,
};

const NAMES: Readonly<Record<SpendPeriod, SpendPeriodName | null>> = {
  [SpendPeriod.UNSPECIFIED]: null,
  [SpendPeriod.LIFETIME]: null,
  [SpendPeriod.DAY]: "day",
  [SpendPeriod.WEEK]: "week",
  [SpendPeriod.MONTH]: "month",
};

/** @returns null for a lifetime; undefined for a period of a newer contract */
export function periodNameOf(period: SpendPeriod): SpendPeriodName | null | undefined {
  return NAMES[period];
}

/** Returns the period of a name; no name means one window that never ends. */
export function spendPeriodOf(name: SpendPeriodName | null): SpendPeriod {
  return name === null ? SpendPeriod.LIFETIME : SPEND_PERIODS[name];
}
