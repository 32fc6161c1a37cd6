// SeedPrice is a price in the format of the seed files: decimal strings in USD with source and date, converted to
// rules of the contract. An amount that is not exact in 1e-12 USD is refused and never rounded.
import { create } from "@bufbuild/protobuf";
import { type PicoUsd, parseDecimal } from "@gr/money";
import { type Price, PriceSchema } from "@gr/proto/catalog";
import { z } from "zod";
import { type PriceRule, versioned } from "../prices/price-version.ts";

const PICO_DIGITS = 12;
/** 1e-12 USD a token is 1e-6 USD a million tokens. */
const PER_MILLION_DIGITS = 6;
/** No unit costs more, so a larger amount is a typing error. Products with it still fit 64 bits. */
const MOST_USD = 10_000n * 10n ** 12n;

export const sizeText = z
  .string()
  .regex(/^[1-9]\d{0,4}x[1-9]\d{0,4}$/, "must be <WIDTH>x<HEIGHT>, for example 1024x1024");

const amount = (digits: number) =>
  z.string({ error: "must be a decimal string" }).transform((text, context): PicoUsd => {
    const pico = parseDecimal(text, digits, "exact");
    if (pico !== undefined && pico >= 0n && pico <= MOST_USD) return pico;
    context.addIssue({ code: "custom", message: `"${text}" is not an exact amount of USD from 0 to 10,000` });
    return z.NEVER;
  });
export const usd = amount(PICO_DIGITS);
export const usdPerMillion = amount(PER_MILLION_DIGITS);

export const isoDate = z.iso.date("must be a date, for example 2026-11-20");
export const sourced = { source: z.string().min(1), as_of: isoDate };

/** A tier requires only the conditions that it names. The first matching tier applies. */
const conditions = {
  quality: z.enum(["low", "medium", "high"]).optional(),
  sizes: z.array(sizeText).min(1).optional(),
};
const maxPixels = z.int().positive().optional();
/**
 * `audio`, `with_images`: true or false = the tier is for videos with or without sound, or for
 * requests with or without images.
 */
const eitherWay = z.boolean().optional();
const imageTier = z.strictObject({ ...conditions, max_pixels: maxPixels, with_images: eitherWay, usd });
const secondTier = z.strictObject({ ...conditions, audio: eitherWay, with_images: eitherWay, usd });
const lengths = z.array(z.int().positive()).min(1).optional();
const clipTier = z.strictObject({
  ...conditions,
  seconds: lengths,
  audio: eitherWay,
  with_images: eitherWay,
  usd,
});

const inputs = {
  /** Price of each input image beyond the free ones. */
  input_image_usd: usd.optional(),
  free_input_images: z.int().min(0).max(100).optional(),
  /** `per`: for each generated image, which is the default, or once a request. */
  input_images: z
    .strictObject({
      per: z.enum(["image", "request"]).default("image"),
      /** `input_image_usd` is for each started unit of their area, of which `max_pixels` count at most. */
      unit_pixels: z.int().positive().optional(),
      max_pixels: z.int().positive().optional(),
    })
    .refine(
      ({ unit_pixels, max_pixels }) => (unit_pixels === undefined) === (max_pixels === undefined),
      "must have both unit_pixels and max_pixels, or neither: an image of unknown size counts as the largest",
    )
    .optional(),
};

const perImage = z.strictObject({
  basis: z.literal("image"),
  tiers: z.array(imageTier).min(1),
  ...inputs,
  ...sourced,
});
const perArea = z.strictObject({
  basis: z.literal("megapixel"),
  unit_pixels: z.int().positive(),
  first_usd: usd,
  further_usd: usd,
  ...inputs,
  ...sourced,
});
const perSecond = z.strictObject({
  basis: z.literal("second"),
  tiers: z.array(secondTier).min(1),
  ...inputs,
  ...sourced,
});
const perClip = z.strictObject({
  basis: z.literal("clip"),
  tiers: z.array(clipTier).min(1),
  ...inputs,
  ...sourced,
});
const tokenRates = {
  /** Absent meters are billed as input, `reasoning` and `image_output` as output. */
  usd_per_million: z.strictObject({
    input: usdPerMillion,
    output: usdPerMillion,
    cached_input: usdPerMillion.optional(),
    cache_write: usdPerMillion.optional(),
    image_input: usdPerMillion.optional(),
    audio_input: usdPerMillion.optional(),
    reasoning: usdPerMillion.optional(),
    image_output: usdPerMillion.optional(),
  }),
  request_usd: usd.optional(),
};
const mostTokens = z.int().positive().max(10_000_000);

