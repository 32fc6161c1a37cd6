// Days and spend windows in UTC.
import { ServiceError } from "@gr/proto";
import { SpendPeriod } from "@gr/proto/billing";

export const DAY_MS = 86_400_000;

/** 2026-11-22 */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The first moment of a day. @throws ServiceError invalid_value for one that the calendar does not have */
export function startOfDay(field: string, day: string): number {
  const at = Date.parse(`${day}T00:00:00Z`);
  if (!Number.isNaN(at) && dayOf(at) === day) return at;
  const message = `The calendar has no day with this date (field "${field}").`;
  throw new ServiceError("invalid_value", message, { param: field });
}

/** Returns the end of the spend window at this moment; undefined = never. */
export function endOfWindow(period: SpendPeriod, at: number): number | undefined {
  const now = new Date(at);
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  switch (period) {
    case SpendPeriod.DAY:
      return Date.UTC(year, month, date + 1);
    case SpendPeriod.WEEK:
      // Monday begins a week; Sunday is day 0.
      return Date.UTC(year, month, date + 7 - ((now.getUTCDay() + 6) % 7));
    case SpendPeriod.MONTH:
      return Date.UTC(year, month + 1, 1);
    default:
      return undefined;
  }
}
