// Guarantees of prices at several upstreams: each bills by its own, and the dearest is never below any of them.
import { create } from "@bufbuild/protobuf";
import { TokenPriceSchema } from "@gr/proto/catalog";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { priceOfTokens } from "./price.ts";
import { dearestTokenPrice, tokenPriceAt } from "./token-price.ts";

const amount = fc.bigInt({ min: 0n, max: 1_000n });
const maybe = fc.option(amount, { nil: undefined });
const rates = fc.record({
  inputPicoUsd: amount,
  outputPicoUsd: amount,
  requestPicoUsd: amount,
  cachedInputPicoUsd: maybe,
  cacheWritePicoUsd: maybe,
  imageInputPicoUsd: maybe,
  audioInputPicoUsd: maybe,
  reasoningPicoUsd: maybe,
  imageOutputPicoUsd: maybe,
  audioOutputPicoUsd: maybe,
  toolFees: fc.constantFrom(
    [],
    [{ call: "web_search_call", picoUsd: 7n }],
    [
      { call: "file_search_call", picoUsd: 5n },
      { call: "web_search_call", picoUsd: 3n },
    ],
  ),
});
type Rates = Partial<Record<string, unknown>>;
const priceOfRates = (rates: Rates, upstreams: readonly (readonly [string, Rates])[] = []) =>
  create(TokenPriceSchema, {
    ...withoutUndefined(rates),
    upstreams: upstreams.map(([provider, price]) => ({ provider, price: withoutUndefined(price) })),
  });
const withoutUndefined = (rates: Rates) =>
  Object.fromEntries(Object.entries(rates).filter(([, value]) => value !== undefined));

const count = fc.nat({ max: 1_000 });
const meters = fc
  .record({
    cachedInputTokens: count,
    cacheWriteTokens: count,
    imageInputTokens: count,
    audioInputTokens: count,
    reasoningTokens: count,
    imageOutputTokens: count,
    audioOutputTokens: count,
    toolCalls: fc.record({ web_search_call: count, file_search_call: count }),
    otherInput: count,
    otherOutput: count,
  })
  .map(({ otherInput, otherOutput, ...parts }) => ({
    ...parts,
    inputTokens:
      otherInput +
      parts.cachedInputTokens +
      parts.cacheWriteTokens +
      parts.imageInputTokens +
      parts.audioInputTokens,
    outputTokens: otherOutput + parts.reasoningTokens + parts.imageOutputTokens + parts.audioOutputTokens,
  }));

test("an upstream bills by its own price, and all others by the model's", () => {
  const price = priceOfRates({ inputPicoUsd: 1n }, [["second", { inputPicoUsd: 2n }]]);
  expect(["first", "second", "third"].map((name) => tokenPriceAt(price, name).inputPicoUsd)).toEqual([
    1n,
    2n,
    1n,
  ]);
});

test("no request costs more at any upstream than by the dearest price", () => {
  fc.assert(
    fc.property(rates, rates, rates, meters, (one, two, three, used) => {
      const price = priceOfRates(one, [
        ["second", two],
        ["third", three],
      ]);
      const providers = ["first", "second", "third"];
      const most = priceOfTokens(dearestTokenPrice(price, providers), used);
      for (const provider of providers) {
        expect(priceOfTokens(tokenPriceAt(price, provider), used)).toBeLessThanOrEqual(most);
      }
    }),
  );
});

test("upstreams that are not asked do not count", () => {
  const price = priceOfRates({ inputPicoUsd: 1n }, [["second", { inputPicoUsd: 2n }]]);
  expect(dearestTokenPrice(price, ["first"]).inputPicoUsd).toBe(1n);
  expect(dearestTokenPrice(price, ["second"]).inputPicoUsd).toBe(2n);
});
