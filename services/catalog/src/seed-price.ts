// Prices as the seed files write them, decimal strings in USD with source and date, and how they become rules of the
// contract. An amount that is not exact in 1e-12 USD is refused and never rounded.
import { type PicoUsd, parseDecimal } from "@gr/money";
import type { Price } from "@gr/proto/catalog";
import { z } from "zod";
import { type PriceRule, versioned } from "./price-version.ts";

const PICO_DIGITS = 12;
/** 1e-12 USD a token is 1e-6 USD a million tokens. */
const PER_MILLION_DIGITS = 6;
/** No unit costs more, so a larger amount is a typing mistake. Products with it still fit 64 bits. */
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

export const isoDate = z.iso.date("must be a date such as 2026-11-20");
export const sourced = { source: z.string().min(1), as_of: isoDate };

/** A tier holds for what it names; what it leaves out does not matter. The first that holds applies. */
const quality = z.enum(["low", "medium", "high"]).optional();
const sizes = z.array(sizeText).min(1).optional();

export const seedPrice = z.discriminatedUnion("basis", [
  z.strictObject({
    basis: z.literal("image"),
    tiers: z.array(z.strictObject({ quality, sizes, max_pixels: z.int().positive().optional(), usd })).min(1),
    /** For each input image beyond the free ones, with each image made. */
    input_image_usd: usd.optional(),
    free_input_images: z.int().min(0).max(100).optional(),
    ...sourced,
  }),
  z.strictObject({
    basis: z.literal("megapixel"),
    unit_pixels: z.int().positive(),
    first_usd: usd,
    further_usd: usd,
    input_image_usd: usd.optional(),
    ...sourced,
  }),
  z.strictObject({
    basis: z.literal("second"),
    /** `audio`: true or false = the tier is for videos with or without sound only. */
    tiers: z.array(z.strictObject({ quality, sizes, audio: z.boolean().optional(), usd })).min(1),
    /** For each input image, whatever the length of the video. */
    input_image_usd: usd.optional(),
    ...sourced,
  }),
  z.strictObject({
    basis: z.literal("clip"),
    tiers: z
      .array(z.strictObject({ quality, sizes, seconds: z.array(z.int().positive()).min(1).optional(), usd }))
      .min(1),
    ...sourced,
  }),
  z.strictObject({
    basis: z.literal("token"),
    /** Meters that are left out are billed as input, `reasoning` and `image_output` as output. */
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
          inputImagePicoUsd: price.input_image_usd ?? 0n,
          freeInputImages: price.free_input_images ?? 0,
        },
      };
    case "megapixel":
      return {
        case: "megapixel",
        value: {
          unitPixels: BigInt(price.unit_pixels),
          firstPicoUsd: price.first_usd,
          furtherPicoUsd: price.further_usd,
          inputImagePicoUsd: price.input_image_usd ?? 0n,
        },
      };
    case "second":
      return {
        case: "second",
        value: { tiers: price.tiers.map(secondTierOf), inputImagePicoUsd: price.input_image_usd ?? 0n },
      };
    case "clip":
      return {
        case: "clip",
        value: { tiers: price.tiers.map((tier) => ({ ...tierOf(tier), seconds: tier.seconds ?? [] })) },
      };
    case "token":
      return { case: "token", value: tokenRuleOf(price) };
  }
}

function tierOf(tier: { quality?: string | undefined; sizes?: string[] | undefined; usd: PicoUsd }) {
  return { quality: tier.quality ?? "", sizes: tier.sizes ?? [], picoUsd: tier.usd };
}

function secondTierOf(tier: Parameters<typeof tierOf>[0] & { audio?: boolean | undefined }) {
  return { ...tierOf(tier), ...(tier.audio === undefined ? {} : { audio: tier.audio }) };
}

function tokenRuleOf(price: Extract<SeedPrice, { basis: "token" }>) {
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