export const seedPrice = z.discriminatedUnion("basis", [
  perImage,
  perArea,
  perSecond,
  perClip,
  z.strictObject({ basis: z.literal("token"), ...tokenRates, ...sourced }),
  z.strictObject({
    basis: z.literal("metered"),
    ...tokenRates,
    /** Largest usage of one generated image, or of one second of video; it is held before. */
    most_tokens: z.strictObject({
      tiers: z.array(z.strictObject({ ...conditions, max_pixels: maxPixels, tokens: mostTokens })).min(1),
      input_image: mostTokens.optional(),
      other_input: mostTokens.optional(),
      other_output: mostTokens.optional(),
      partial_image: mostTokens.optional(),
    }),
    ...sourced,
  }),
  z.strictObject({
    basis: z.literal("reported"),
    /** The provider's reported cost is charged, up to this rule's amount. */
    most: z.discriminatedUnion("basis", [perImage, perArea, perSecond, perClip]),
    ...sourced,
  }),
]);
export type SeedPrice = z.infer<typeof seedPrice>;

export function priceOfSeed(price: SeedPrice): Price {
  return versioned(ruleOf(price));
}

function ruleOf(price: SeedPrice): PriceRule {
  switch (price.basis) {
    case "image":
      return {
        case: "image",
        value: {
          tiers: price.tiers.map((tier) => ({ ...tierOf(tier), maxPixels: BigInt(tier.max_pixels ?? 0) })),
          ...inputsOf(price),
        },
      };
    case "megapixel":
      return {
        case: "megapixel",
        value: {
          unitPixels: BigInt(price.unit_pixels),
          firstPicoUsd: price.first_usd,
          furtherPicoUsd: price.further_usd,
          ...inputsOf(price),
        },
      };
    case "second":
      return { case: "second", value: { tiers: price.tiers.map(tierOf), ...inputsOf(price) } };
    case "clip": {
      const tiers = price.tiers.map((tier) => ({ ...tierOf(tier), seconds: tier.seconds ?? [] }));
      return { case: "clip", value: { tiers, ...inputsOf(price) } };
    }
    case "token":
      return { case: "token", value: tokenRuleOf(price) };
    case "metered":
      return { case: "metered", value: meteredRuleOf(price) };
    case "reported":
      return { case: "reported", value: { most: create(PriceSchema, { rule: ruleOf(price.most) }) } };
  }
}

function tierOf(tier: {
  quality?: string | undefined;
  sizes?: string[] | undefined;
  audio?: boolean | undefined;
  with_images?: boolean | undefined;
  usd: PicoUsd;
}) {
  const { quality = "", sizes = [], audio, with_images: inputImages, usd: picoUsd } = tier;
  return {
    ...{ quality, sizes, picoUsd },
    ...(audio === undefined ? {} : { audio }),
    ...(inputImages === undefined ? {} : { inputImages }),
  };
}

function inputsOf(price: {
  input_image_usd?: PicoUsd | undefined;
  free_input_images?: number | undefined;
  input_images?:
    | { per: "image" | "request"; unit_pixels?: number | undefined; max_pixels?: number | undefined }
    | undefined;
}) {
  const { input_images: counted } = price;
  return {
    inputImagePicoUsd: price.input_image_usd ?? 0n,
    freeInputImages: price.free_input_images ?? 0,
    ...(counted === undefined
      ? {}
      : {
          inputs: {
            once: counted.per === "request",
            unitPixels: BigInt(counted.unit_pixels ?? 0),
            maxPixels: BigInt(counted.max_pixels ?? 0),
          },
        }),
  };
}

function meteredRuleOf(price: Extract<SeedPrice, { basis: "metered" }>) {
  const { tiers, input_image, other_input, other_output, partial_image } = price.most_tokens;
  return {
    tokens: tokenRuleOf(price),
    tiers: tiers.map(({ quality = "", sizes = [], max_pixels, tokens }) => ({
      ...{ quality, sizes, maxPixels: BigInt(max_pixels ?? 0), outputTokens: BigInt(tokens) },
    })),
    inputImageTokens: BigInt(input_image ?? 0),
    otherInputTokens: BigInt(other_input ?? 0),
    otherOutputTokens: BigInt(other_output ?? 0),
    partialImageTokens: BigInt(partial_image ?? 0),
  };
}

function tokenRuleOf(price: Extract<SeedPrice, { basis: "token" | "metered" }>) {
  const { input, output, cached_input, cache_write, image_input, audio_input, reasoning, image_output } =
    price.usd_per_million;
  return {
    inputPicoUsd: input,
    outputPicoUsd: output,
    requestPicoUsd: price.request_usd ?? 0n,
    ...(cached_input === undefined ? {} : { cachedInputPicoUsd: cached_input }),
    ...(cache_write === undefined ? {} : { cacheWritePicoUsd: cache_write }),
    ...(image_input === undefined ? {} : { imageInputPicoUsd: image_input }),
    ...(audio_input === undefined ? {} : { audioInputPicoUsd: audio_input }),
    ...(reasoning === undefined ? {} : { reasoningPicoUsd: reasoning }),
    ...(image_output === undefined ? {} : { imageOutputPicoUsd: image_output }),
  };
}
