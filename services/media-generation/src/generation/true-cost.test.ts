// Our cost of a generation: never an estimate if the number is reported, never an invalid number of a provider.
import { create } from "@bufbuild/protobuf";
import { PriceSchema } from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import { gptImage } from "../test/fixed-catalog.ts";
import { chargeByUse, trueCost } from "./true-cost.ts";

const listPrice = 53_000_000_000n;
const order = { listPrice, meters: { images: 2, size: "1024x1024", quality: "medium" } };
const byTokens = { ...order, costPrice: gptImage.routes[0]?.cost };
const byImage = { ...order, costPrice: gptImage.price };
const tokens = { inputTokens: 50, outputTokens: 1_756, imageInputTokens: 40 };

describe("true cost", () => {
  test("of a token price is text in, image in and image out, each at its own", () => {
    expect(trueCost({ tokens }, byTokens)).toBe(10n * 5_000_000n + 40n * 8_000_000n + 1_756n * 30_000_000n);
  });

  test("is what the provider says it billed, whatever the tokens", () => {
    expect(trueCost({ tokens, billed: 7n }, byTokens)).toBe(7n);
    expect(trueCost({ billed: 0n }, byTokens)).toBe(0n);
  });

  test("of an image price needs no usage", () => {
    expect(trueCost(undefined, byImage)).toBe(2n * 53_000_000_000n);
  });

  test("of a price by area is that of the started megapixels of each image", () => {
    const rule = { unitPixels: 1_000_000n, firstPicoUsd: 30n, furtherPicoUsd: 15n, inputImagePicoUsd: 0n };
    const costPrice = create(PriceSchema, { rule: { case: "megapixel", value: rule } });
    expect(trueCost(undefined, { ...order, costPrice })).toBe(2n * (30n + 15n));
  });

  test("of a video is by its seconds", () => {
    const rule = { tiers: [{ audio: true, picoUsd: 7n }, { picoUsd: 5n }] };
    const costPrice = create(PriceSchema, { rule: { case: "second", value: rule } });
    const meters = { seconds: 4, size: "1280x720", quality: "auto" };
    expect(trueCost(undefined, { ...order, costPrice, meters })).toBe(20n);
    expect(trueCost(undefined, { ...order, costPrice, meters: { ...meters, audio: true } })).toBe(28n);
  });

  test("of a price with a bound is what was used, and the bound when nobody says", () => {
    const rule = {
      tokens: { inputPicoUsd: 5n, outputPicoUsd: 30n },
      tiers: [{ outputTokens: 1_000n }],
    };
    const costPrice = create(PriceSchema, { rule: { case: "metered", value: rule } });
    const used = { inputTokens: 10, outputTokens: 200 };
    expect(trueCost({ tokens: used }, { ...order, costPrice })).toBe(10n * 5n + 200n * 30n);
    expect(trueCost(undefined, { ...order, costPrice })).toBe(2n * 1_000n * 30n);
  });

  test("is the list price when the route has none, or its tokens are not known", () => {
    expect(trueCost({ tokens }, { ...order, costPrice: undefined })).toBe(listPrice);
    expect(trueCost(undefined, byTokens)).toBe(listPrice);
  });

  test("is the list price when the provider's number is nonsense", () => {
    expect(trueCost({ billed: -1n }, byTokens)).toBe(listPrice);
    expect(trueCost({ billed: 2n ** 63n }, byTokens)).toBe(listPrice);
  });
});

describe("the charge of a price by the token", () => {
  const rule = {
    case: "metered" as const,
    value: {
      tokens: { inputPicoUsd: 5_000_000n, outputPicoUsd: 30_000_000n },
      tiers: [{ outputTokens: 1_000n }],
    },
  };
  const price = create(PriceSchema, { version: "v", rule });
  const order = { priceVersion: "v" };
  const most = 35_000_000_000n;
  const tokens = { inputTokens: 7, outputTokens: 500 };

  test("is what the parts used, rounded up once", () => {
    expect(chargeByUse(price, order, most, [{ most, usage: { tokens } }])).toBe(151n);
    const part = { most: 35_000_000_000n, usage: { tokens } };
    expect(chargeByUse(price, order, 2n * most, [part, part])).toBe(301n);
  });

  test("is what was held when more was used, nothing was reported, or the price is another one by now", () => {
    const more = { tokens: { inputTokens: 9_000, outputTokens: 1_000 } };
    const part = { most, usage: more };
    expect(chargeByUse(price, order, most, [part])).toBe(350n);
    expect(chargeByUse(price, order, most, [part, part])).toBe(350n);
    expect(chargeByUse(price, order, most, [{ most, usage: undefined }])).toBe(350n);
    const changed = create(PriceSchema, { version: "w", rule });
    expect(chargeByUse(changed, order, most, [{ most, usage: { tokens } }])).toBe(350n);
    expect(chargeByUse(undefined, order, most, [{ most, usage: { tokens } }])).toBe(350n);
  });
});
