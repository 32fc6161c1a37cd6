// Guarantees of the price function: exact, additive, never below the parts, and undefined where there is no price.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  ClipPriceSchema,
  ImagePriceSchema,
  MegapixelPriceSchema,
  PriceSchema,
  SecondPriceSchema,
  TokenPriceSchema,
} from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  dependsOnInputPixels,
  priceOf,
  priceOfClip,
  priceOfImageRequest,
  priceOfImages,
  priceOfMegapixels,
  priceOfSeconds,
  priceOfTokens,
  priceOfUse,
  priceOfVideoRequest,
} from "./price.ts";

const pico = fc.bigInt({ min: 0n, max: 2n ** 62n });
const count = fc.nat({ max: 2 ** 40 });
const notCounts = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53];

describe("images", () => {
  const price = create(ImagePriceSchema, {
    tiers: [
      { quality: "low", sizes: ["1024x1024"], picoUsd: 1n },
      { quality: "low", picoUsd: 2n },
      { sizes: ["512x512"], picoUsd: 3n },
      { quality: "high", maxPixels: 1_000_000n, picoUsd: 4n },
    ],
  });
  const of = (quality: string, size: string) => priceOfImages(price, { images: 1, quality, size });

  test("cost what the first tier says whose conditions all hold", () => {
    expect(of("low", "1024x1024")).toBe(1n);
    expect(of("low", "512x512")).toBe(2n);
    expect(of("medium", "512x512")).toBe(3n);
    expect(of("high", "512x512")).toBe(3n);
    expect(of("high", "1000x1000")).toBe(4n);
  });

  test("have no price where no tier holds", () => {
    expect(of("medium", "1024x1024")).toBeUndefined();
    expect(of("high", "1001x1000")).toBeUndefined();
    expect(of("high", "auto")).toBeUndefined();
    expect(
      priceOfImages(create(ImagePriceSchema, {}), { images: 1, quality: "low", size: "auto" }),
    ).toBeUndefined();
  });

  test("cost their number times one, input images beyond the free ones included", () => {
    fc.assert(
      fc.property(
        pico,
        pico,
        fc.nat(20),
        fc.nat(16),
        fc.nat(16),
        (each, input, images, inputImages, free) => {
          const rule = { tiers: [{ picoUsd: each }], inputImagePicoUsd: input, freeInputImages: free };
          const paid = BigInt(Math.max(0, inputImages - free));
          const meters = { images, inputImages, quality: "auto", size: "auto" };
          expect(priceOfImages(create(ImagePriceSchema, rule), meters)).toBe(
            (each + input * paid) * BigInt(images),
          );
        },
      ),
    );
  });

  test.each(notCounts)("cannot be %d many", (images) => {
    const one = create(ImagePriceSchema, { tiers: [{ picoUsd: 1n }] });
    expect(() => priceOfImages(one, { images, quality: "auto", size: "auto" })).toThrow(RangeError);
  });
});

describe("area", () => {
  const price = create(MegapixelPriceSchema, {
    unitPixels: 1_000_000n,
    firstPicoUsd: 30n,
    furtherPicoUsd: 15n,
    inputImagePicoUsd: 1n,
  });
  const of = (size: string, images = 1, inputImages = 0) =>
    priceOfMegapixels(price, { images, quality: "auto", size, inputImages });

  test("is counted in started units, the first one priced apart", () => {
    expect(of("1x1")).toBe(30n);
    expect(of("1000x1000")).toBe(30n);
    expect(of("1001x1000")).toBe(45n);
    expect(of("2000x1000", 2, 3)).toBe(96n);
  });

  test("has no price when the size or the unit is not known", () => {
    expect(of("auto")).toBeUndefined();
    const unitless = create(MegapixelPriceSchema, { firstPicoUsd: 1n });
    expect(priceOfMegapixels(unitless, { images: 1, quality: "auto", size: "1x1" })).toBeUndefined();
  });
});

