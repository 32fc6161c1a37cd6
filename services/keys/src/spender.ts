// A key's spending authority as billing keeps it. Billing's row decides what may be spent; it is written before ours.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type SpenderSchema, SpendPeriod } from "@gr/proto/billing";
import type { ApiKey, Period } from "./key.ts";

const PERIODS: Readonly<Record<Period, SpendPeriod>> = {
  day: SpendPeriod.DAY,
  week: SpendPeriod.WEEK,
  month: SpendPeriod.MONTH,
};

/** No period means one window that never ends. */
export function spendPeriodOf(period: Period | null): SpendPeriod {
  return period === null ? SpendPeriod.LIFETIME : PERIODS[period];
}

/** The spender of a normal key, active or switched off. */
export function spenderOf(key: ApiKey, active: boolean): MessageInitShape<typeof SpenderSchema> {
  return {
    spenderId: key.id,
    accountId: key.accountId,
    name: key.name,
    ...(key.capCredits === null ? {} : { capCredits: key.capCredits }),
    period: spendPeriodOf(key.period),
    ...(key.expiresAt === null ? {} : { expiresAt: BigInt(key.expiresAt) }),
    active,
    createdAt: BigInt(key.createdAt),
  };
}
