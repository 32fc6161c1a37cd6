// Reads an instant as ISO 8601 writes it: a date is its first moment, and what names no zone is in UTC. Luxon knows
// calendars; half a date, which it would fill in by itself, is refused here.
import { DateTime } from "luxon";

/** A whole date by month, week or day of the year; then perhaps a time, and after that perhaps a zone that exists. */
const DATE_TIME_ZONE =
  /^\d{4}-?(?:\d\d-?\d\d|W\d\d-?\d|\d{3})(?:T[\d:.,]+(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/i;

/** Unix milliseconds, digits beyond them cut; undefined for what is no instant. */
export function readIsoInstant(text: string): number | undefined {
  if (!DATE_TIME_ZONE.test(text)) return undefined;
  const instant = DateTime.fromISO(text, { zone: "utc" });
  return instant.isValid ? instant.toMillis() : undefined;
}