describe("videos", () => {
  test("by the second cost length times the first tier that holds, and their input images once", () => {
    const price = create(SecondPriceSchema, {
      tiers: [
        { quality: "high", picoUsd: 9n },
        { sizes: ["1280x720"], picoUsd: 5n },
      ],
      inputImagePicoUsd: 2n,
    });
    const of = (quality: string, size: string) =>
      priceOfSeconds(price, { seconds: 8, quality, size, inputImages: 1 });
    expect(of("high", "1280x720")).toBe(74n);
    expect(of("low", "1280x720")).toBe(42n);
    expect(of("low", "1920x1080")).toBeUndefined();
  });

  test("by the second cost what their sound costs, and silent ones do not pay for it", () => {
    const price = create(SecondPriceSchema, {
      tiers: [
        { sizes: ["1280x720"], audio: false, picoUsd: 84n },
        { sizes: ["1280x720"], audio: true, picoUsd: 126n },
        { picoUsd: 420n },
      ],
    });
    const of = (size: string, audio?: boolean) =>
      priceOfSeconds(price, { seconds: 5, quality: "auto", size, ...(audio === undefined ? {} : { audio }) });
    expect([of("1280x720"), of("1280x720", false), of("1280x720", true)]).toEqual([420n, 420n, 630n]);
    expect([of("3840x2160"), of("3840x2160", true)]).toEqual([2_100n, 2_100n]);
  });

  test("by the clip cost what the tier of their length says", () => {
    const price = create(ClipPriceSchema, {
      tiers: [
        { seconds: [5, 6], picoUsd: 28n },
        { quality: "high", picoUsd: 99n },
      ],
    });
    const of = (seconds: number, quality: string) => priceOfClip(price, { seconds, quality, size: "auto" });
    expect(of(6, "high")).toBe(28n);
    expect(of(10, "high")).toBe(99n);
    expect(of(10, "low")).toBeUndefined();
  });

  test.each(notCounts)("cannot last %d seconds", (seconds) => {
    const price = create(SecondPriceSchema, { tiers: [{ picoUsd: 1n }] });
    expect(() => priceOfSeconds(price, { seconds, quality: "auto", size: "auto" })).toThrow(RangeError);
  });
});

const side = fc.integer({ min: 1, max: 8_192 });
const sizeOf = (width: number, height: number) => `${width}x${height}`;

describe("more never costs less", () => {
  test("in number, by every rule for images", () => {
    fc.assert(
      fc.property(
        pico,
        pico,
        pico,
        fc.nat(40),
        fc.nat(16),
        side,
        side,
        (first, further, input, images, inputs, w, h) => {
          const rules = [
            { case: "image" as const, value: { tiers: [{ picoUsd: first }], inputImagePicoUsd: input } },
            {
              case: "megapixel" as const,
              value: {
                unitPixels: 1_000_000n,
                firstPicoUsd: first,
                furtherPicoUsd: further,
                inputImagePicoUsd: input,
              },
            },
          ];
          for (const rule of rules) {
            const price = create(PriceSchema, { rule });
            const of = (many: number, with_: number) =>
              priceOfImageRequest(price, {
                images: many,
                quality: "auto",
                size: sizeOf(w, h),
                inputImages: with_,
              }) ?? -1n;
            expect(of(images + 1, inputs) - of(images, inputs)).toBe(of(1, inputs));
            expect(of(images, inputs + 1)).toBeGreaterThanOrEqual(of(images, inputs));
          }
        },
      ),
    );
  });

  test("in pixels, by area: exactly what rational arithmetic makes of it", () => {
    fc.assert(
      fc.property(
        pico,
        pico,
        fc.integer({ min: 1, max: 5_000_000 }),
        side,
        side,
        fc.nat(500),
        (first, further, unit, w, h, more) => {
          const price = create(MegapixelPriceSchema, {
            unitPixels: BigInt(unit),
            firstPicoUsd: first,
            furtherPicoUsd: further,
          });
          const of = (width: number) =>
            priceOfMegapixels(price, { images: 1, quality: "auto", size: sizeOf(width, h) }) ?? -1n;
          // Units by counting, not by rounding: the smallest number of them that covers the area.
          let units = (w * h - ((w * h) % unit)) / unit;
          if (units * unit < w * h) units += 1;
          expect(of(w)).toBe(first + further * BigInt(units - 1));
          expect(of(w + more)).toBeGreaterThanOrEqual(of(w));
        },
      ),
    );
  });

  test("in seconds, by the second: each one adds the same", () => {
    fc.assert(
      fc.property(
        pico,
        pico,
        fc.nat(3_600),
        fc.nat(16),
        fc.boolean(),
        (each, input, seconds, inputImages, audio) => {
          const price = create(SecondPriceSchema, { tiers: [{ picoUsd: each }], inputImagePicoUsd: input });
          const of = (length: number) =>
            priceOfSeconds(price, {
              seconds: length,
              quality: "auto",
              size: "1280x720",
              inputImages,
              audio,
            }) ?? -1n;
          expect(of(seconds + 1) - of(seconds)).toBe(each);
          expect(of(0)).toBe(input * BigInt(inputImages));
        },
      ),
    );
  });

  test("a clip costs the tier that names its length, whatever the other tiers say", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 10 }),
        fc.array(pico, { minLength: 10, maxLength: 10 }),
        (lengths, amounts) => {
          const tiers = lengths.map((seconds, i) => ({ seconds: [seconds], picoUsd: amounts[i] ?? 0n }));
          const price = create(ClipPriceSchema, { tiers });
          for (let seconds = 1; seconds <= 60; seconds += 1) {
            const expected = tiers.find((tier) => tier.seconds[0] === seconds)?.picoUsd;
            expect(priceOfClip(price, { seconds, quality: "auto", size: "auto" })).toBe(expected);
          }
        },
      ),
    );
  });
});

