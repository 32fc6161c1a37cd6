// PicoUsd: true upstream cost in units of 1e-12 USD, and the one function that turns cost into a charge.
import { ceilDiv } from "./ceil-div.ts";
import type { Credits } from "./credits.ts";
import { formatDecimal, parseDecimal } from "./decimal.ts";

/** An amount in units of 1e-12 USD. */
export type PicoUsd = bigint;

const SCALE = 12;
export const PICO_PER_USD: PicoUsd = 1_000_000_000_000n;
export const PICO_PER_CREDIT: PicoUsd = 100_000_000n;

/** Largest cost that one request can have and a 64-bit column can hold: 9.2 million USD. */
export const LARGEST_COST: PicoUsd = 2n ** 63n - 1n;

/**
 * Reads a USD cost that an upstream reported. Digits beyond 1e-12 USD are rounded up.
 * @returns undefined when it is no finite decimal, negative, or more than 9.2 million USD.
 */
export function parsePicoUsd(usd: string | number): PicoUsd | undefined {
  const pico = parseDecimal(usd, SCALE, "up");
  if (pico === undefined || pico < 0n || pico > LARGEST_COST) return undefined;
  return pico;
}

/** Prints USD without an exponent and without needless zeros: 1500000n is "0.0000015". */
export function formatPicoUsd(pico: PicoUsd): string {
  return formatDecimal(pico, SCALE, 0);
}

/** Returns the charge for a request of this total cost: rounded up to 1e-4 USD, once. Zero stays zero. */
export function chargeOf(cost: PicoUsd): Credits {
  return ceilDiv(cost, PICO_PER_CREDIT);
}
