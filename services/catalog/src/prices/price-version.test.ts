// Guarantees of price versions: a version depends on the rule alone.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { versioned } from "./price-version.ts";

const amounts = fc.bigInt({ min: 0n, max: 10n ** 16n });
const tokenRule = fc.record({
  inputPicoUsd: amounts,
  outputPicoUsd: amounts,
  requestPicoUsd: amounts,
  cachedInputPicoUsd: fc.option(amounts, { nil: undefined }),
});
type TokenRule = typeof tokenRule extends fc.Arbitrary<infer Rule> ? Rule : never;

const versionOf = ({ cachedInputPicoUsd, ...value }: TokenRule) =>
  versioned({
    case: "token",
    value: cachedInputPicoUsd === undefined ? value : { ...value, cachedInputPicoUsd },
  }).version;

describe("the version of a price", () => {
  test("is the same for the same rule and another for any other", () => {
    fc.assert(
      fc.property(tokenRule, tokenRule, (one, other) => {
        expect(versionOf({ ...one })).toBe(versionOf(one));
        const same = JSON.stringify(one, text) === JSON.stringify(other, text);
        expect(versionOf(one) === versionOf(other)).toBe(same);
      }),
    );
  });

  test("tells a free meter from one without a price of its own", () => {
    const rule = { inputPicoUsd: 1n, outputPicoUsd: 1n, requestPicoUsd: 0n };
    expect(versionOf({ ...rule, cachedInputPicoUsd: 0n })).not.toBe(
      versionOf({ ...rule, cachedInputPicoUsd: undefined }),
    );
  });

  test("stays what it is from release to release, because charges name it", () => {
    const rule = { inputPicoUsd: 500_000n, outputPicoUsd: 1_500_000n, requestPicoUsd: 0n };
    expect(versionOf({ ...rule, cachedInputPicoUsd: undefined })).toMatchInlineSnapshot(`"06a3f2990ba339ef"`);
  });
});

function text(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
