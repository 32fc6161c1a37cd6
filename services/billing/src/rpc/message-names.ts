// The enumerations of the contract and the words that billing and its tables use for them.
import type { Level, Period } from "@gr/ledger";
import {
  BudgetLevel,
  DepositStatus as DepositStatusMessage,
  HoldState as HoldStateMessage,
  SpendPeriod,
} from "@gr/proto/billing";
import type { DepositStatus } from "../accounts/deposit.ts";
import type { HoldState } from "../holds/hold.ts";
import { invalid } from "./field-rules.ts";

const PERIODS: Readonly<Record<Period, SpendPeriod>> = {
  lifetime: SpendPeriod.LIFETIME,
  day: SpendPeriod.DAY,
  week: SpendPeriod.WEEK,
  month: SpendPeriod.MONTH,
};

const LEVELS: Readonly<Record<Level, BudgetLevel>> = {
  account: BudgetLevel.ACCOUNT,
  member: BudgetLevel.MEMBER,
  customer: BudgetLevel.CUSTOMER,
  key: BudgetLevel.KEY,
  job: BudgetLevel.JOB,
};

const HOLD_STATES: Readonly<Record<HoldState, HoldStateMessage>> = {
  open: HoldStateMessage.OPEN,
  captured: HoldStateMessage.CAPTURED,
  released: HoldStateMessage.RELEASED,
};

const DEPOSIT_STATUSES: Readonly<Record<DepositStatus, DepositStatusMessage>> = {
  PENDING: DepositStatusMessage.PENDING,
  COMPLETED: DepositStatusMessage.COMPLETED,
  FAILED: DepositStatusMessage.FAILED,
  REFUNDED: DepositStatusMessage.REFUNDED,
};

export function messageOfPeriod(period: Period): SpendPeriod {
  return PERIODS[period];
}

export function messageOfLevel(level: Level): BudgetLevel {
  return LEVELS[level];
}

export function messageOfHoldState(state: HoldState): HoldStateMessage {
  return HOLD_STATES[state];
}

/** @throws ServiceError invalid_value */
export function periodOf(field: string, message: SpendPeriod): Period {
  return nameOf(PERIODS, field, message);
}

/** @throws ServiceError invalid_value */
export function levelOf(field: string, message: BudgetLevel): Level {
  return nameOf(LEVELS, field, message);
}

/** @throws ServiceError invalid_value */
export function holdStateOf(field: string, message: HoldStateMessage): HoldState {
  return nameOf(HOLD_STATES, field, message);
}

/** @throws ServiceError invalid_value */
export function depositStatusOf(field: string, message: DepositStatusMessage): DepositStatus {
  return nameOf(DEPOSIT_STATUSES, field, message);
}

function nameOf<Name extends string>(
  names: Readonly<Record<Name, number>>,
  field: string,
  message: number,
): Name {
  for (const name in names) if (names[name] === message) return name;
  const words = Object.keys(names).map((name) => name.toLowerCase());
  throw invalid(field, `It must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`);
}
