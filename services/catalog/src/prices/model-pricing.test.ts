// Guarantees of prices in the public API: exact decimals, the price of the default request, and the free models.
import { create } from "@bufbuild/protobuf";
import { priceOfTokens } from "@gr/models";
import { parseDecimal } from "@gr/money";
import { ModelKind, ModelSchema, PriceSchema } from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { isFree, modelPricing, pricingOf } from "./model-pricing.ts";
import { versioned } from "./price-version.ts";

type Rule = Parameters<typeof versioned>[0];

const model = (rule: Rule, kind: ModelKind = ModelKind.IMAGE) =>
  create(ModelSchema, {
    id: "a/b",
    kind,
    defaultSize: "1024x1024",
    defaultQuality: "medium",
    defaultSeconds: kind === ModelKind.VIDEO ? 5 : 0,
    price: versioned(rule),
  });

const pico = fc.bigInt({ min: 0n, max: 2n ** 50n });

describe("pricing", () => {
  test("of images has its tiers and the price of the default request", () => {
    const rule: Rule = {
      case: "image",
      value: {
        tiers: [
          { quality: "low", sizes: ["1024x1024"], picoUsd: 6_000_000_000n },
          { maxPixels: 2_000_000n, picoUsd: 53_000_000_000n },
        ],
        inputImagePicoUsd: 2_000_000_000n,
        freeInputImages: 1,
      },
    };
    const accepted = {
      capabilities: ["text-to-image"],
      sizes: ["auto", "1024x1024"],
      qualities: ["low", "medium"],
    };
    expect(pricingOf(Object.assign(model(rule), accepted))).toEqual({
      unit: "image",
      per: "image",
      lowest: "0.006",
      typical: "0.053",
      highest: "0.053",
      currency: "USD",
      version: versioned(rule).version,
      default_request: "0.053",
      tiers: [
        { quality: "low", sizes: ["1024x1024"], max_pixels: null, with_images: null, price: "0.006" },
        { quality: null, sizes: null, max_pixels: 2_000_000, with_images: null, price: "0.053" },
      ],
      input_image: "0.002",
      free_input_images: 1,
      input_images: { per: "image", unit_pixels: null, max_pixels: null },
    });
  });

  test("by the token has the bound, and a typical price without its margins", () => {
    const tokens = { inputPicoUsd: 5_000_000n, outputPicoUsd: 30_000_000n };
    const value = {
      tokens,
      tiers: [{ outputTokens: 1_000n }],
      otherInputTokens: 64n,
      otherOutputTokens: 500n,
      partialImageTokens: 100n,
    };
    const supportedParameters = ["partial_images"];
    const shown = pricingOf(Object.assign(model({ case: "metered", value }), { supportedParameters }));
    expect(modelPricing.parse(shown)).toEqual(shown);
    // 1,000 tokens of the image, and 100 of an ordinary prompt. Partial images have a price of their own.
    expect(shown).toMatchObject({
      ...{ unit: "metered", per: "image", typical: "0.0305", input: "0.000005", output: "0.00003" },
      highest: "0.0305",
      most_tokens: { tiers: [{ tokens: 1_000 }], other_input: 64, other_output: 500, partial_image: 100 },
    });
  });

  test("as billed shows what it is at most", () => {
    const most = create(PriceSchema, {
      rule: { case: "image", value: { tiers: [{ picoUsd: 10_000_000_000n }] } },
    });
    const shown = pricingOf(model({ case: "reported", value: { most } }));
    expect(modelPricing.parse(shown)).toEqual(shown);
    expect(shown).toMatchObject({ unit: "reported", typical: "0.01", most: { unit: "image" } });
  });

  test("of videos is that of the default length", () => {
    const second: Rule = { case: "second", value: { tiers: [{ picoUsd: 50_000_000_000n }] } };
    expect(pricingOf(model(second, ModelKind.VIDEO))).toMatchObject({
      unit: "second",
      default_request: "0.25",
    });
    const clip: Rule = { case: "clip", value: { tiers: [{ seconds: [5], picoUsd: 280_000_000_000n }] } };
    expect(pricingOf(model(clip, ModelKind.VIDEO))).toMatchObject({
      unit: "clip",
      default_request: "0.28",
      tiers: [{ quality: null, sizes: null, seconds: [5], audio: null, with_images: null, price: "0.28" }],
    });
  });

  test("by area is that of the default size", () => {
    const value = { unitPixels: 1_000_000n, firstPicoUsd: 30_000_000_000n, furtherPicoUsd: 15_000_000_000n };
    expect(pricingOf(model({ case: "megapixel", value }))).toMatchObject({
      unit: "megapixel",
      default_request: "0.045",
      unit_pixels: 1_000_000,
      first: "0.03",
      further: "0.015",
    });
  });

  test("of tokens shows each meter at the price that it is billed at", () => {
    fc.assert(
      fc.property(pico, pico, fc.option(pico, { nil: undefined }), (input, output, cached) => {
        const value = {
          inputPicoUsd: input,
          outputPicoUsd: output,
          ...(cached === undefined ? {} : { cachedInputPicoUsd: cached }),
        };
        const priced = model({ case: "token", value }, ModelKind.TEXT);
        const shown = pricingOf(priced);
        if (shown.unit !== "token" || priced.price?.rule.case !== "token") throw new Error("not tokens");
        const billed = priceOfTokens(priced.price.rule.value, {
          inputTokens: 1,
          cachedInputTokens: 1,
          outputTokens: 0,
        });
        expect(parseDecimal(shown.cached_input, 12, "exact")).toBe(billed);
        expect(parseDecimal(shown.input, 12, "exact")).toBe(input);
        expect(shown.reasoning).toBe(shown.output);
      }),
    );
  });

  test("always has the documented shape", () => {
    const rules: [Rule, ModelKind][] = [
      [{ case: "image", value: { tiers: [{ picoUsd: 1n }] } }, ModelKind.IMAGE],
      [{ case: "megapixel", value: { unitPixels: 1n } }, ModelKind.IMAGE],
      [{ case: "second", value: { tiers: [{ picoUsd: 1n }] } }, ModelKind.VIDEO],
      [{ case: "clip", value: { tiers: [{ picoUsd: 1n }] } }, ModelKind.VIDEO],
      [{ case: "token", value: {} }, ModelKind.TEXT],
    ];
    for (const [rule, kind] of rules) {
      const shown = pricingOf(model(rule, kind));
      expect(modelPricing.parse(shown)).toEqual(shown);
    }
  });
});

describe("a model is free", () => {
  test.each<[string, Rule, boolean]>([
    ["when every tier is", { case: "image", value: { tiers: [{ picoUsd: 0n }, { picoUsd: 0n }] } }, true],
    [
      "not when one tier costs",
      { case: "image", value: { tiers: [{ picoUsd: 0n }, { picoUsd: 1n }] } },
      false,
    ],
    [
      "not when input images cost",
      { case: "image", value: { tiers: [{ picoUsd: 0n }], inputImagePicoUsd: 1n } },
      false,
    ],
    ["when all tokens are", { case: "token", value: {} }, true],
    ["not when a request costs", { case: "token", value: { requestPicoUsd: 1n } }, false],
    ["not when reasoning costs", { case: "token", value: { reasoningPicoUsd: 1n } }, false],
    ["not when more area costs", { case: "megapixel", value: { unitPixels: 1n, furtherPicoUsd: 1n } }, false],
  ])("%s", (_when, rule, free) => {
    expect(isFree(versioned(rule))).toBe(free);
  });
});
