// Days and spend windows in UTC.
import type { SpendPeriodName } from "@gr/clients";
import { windowEnd, windowStart } from "@gr/ledger";
import { ServiceError } from "@gr/proto";

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

/** @returns Unix milliseconds of the end of the spend window at this moment */
export function endOfWindow(period: SpendPeriodName, at: number): number {
  return windowEnd(period, windowStart(period, at) ?? at);
}