describe("input images", () => {
  const asked = { quality: "auto", size: "1024x1024" };
  const rule = (more: object) => ({ tiers: [{ picoUsd: 100n }], inputImagePicoUsd: 7n, ...more });
  const ofImages = (more: object, meters: object) =>
    priceOfImages(create(ImagePriceSchema, rule(more)), { images: 3, ...asked, inputImages: 4, ...meters });

  test("are added to each image made, or once a request, beyond the free ones", () => {
    expect(ofImages({}, {})).toBe(300n + 3n * 28n);
    expect(ofImages({ inputs: { once: true } }, {})).toBe(300n + 28n);
    expect(ofImages({ inputs: { once: true }, freeInputImages: 3 }, {})).toBe(300n + 7n);
    expect(ofImages({ freeInputImages: 9 }, {})).toBe(300n);
  });

  test("count by their area, and those of unknown size as the largest", () => {
    const inputs = { once: true, unitPixels: 1_000n, maxPixels: 4_000n };
    expect(ofImages({ inputs }, { inputPixels: [1, 1_000, 1_001, 99_999] })).toBe(
      300n + 7n * (1n + 1n + 2n + 4n),
    );
    expect(ofImages({ inputs }, { inputPixels: [1] })).toBe(300n + 7n * (1n + 3n * 4n));
  });

  test("matter with their pixels only to prices that count them by area", () => {
    const goes = (rule: NonNullable<MessageInitShape<typeof PriceSchema>["rule"]>) =>
      dependsOnInputPixels(create(PriceSchema, { rule }));
    const inputs = { unitPixels: 1_000n };
    for (const kind of ["image", "megapixel", "second", "clip"] as const) {
      expect([
        goes({ case: kind, value: { inputs } }),
        goes({ case: kind, value: { inputs: { once: true } } }),
      ]).toEqual([true, false]);
      const bounded = (value: object) =>
        ({ case: "reported", value: { most: { rule: { case: kind, value } } } }) as const;
      expect([goes(bounded({ inputs })), goes(bounded({}))]).toEqual([true, false]);
    }
    expect([goes({ case: "metered", value: {} }), goes({ case: "token", value: {} })]).toEqual([
      false,
      false,
    ]);
    expect(dependsOnInputPixels(undefined)).toBe(false);
  });

  test("are free, and cost, on every basis", () => {
    const paid = { inputImagePicoUsd: 7n, freeInputImages: 1 };
    const meters = { seconds: 5, ...asked, inputImages: 3 };
    const tiers = [{ picoUsd: 100n }];
    expect(priceOfSeconds(create(SecondPriceSchema, { tiers, ...paid }), meters)).toBe(514n);
    expect(priceOfClip(create(ClipPriceSchema, { tiers, ...paid }), meters)).toBe(114n);
    const area = create(MegapixelPriceSchema, { unitPixels: 2n ** 20n, firstPicoUsd: 100n, ...paid });
    expect(priceOfMegapixels(area, { images: 2, ...asked, inputImages: 3 })).toBe(228n);
  });

  test("choose the tier that is for requests with them, or without", () => {
    const tiers = [
      { inputImages: true, picoUsd: 1n },
      { inputImages: false, picoUsd: 2n },
    ];
    const price = create(ImagePriceSchema, { tiers });
    expect(priceOfImages(price, { images: 1, ...asked, inputImages: 2 })).toBe(1n);
    expect(priceOfImages(price, { images: 1, ...asked })).toBe(2n);
  });
});

