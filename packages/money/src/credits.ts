// Credits: customer money in units of 1e-4 USD. Balances, holds, charges and caps are Credits.
import { formatDecimal, parseDecimal } from "./decimal.ts";

/** An amount in units of 1e-4 USD. */
export type Credits = bigint;

const SCALE = 4;
export const CREDITS_PER_USD: Credits = 10_000n;

/** 1e11 USD: beyond any account, and far enough below 64 bits that sums cannot overflow a column. */
export const MAX_CREDITS: Credits = 10n ** 15n;

/**
 * Reads a USD amount with at most four decimals.
 * @returns undefined when it is no finite decimal, has more decimals, or is beyond ±1e11 USD.
 */
export function parseCredits(usd: string | number): Credits | undefined {
  const credits = parseDecimal(usd, SCALE, "exact");
  if (credits === undefined || credits > MAX_CREDITS || credits < -MAX_CREDITS) return undefined;
  return credits;
}

/**
 * Returns the largest limit that allows at most this amount: digits beyond 1e-4 USD are cut, and 1e11 USD is the
 * maximum.
 * @returns undefined when the amount is no finite decimal, or negative.
 */
export function limitOfUsd(usd: string | number): Credits | undefined {
  const credits = parseDecimal(usd, SCALE, "down");
  // A little below zero is cut to zero, so the sign is read from the original text.
  if (credits === undefined || Number(usd) < 0) return undefined;
  return credits < MAX_CREDITS ? credits : MAX_CREDITS;
}

/** Parses amounts in our own source and seeds, as parseCredits does. @throws RangeError if it is no amount. */
export function creditsOf(usd: string): Credits {
  const credits = parseCredits(usd);
  if (credits === undefined) throw new RangeError(`"${usd}" is not an amount of USD with four decimals`);
  return credits;
}

/** Prints USD with exactly four decimals: 12345n is "1.2345". */
export function formatCredits(credits: Credits): string {
  return formatDecimal(credits, SCALE, SCALE);
}
