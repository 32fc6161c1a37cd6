// Guarantees of the money package, as properties over random amounts.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  ceilDiv,
  chargeOf,
  creditsOf,
  formatCredits,
  formatPicoUsd,
  PICO_PER_CREDIT,
  parseCredits,
  parsePicoUsd,
} from "./index.ts";

const credits = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
const pico = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });

describe("credits", () => {
  test("every amount survives being printed and read back", () => {
    fc.assert(fc.property(credits, (amount) => parseCredits(formatCredits(amount)) === amount));
  });

  test("every four-decimal price below 2 USD is read exactly, as text and as a JSON number", () => {
    const misread: string[] = [];
    for (let unit = 0n; unit < 20_000n; unit += 1n) {
      const text = formatCredits(unit);
      if (parseCredits(text) !== unit || parseCredits(JSON.parse(text)) !== unit) misread.push(text);
    }
    expect(misread).toEqual([]);
  });

  test.each([
    "",
    " 1",
    "1 ",
    "0x10",
    "1e400",
    "NaN",
    "Infinity",
    "1,5",
    "--1",
    ".5",
    "1.",
    "0.00001",
    "1e12",
  ])("%j is no amount", (text) => expect(parseCredits(text)).toBeUndefined());

  test.each([0.1 + 0.2, Number.NaN, Number.POSITIVE_INFINITY, 1e-9])("the number %p is no amount", (value) =>
    expect(parseCredits(value)).toBeUndefined(),
  );

  test("negative zero is zero", () => {
    expect(parseCredits(-0)).toBe(0n);
    expect(parseCredits("-0")).toBe(0n);
  });

  test("prints four decimals, the sign first", () => {
    expect(formatCredits(-5n)).toBe("-0.0005");
    expect(formatCredits(creditsOf("10"))).toBe("10.0000");
  });
});

describe("pico USD", () => {
  test("every cost survives being printed and read back", () => {
    fc.assert(fc.property(pico, (cost) => parsePicoUsd(formatPicoUsd(cost)) === cost));
  });

  test("digits beyond 1e-12 USD are rounded up, never lost", () => {
    expect(parsePicoUsd("0.0000000000001")).toBe(1n);
    expect(parsePicoUsd(1e-13)).toBe(1n);
    expect(parsePicoUsd("1.5e-6")).toBe(1_500_000n);
  });

  test("a negative, endless or enormous cost is refused", () => {
    for (const bad of ["-0.1", "NaN", "1e400", "9300000"]) expect(parsePicoUsd(bad)).toBeUndefined();
  });
});

describe("charge", () => {
  test("is the cost rounded up to 1e-4 USD: never below it, less than one unit above it, zero for zero", () => {
    expect(chargeOf(0n)).toBe(0n);
    fc.assert(
      fc.property(pico, (cost) => {
        const rounding = chargeOf(cost) * PICO_PER_CREDIT - cost;
        return rounding >= 0n && rounding < PICO_PER_CREDIT;
      }),
    );
  });

  test("ceilDiv refuses what it was not made for", () => {
    expect(() => ceilDiv(-1n, 2n)).toThrow(RangeError);
    expect(() => ceilDiv(1n, 0n)).toThrow(RangeError);
  });
});
