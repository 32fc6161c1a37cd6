// A request gets the rates of its tier and of the length of its input, and a hold covers all that it can get.
import { create } from "@bufbuild/protobuf";
import { PriceAtUpstreamSchema, type TokenPrice, TokenPriceSchema } from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import { priceOfTokens } from "./price.ts";
import { ratesAt } from "./price-cases.ts";
import { dearestRates, dearestTokenPrice } from "./token-price.ts";

const rates = (input: bigint, output: bigint) =>
  create(TokenPriceSchema, { inputPicoUsd: input, outputPicoUsd: output });
const price = create(TokenPriceSchema, {
  inputPicoUsd: 5n,
  outputPicoUsd: 30n,
  cases: [
    { tier: "", aboveInputTokens: 100n, price: rates(10n, 45n) },
    { tier: "priority", price: rates(12n, 75n) },
    { tier: "flex", price: rates(2n, 15n) },
    { tier: "flex", aboveInputTokens: 100n, price: rates(5n, 22n) },
  ],
});
const used = (tier: string, inputTokens: number) =>
  priceOfTokens(price, { tier, inputTokens, outputTokens: 10 });

describe("the rates of a request", () => {
  test("are those of its tier", () => {
    expect(used("", 100)).toBe(800n);
    expect(used("default", 100)).toBe(800n);
    expect(used("priority", 100)).toBe(1_950n);
    expect(used("fast", 100)).toBe(1_950n);
    expect(used("flex", 100)).toBe(350n);
  });

  test("are those of a long input for all of its tokens, output included", () => {
    expect(used("", 101)).toBe(1_460n);
    expect(used("flex", 101)).toBe(725n);
  });

  test("are the standard ones where an answer names a tier without a price", () => {
    expect(used("scale", 100)).toBe(800n);
  });

  test("are missing for a tier without a price, and for a long input that the tier has no price for", () => {
    const at = (tier: string, inputTokens: bigint) => ratesAt(price, { tier, inputTokens });
    expect(at("priority", 100n)?.inputPicoUsd).toBe(12n);
    expect(at("priority", 101n)).toBeUndefined();
    expect(at("ultrafast", 1n)).toBeUndefined();
  });
});

describe("the dearest rates", () => {
  test("cover the standard tier, which an upstream may fall back to, and each step below the bound", () => {
    const most = (tier: string, inputTokens: bigint) => dearestRates(price, { tier, inputTokens });
    expect(most("", 100n)).toMatchObject({ inputPicoUsd: 5n, outputPicoUsd: 30n });
    expect(most("", 101n)).toMatchObject({ inputPicoUsd: 10n, outputPicoUsd: 45n });
    expect(most("flex", 100n)).toMatchObject({ inputPicoUsd: 5n, outputPicoUsd: 30n });
    expect(most("priority", 100n)).toMatchObject({ inputPicoUsd: 12n, outputPicoUsd: 75n });
  });

  test("cover every upstream with its own cases", () => {
    const there: TokenPrice = create(TokenPriceSchema, {
      inputPicoUsd: 1n,
      outputPicoUsd: 1n,
      cases: [{ tier: "priority", price: rates(2n, 900n) }],
    });
    const other = create(PriceAtUpstreamSchema, { provider: "other", price: there });
    const both = create(TokenPriceSchema, { ...price, upstreams: [other] });
    const most = dearestTokenPrice(both, ["first", "other"], { tier: "priority", inputTokens: 1n });
    expect(most).toMatchObject({ inputPicoUsd: 12n, outputPicoUsd: 900n });
  });
});

test("cache writes that are kept longer have their own price", () => {
  const cached = create(TokenPriceSchema, {
    inputPicoUsd: 100n,
    cacheWritePicoUsd: 125n,
    longCacheWritePicoUsd: 200n,
    outputPicoUsd: 1n,
  });
  const meters = { inputTokens: 30, cacheWriteTokens: 20, longCacheWriteTokens: 5, outputTokens: 0 };
  expect(priceOfTokens(cached, meters)).toBe(10n * 100n + 15n * 125n + 5n * 200n);
});

test("each call of a tool is billed", () => {
  const fees = create(TokenPriceSchema, { toolFees: [{ call: "web_search_call", picoUsd: 7n }] });
  const meters = { inputTokens: 0, outputTokens: 0, toolCalls: { web_search_call: 3, other_call: 9 } };
  expect(priceOfTokens(fees, meters)).toBe(21n);
});

test("the dearest fee of a tool covers every upstream", () => {
  const fee = (picoUsd: bigint) =>
    create(TokenPriceSchema, { toolFees: [{ call: "web_search_call", picoUsd }] });
  const other = create(PriceAtUpstreamSchema, { provider: "other", price: fee(9n) });
  const both = create(TokenPriceSchema, { ...fee(7n), upstreams: [other] });
  expect(dearestTokenPrice(both, ["first", "other"]).toolFees).toMatchObject([{ picoUsd: 9n }]);
  expect(dearestTokenPrice(both, ["other", "first"]).toolFees).toMatchObject([{ picoUsd: 9n }]);
});