describe("a price by use", () => {
  const tokens = { inputPicoUsd: 5n, imageInputPicoUsd: 8n, outputPicoUsd: 30n };
  const tiers = [{ quality: "low", maxPixels: 100n, outputTokens: 10n }, { outputTokens: 20n }];
  const bounds = {
    ...{ inputImageTokens: 3n, otherInputTokens: 2n, otherOutputTokens: 1n },
    partialImageTokens: 7n,
  };
  const price = create(PriceSchema, { rule: { case: "metered", value: { tokens, tiers, ...bounds } } });
  const most = (meters: object) =>
    priceOfImageRequest(price, { images: 1, quality: "low", size: "10x10", ...meters });

  test("is bound by the prompt's bytes, the input images and the tier of what is made, for each image made", () => {
    const one = (4n + 2n) * 5n + 2n * 3n * 8n + 10n * 30n + 30n;
    expect(most({ promptBytes: 4, inputImages: 2 })).toBe(one);
    expect(most({ promptBytes: 4, inputImages: 2, images: 3 })).toBe(3n * one);
    expect(most({ size: "11x10" })).toBe(2n * 5n + 20n * 30n + 30n);
    expect(most({ promptBytes: 4, inputImages: 2, partialImages: 3 })).toBe(one + 3n * 7n * 30n);
    expect(priceOfVideoRequest(price, { seconds: 4, quality: "low", size: "10x10" })).toBe(
      10n + 40n * 30n + 30n,
    );
  });

  test("charges what was reported, and never more than was held", () => {
    expect(priceOfUse(price, 1_000n, { tokens: { inputTokens: 3, outputTokens: 10 } })).toBe(315n);
    expect(priceOfUse(price, 300n, { tokens: { inputTokens: 3, outputTokens: 10 } })).toBe(300n);
    expect(priceOfUse(price, 1_000n, { billed: 400n })).toBe(400n);
    expect(priceOfUse(price, 1_000n, {})).toBe(1_000n);
    const reported = create(PriceSchema, {
      rule: {
        case: "reported",
        value: { most: { rule: { case: "image", value: { tiers: [{ picoUsd: 50n }] } } } },
      },
    });
    expect(priceOfImageRequest(reported, { images: 2, quality: "auto", size: "auto" })).toBe(100n);
    expect([40n, 140n, -1n].map((billed) => priceOfUse(reported, 100n, { billed }))).toEqual([
      40n,
      100n,
      100n,
    ]);
  });

  test("of any other rule is what was quoted, whatever is reported", () => {
    const fixed = create(PriceSchema, { rule: { case: "image", value: { tiers: [{ picoUsd: 9n }] } } });
    expect(priceOfUse(fixed, 9n, { billed: 1n, tokens: { inputTokens: 0, outputTokens: 0 } })).toBe(9n);
    expect(priceOf({ price: fixed }, { images: 1, quality: "auto", size: "auto" })).toEqual({
      most: 9n,
      isExact: true,
    });
    expect(priceOf({ price }, { images: 1, quality: "low", size: "10x10" })?.isExact).toBe(false);
  });
});

