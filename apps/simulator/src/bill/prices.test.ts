// Exactness of the printed amounts.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { picoOf } from "../test-client.ts";
import { formatUsd } from "./prices.ts";

describe("an amount in USD", () => {
  test("prints every digit and nothing else", () => {
    expect(formatUsd(0n)).toBe("0");
    expect(formatUsd(1n)).toBe("0.000000000001");
    expect(formatUsd(500_000n)).toBe("0.0000005");
    expect(formatUsd(10_000_000_000n)).toBe("0.01");
    expect(formatUsd(1_000_000_000_000n)).toBe("1");
    expect(formatUsd(120_000_000_000_000n)).toBe("120");
    expect(formatUsd(12_345_678_901_234_567n)).toBe("12345.678901234567");
  });

  test("is a JSON number without exponent that reads back to the same integer", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), (amount) => {
        const printed = formatUsd(amount);
        expect(picoOf(printed)).toBe(amount);
        expect(typeof JSON.parse(printed)).toBe("number");
        expect(printed).not.toMatch(/\.\d*0$/);
      }),
    );
  });
});
