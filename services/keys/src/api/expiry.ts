// Expiry fields parse the expiry of a key: ISO 8601 over HTTP, Unix milliseconds over RPC, later than now.
// A date is its first moment, and a time without a zone is in UTC. Luxon would complete half a date by itself, so half
// dates are refused here.
import type { Clock } from "@gr/runtime";
import { DateTime } from "luxon";
import { z } from "zod";

/** 9999-12-31T23:59:59.999Z: the last instant that ISO 8601 writes with four digits. */
const LAST_EXPIRY = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** A whole date by month, week or day of the year; then perhaps a time, and after that perhaps a zone that exists. */
const DATE_TIME_ZONE =
  /^\d{4}-?(?:\d\d-?\d\d|W\d\d-?\d|\d{3})(?:T[\d:.,]+(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/i;

const FORM =
  "The expiry must be an existing ISO 8601 date or time, for example 2027-01-31 or 2027-01-31T18:00:00Z, or null";

/** ISO 8601; becomes Unix milliseconds. */
export const expiryField = (clock: Clock) =>
  z
    .string({ error: FORM })
    .meta({
      description: "ISO 8601: a date, for its first moment, or a time; in UTC without a zone",
      examples: ["2027-01-31T18:00:00Z", "2027-01-31"],
    })
    .transform((text, context): number => {
      const instant = readIsoInstant(text);
      if (instant !== undefined) return instant;
      context.issues.push({ code: "custom", message: FORM, input: text });
      return z.NEVER;
    })
    .pipe(expiryInstantField(clock));

/** Unix milliseconds, later than now. */
export const expiryInstantField = (clock: Clock) =>
  z
    .number()
    .refine((expiresAt) => expiresAt > clock.now(), "The expiry must be in the future")
    .refine((expiresAt) => expiresAt <= LAST_EXPIRY, "The expiry must be before the year 10000");

/** Returns Unix milliseconds, with further digits cut; undefined for an invalid instant. */
export function readIsoInstant(text: string): number | undefined {
  if (!DATE_TIME_ZONE.test(text)) return undefined;
  const instant = DateTime.fromISO(text, { zone: "utc" });
  return instant.isValid ? instant.toMillis() : undefined;
}
