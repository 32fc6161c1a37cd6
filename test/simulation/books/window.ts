// Start of the spend window of a moment, by arithmetic on days. The code is independent of the ledger's, so only an
// error in both stays unnoticed.
import type { Period } from "@gr/ledger";

const DAY_MS = 86_400_000;
/** 1970-01-05 was a Monday. */
const FIRST_MONDAY = 4;

/** Unix milliseconds; 0 for a lifetime, which began before everything. */
export function windowStartOf(period: Period, at: number): number {
  const day = Math.floor(at / DAY_MS);
  switch (period) {
    case "day":
      return day * DAY_MS;
    case "week":
      return (day - ((((day - FIRST_MONDAY) % 7) + 7) % 7)) * DAY_MS;
    case "month":
      return (day - (new Date(at).getUTCDate() - 1)) * DAY_MS;
    default:
      return 0;
  }
}