test("a request is priced by the rule of its kind and by no other", () => {
  const image = create(PriceSchema, { rule: { case: "image", value: { tiers: [{ picoUsd: 1n }] } } });
  const area = create(PriceSchema, {
    rule: { case: "megapixel", value: { unitPixels: 1n, firstPicoUsd: 2n } },
  });
  const second = create(PriceSchema, { rule: { case: "second", value: { tiers: [{ picoUsd: 3n }] } } });
  const clip = create(PriceSchema, { rule: { case: "clip", value: { tiers: [{ picoUsd: 4n }] } } });
  const token = create(PriceSchema, { rule: { case: "token", value: { inputPicoUsd: 5n } } });
  const asked = { quality: "auto", size: "1x1" };
  const prices = [image, area, second, clip, token, create(PriceSchema, {})];
  expect(prices.map((price) => priceOfImageRequest(price, { images: 1, ...asked }))).toEqual([
    1n,
    2n,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(prices.map((price) => priceOfVideoRequest(price, { seconds: 1, ...asked }))).toEqual([
    undefined,
    undefined,
    3n,
    4n,
    undefined,
    undefined,
  ]);
});

describe("tokens", () => {
  const rule = fc.record({
    inputPicoUsd: pico,
    outputPicoUsd: pico,
    requestPicoUsd: pico,
    cachedInputPicoUsd: pico,
    cacheWritePicoUsd: pico,
    imageInputPicoUsd: pico,
    audioInputPicoUsd: pico,
    reasoningPicoUsd: pico,
    imageOutputPicoUsd: pico,
  });
  const parts = fc.record({
    plain: count,
    cached: count,
    written: count,
    image: count,
    audio: count,
    answer: count,
    reasoning: count,
    drawn: count,
  });
  const metersOf = (used: typeof parts extends fc.Arbitrary<infer Parts> ? Parts : never) => ({
    inputTokens: used.plain + used.cached + used.written + used.image + used.audio,
    outputTokens: used.answer + used.reasoning + used.drawn,
    cachedInputTokens: used.cached,
    cacheWriteTokens: used.written,
    imageInputTokens: used.image,
    audioInputTokens: used.audio,
    reasoningTokens: used.reasoning,
    imageOutputTokens: used.drawn,
  });

  test("cost the sum of their meters, each at its own price, exactly", () => {
    fc.assert(
      fc.property(rule, parts, (price, used) => {
        const expected =
          BigInt(used.plain) * price.inputPicoUsd +
          BigInt(used.cached) * price.cachedInputPicoUsd +
          BigInt(used.written) * price.cacheWritePicoUsd +
          BigInt(used.image) * price.imageInputPicoUsd +
          BigInt(used.audio) * price.audioInputPicoUsd +
          BigInt(used.answer) * price.outputPicoUsd +
          BigInt(used.reasoning) * price.reasoningPicoUsd +
          BigInt(used.drawn) * price.imageOutputPicoUsd +
          price.requestPicoUsd;
        expect(priceOfTokens(create(TokenPriceSchema, price), metersOf(used))).toBe(expected);
      }),
    );
  });

  test("of a meter without a price of its own cost what their parent costs", () => {
    fc.assert(
      fc.property(pico, pico, parts, (inputPicoUsd, outputPicoUsd, used) => {
        const price = create(TokenPriceSchema, { inputPicoUsd, outputPicoUsd });
        const { inputTokens, outputTokens } = metersOf(used);
        expect(priceOfTokens(price, metersOf(used))).toBe(
          priceOfTokens(price, { inputTokens, outputTokens }),
        );
      }),
    );
  });

  test("are never billed below their parts, when the whole was miscounted", () => {
    const price = create(TokenPriceSchema, { inputPicoUsd: 10n, outputPicoUsd: 10n, cachedInputPicoUsd: 1n });
    const meters = { inputTokens: 5, cachedInputTokens: 8, outputTokens: 3, reasoningTokens: 4 };
    expect(priceOfTokens(price, meters)).toBe(8n + 40n);
  });

  test("cost never less when there are more of them", () => {
    fc.assert(
      fc.property(rule, parts, fc.nat(1_000), (price, used, more) => {
        const exact = create(TokenPriceSchema, price);
        const before = priceOfTokens(exact, metersOf(used));
        const after = priceOfTokens(
          exact,
          metersOf({ ...used, plain: used.plain + more, answer: used.answer + more }),
        );
        expect(after).toBeGreaterThanOrEqual(before);
      }),
    );
  });

  test("that are free cost nothing", () => {
    expect(priceOfTokens(create(TokenPriceSchema, {}), { inputTokens: 10 ** 9, outputTokens: 10 ** 9 })).toBe(
      0n,
    );
  });

  test.each(notCounts)("cannot be %d many", (tokens) => {
    const price = create(TokenPriceSchema, { inputPicoUsd: 1n });
    expect(() => priceOfTokens(price, { inputTokens: tokens, outputTokens: 0 })).toThrow(RangeError);
    expect(() => priceOfTokens(price, { inputTokens: 0, outputTokens: 0, reasoningTokens: tokens })).toThrow(
      RangeError,
    );
  });
});
