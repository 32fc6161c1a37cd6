// A price of one token becomes one of a million tokens as text: it never becomes a number.
import { shortDecimal } from "./figure-text.ts";

/** @param usd decimal string, USD of one token; other values have no price */
export function perMillion(usd: unknown): string | undefined {
  if (typeof usd !== "string") return undefined;
  const [whole = "0", fraction = ""] = usd.split(".");
  const digits = fraction.padEnd(6, "0");
  return shortDecimal(
    `${whole}${digits.slice(0, 6)}`.replace(/^0+(?=\d)/, "") +
      (digits.length > 6 ? `.${digits.slice(6)}` : ""),
  );
}
