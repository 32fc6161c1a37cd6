// Statement amounts own the amounts of a comparison with the statement of a provider, as the console and the command line show them.
import { formatPicoUsd } from "@gr/money";
import type { DayDifference, ModelDifference } from "@gr/proto/console";

/** Returns USD. @param pico 1e-12 USD, in digits */
export function usdOf(pico: string): string {
  return formatPicoUsd(BigInt(pico));
}

/** Returns both sides of a row in USD; null = the row is on the other side only. */
export function sidesOf({
  model,
  billedPicoUsd: billed,
  bookedPicoUsd: booked,
  differencePicoUsd,
}: ModelDifference | DayDifference) {
  return {
    model,
    billed: billed === undefined ? null : usdOf(billed),
    booked: booked === undefined ? null : usdOf(booked),
    difference: usdOf(differencePicoUsd),
  };
}
