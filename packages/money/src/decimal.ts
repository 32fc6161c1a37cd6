// Reads and writes exact decimals. Every parser and printer of money is built on these two.

/** Digits before the point, after it, and the exponent; JSON numbers and plain decimals both fit. */
const DECIMAL = /^(-?)(\d{1,40})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,3}))?$/;

export type Rounding = "exact" | "up" | "down";

/**
 * Reads a decimal ("0.01", "1e-7", -3) as an integer number of 10^-scale units.
 * A number is read through its shortest decimal form, never through arithmetic.
 * @param rounding "exact" refuses digits beyond the scale; "up" rounds away from zero, "down" towards it.
 * @returns undefined when the text is no finite decimal, or not exact although it must be.
 */
export function parseDecimal(input: string | number, scale: number, rounding: Rounding): bigint | undefined {
  const match = DECIMAL.exec(typeof input === "number" ? String(input) : input);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponentText = "0"] = match;
  const exponent = Number(exponentText) + scale - fraction.length;
  const digits = BigInt(whole + fraction);
  const magnitude = exponent >= 0 ? digits * 10n ** BigInt(exponent) : shift(digits, -exponent, rounding);
  if (magnitude === undefined) return undefined;
  return sign === "-" ? -magnitude : magnitude;
}

function shift(digits: bigint, places: number, rounding: Rounding): bigint | undefined {
  const divisor = 10n ** BigInt(places);
  const quotient = digits / divisor;
  if (digits % divisor === 0n || rounding === "down") return quotient;
  return rounding === "up" ? quotient + 1n : undefined;
}

/** Prints an integer number of 10^-scale units as a plain decimal with at least `minDigits` after the point. */
export function formatDecimal(value: bigint, scale: number, minDigits: number): string {
  const sign = value < 0n ? "-" : "";
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  let end = digits.length;
  while (end > whole.length + minDigits && digits[end - 1] === "0") end -= 1;
  const fraction = digits.slice(whole.length, end);
  return fraction === "" ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}
