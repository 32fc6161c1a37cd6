// Message names own the enumerations of the contract, and the words that billing and its tables have for them.
import type { DepositStatus, HoldState, Level, Period } from "@gr/ledger";
import {
  BudgetLevel,
  DepositStatus as DepositStatusMessage,
  HoldState as HoldStateMessage,
  SpendPeriod,
} from "@gr/proto/billing";
import { invalid } from "./field-rules.ts";

/** Messages of an enumeration by their words. */
export type Names<Name extends string, Message extends number> = Readonly<Record<Name, Message>>;

export const PERIODS: Names<Period, SpendPeriod> = {
  lifetime: SpendPeriod.LIFETIME,
  day: SpendPeriod.DAY,
  week: SpendPeriod.WEEK,
  month: SpendPeriod.MONTH,
};

export const LEVELS: Names<Level, BudgetLevel> = {
  account: BudgetLevel.ACCOUNT,
  member: BudgetLevel.MEMBER,
  customer: BudgetLevel.CUSTOMER,
  key: BudgetLevel.KEY,
  job: BudgetLevel.JOB,
};

export const HOLD_STATES: Names<HoldState, HoldStateMessage> = {
  open: HoldStateMessage.OPEN,
  captured: HoldStateMessage.CAPTURED,
  released: HoldStateMessage.RELEASED,
};

export const DEPOSIT_STATUSES: Names<DepositStatus, DepositStatusMessage> = {
  PENDING: DepositStatusMessage.PENDING,
  COMPLETED: DepositStatusMessage.COMPLETED,
  FAILED: DepositStatusMessage.FAILED,
  REFUNDED: DepositStatusMessage.REFUNDED,
};

/** Britain has no comma before "or". */
const CHOICE = new Intl.ListFormat("en-GB", { type: "disjunction" });

/** @throws ServiceError invalid_value */
export function nameOf<Name extends string>(
  names: Names<Name, number>,
  field: string,
  message: number,
): Name {
  for (const name in names) if (names[name] === message) return name;
  throw invalid(field, `It must be ${CHOICE.format(Object.keys(names).map((name) => name.toLowerCase()))}`);
}
