// Windows of spend limits begin at 00:00 UTC: each day, each Monday, each 1st. A lifetime never begins and never ends.
// CONTRIBUTING.md lists the places of a further period.
export const PERIODS = ["lifetime", "day", "week", "month"] as const;
/** A lifetime is one window that never ends. */
export type Period = (typeof PERIODS)[number];

export const DAY_MS = 86_400_000;
/** Unix time 0 was a Thursday; this Monday is the first after it. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

/** @returns Unix milliseconds of the start of the window at `now`; null for a lifetime */
export function windowStart(period: Period, now: number): number | null {
  switch (period) {
    case "lifetime":
      return null;
    case "day":
      return now - modulo(now, DAY_MS);
    case "week":
      return now - modulo(now - FIRST_MONDAY_MS, 7 * DAY_MS);
    case "month": {
      const date = new Date(now);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    }
  }
}

/** @returns Unix milliseconds of the end of the window that began at `start`; 0 = never */
export function windowEnd(period: Period, start: number): number {
  switch (period) {
    case "lifetime":
      return 0;
    case "day":
      return start + DAY_MS;
    case "week":
      return start + 7 * DAY_MS;
    case "month": {
      const date = new Date(start);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
    }
  }
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
