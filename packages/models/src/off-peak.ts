// Off-peak rates: a provider bills less in some hours, by its own clock. The answer's time decides, and near the edge of an hour the
// usual rates apply: providers differ in whether the begin or the end of a request counts.
import type { DailyHours, TokenPrice } from "@gr/proto/catalog";

/** Milliseconds on both sides of the answer's time that must be off-peak, too. */
const MARGIN_MS = 10 * 60_000;
const MINUTE_MS = 60_000;
const DAYS = 7;

/** @param createdAt Unix milliseconds by the provider's clock. @returns undefined at other and at unknown times */
export function offPeakRates({ offPeak }: TokenPrice, createdAt: number | undefined): TokenPrice | undefined {
  if (offPeak.length === 0 || createdAt === undefined) return undefined;
  const moments = [createdAt - MARGIN_MS, createdAt, createdAt + MARGIN_MS];
  return offPeak.find(({ hours }) => moments.every((at) => hours.some((each) => isWithin(each, at))))?.price;
}

function isWithin({ weekdays, fromMinute, toMinute }: DailyHours, at: number): boolean {
  const time = new Date(at);
  // Monday is 1 and Sunday 7.
  const weekday = time.getUTCDay() || DAYS;
  const minute = Math.floor((at % (24 * 60 * MINUTE_MS)) / MINUTE_MS);
  return (weekdays.length === 0 || weekdays.includes(weekday)) && fromMinute <= minute && minute < toMinute;
}
