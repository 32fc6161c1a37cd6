// Option values are parsed here; an unreadable value is refused before anything is sent.
import { SPEND_PERIODS } from "@gr/clients";
import { RESPONSE_FORMATS } from "@gr/identity";
import { type Credits, formatCredits, parseCredits } from "@gr/money";
import { SpendPeriod } from "@gr/proto/billing";
import { InvalidArgumentError } from "commander";
import { z } from "zod";

/** Limits of parseCredits. */
const AT_MOST = "at most four decimals, up to 100 billion";
const instant = z.union([z.iso.date(), z.iso.datetime({ offset: true, local: true })]);
const NAMES_ZONE = /(?:Z|[+-]\d\d:\d\d)$/;

/** USD with at most four decimals, zero or more. */
export function usdOf(text: string): Credits {
  const credits = parseCredits(text);
  if (credits === undefined || credits < 0n) {
    throw new InvalidArgumentError(`It must be USD with ${AT_MOST}, for example 12.50.`);
  }
  return credits;
}

/** Parses like usdOf, and refuses zero. */
export function positiveUsdOf(text: string): Credits {
  const credits = usdOf(text);
  if (credits === 0n) throw new InvalidArgumentError("It must be more than zero.");
  return credits;
}

/** USD with at most four decimals, below or above zero. */
export function signedUsdOf(text: string): Credits {
  const credits = parseCredits(text);
  if (credits === undefined) {
    throw new InvalidArgumentError(`It must be USD with ${AT_MOST}, for example 12.50 or -12.50.`);
  }
  if (credits === 0n) throw new InvalidArgumentError("It must not be zero.");
  return credits;
}

/** An ISO 8601 date or time, in UTC unless it names a zone, as Unix milliseconds. */
export function instantOf(text: string): bigint {
  if (!instant.safeParse(text).success) {
    throw new InvalidArgumentError("It must be ISO 8601, for example 2027-01-31 or 2027-01-31T18:00:00Z.");
  }
  return BigInt(Date.parse(text.includes("T") && !NAMES_ZONE.test(text) ? `${text}Z` : text));
}

/** A choice by its name. */
export function oneOf<Value>(choices: Readonly<Record<string, Value>>): (text: string) => Value {
  return (text) => {
    const value = Object.hasOwn(choices, text) ? choices[text] : undefined;
    if (value === undefined) {
      throw new InvalidArgumentError(`It must be one of: ${Object.keys(choices).join(", ")}.`);
    }
    return value;
  };
}

const MOST_DAYS = 36_500;

export function daysOf(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > MOST_DAYS) {
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${MOST_DAYS}.`);
  }
  return Number(text);
}

/** A calendar day in UTC as YYYY-MM-DD. */
export function dayOf(text: string): string {
  if (!z.iso.date().safeParse(text).success) {
    throw new InvalidArgumentError("It must be a day as YYYY-MM-DD, for example 2027-01-31.");
  }
  return text;
}

export function uuidOf(text: string): string {
  if (!z.guid().safeParse(text).success) throw new InvalidArgumentError("It must be a UUID.");
  return text;
}

export function countOf(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > 1000) throw new InvalidArgumentError("It must be a number from 1 to 1000.");
  return count;
}

export function minutesOf(text: string): bigint {
  if (!/^[1-5]$/.test(text)) throw new InvalidArgumentError("It must be a number from 1 to 5.");
  return BigInt(text);
}

/** Choices for a limit that exists already; a lifetime ends the windows. */
export const LIMIT_PERIODS = { ...SPEND_PERIODS, lifetime: SpendPeriod.LIFETIME } as const;

/** Names separated by commas, without the spaces around them. */
export function namesOf(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new InvalidArgumentError("It must be names separated by commas.");
  return names;
}

/** Choices of a default response_format; `none` removes one. */
const FORMATS = Object.fromEntries(RESPONSE_FORMATS.map((format) => [format, format]));
export const responseFormatOf = oneOf<string>(FORMATS);
export const responseFormatOrNoneOf = oneOf<string>({ ...FORMATS, none: "" });

/** "1.5000", or null for an amount that is not set. */
export function usdText(credits: Credits | undefined): string | null {
  return credits === undefined ? null : formatCredits(credits);
}

/** ISO 8601 in UTC, or null for an instant that is not set. */
export function isoText(unixMs: bigint | undefined): string | null {
  return unixMs === undefined ? null : new Date(Number(unixMs)).toISOString();
}
