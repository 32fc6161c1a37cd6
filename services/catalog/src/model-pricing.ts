// Prices as callers see them: exact decimal strings in USD, one shape for each way of charging.
import { priceOfImageRequest, priceOfTokens, priceOfVideoRequest } from "@gr/models";
import { formatPicoUsd, type PicoUsd } from "@gr/money";
import { type Model, ModelKind, type Price, type TokenPrice } from "@gr/proto/catalog";
import { z } from "zod";
import { needsImage } from "./offer.ts";

const usd = z.string().describe("USD, an exact decimal without exponent");
const versionField = z.string().describe("changes whenever the price does");
const currency = z.literal("USD");
const quality = z.string().nullable().describe("null = any");
const sizes = z.array(z.string()).nullable().describe("null = any");
const defaultRequest = usd.describe(
  "what a request costs that names nothing but the model and a prompt, and brings one image if the model needs one",
);
const inputImage = (added: string) => usd.describe(`added ${added} for each input image`);

/** `tiers`: the first one whose conditions all hold applies. */
export const modelPricing = z.discriminatedUnion("unit", [
  z.object({
    unit: z.literal("image").describe("a price per image made"),
    currency,
    version: versionField,
    default_request: defaultRequest,
    tiers: z.array(
      z.object({
        quality,
        sizes,
        max_pixels: z.number().int().nullable().describe("width times height at most; null = any"),
        price: usd,
      }),
    ),
    input_image: inputImage("to each image made"),
    free_input_images: z.number().int().describe("so many input images are not counted"),
  }),
  z.object({
    unit: z.literal("megapixel").describe("a price by the area of each image made, in started units"),
    currency,
    version: versionField,
    default_request: defaultRequest,
    unit_pixels: z.number().int(),
    first: usd,
    further: usd,
    input_image: inputImage("to each image made"),
  }),
  z.object({
    unit: z.literal("second").describe("a price per second of video"),
    currency,
    version: versionField,
    default_request: defaultRequest,
    tiers: z.array(
      z.object({
        quality,
        sizes,
        audio: z
          .boolean()
          .nullable()
          .describe("with sound, without it; null = either. Where both are priced, videos are silent"),
        price: usd,
      }),
    ),
    input_image: inputImage("to the video"),
  }),
  z.object({
    unit: z.literal("clip").describe("a price per video"),
    currency,
    version: versionField,
    default_request: defaultRequest,
    tiers: z.array(
      z.object({
        quality,
        sizes,
        seconds: z.array(z.number().int()).nullable().describe("null = any"),
        price: usd,
      }),
    ),
  }),
  z.object({
    unit: z.literal("token").describe("prices per token; a request's total is rounded up to 0.0001 USD"),
    currency,
    version: versionField,
    input: usd,
    output: usd,
    cached_input: usd.describe("input read from the provider's cache"),
    cache_write: usd.describe("input written to the provider's cache"),
    image_input: usd,
    audio_input: usd,
    reasoning: usd,
    image_output: usd,
    request: usd.describe("added to each request"),
  }),
]);
export type ModelPricing = z.infer<typeof modelPricing>;

export function pricingOf(model: Model): ModelPricing {
  const { price } = model;
  if (price === undefined) throw new Error(`${model.id} has no price`);
  const { rule, version } = price;
  const head = { currency: "USD" as const, version };
  const whole = () => ({ ...head, default_request: formatPicoUsd(defaultPriceOf(model)) });
  switch (rule.case) {
    case "image":
      return {
        unit: "image",
        ...whole(),
        tiers: rule.value.tiers.map((tier) => ({
          ...conditionsOf(tier),
          max_pixels: tier.maxPixels === 0n ? null : Number(tier.maxPixels),
          price: formatPicoUsd(tier.picoUsd),
        })),
        input_image: formatPicoUsd(rule.value.inputImagePicoUsd),
        free_input_images: rule.value.freeInputImages,
      };
    case "megapixel":
      return {
        unit: "megapixel",
        ...whole(),
        unit_pixels: Number(rule.value.unitPixels),
        first: formatPicoUsd(rule.value.firstPicoUsd),
        further: formatPicoUsd(rule.value.furtherPicoUsd),
        input_image: formatPicoUsd(rule.value.inputImagePicoUsd),
      };
    case "second":
      return {
        unit: "second",
        ...whole(),
        tiers: rule.value.tiers.map((tier) => ({
          ...conditionsOf(tier),
          audio: tier.audio ?? null,
          price: formatPicoUsd(tier.picoUsd),
        })),
        input_image: formatPicoUsd(rule.value.inputImagePicoUsd),
      };
    case "clip":
      return {
        unit: "clip",
        ...whole(),
        tiers: rule.value.tiers.map((tier) => ({
          ...conditionsOf(tier),
          seconds: tier.seconds.length === 0 ? null : tier.seconds,
          price: formatPicoUsd(tier.picoUsd),
        })),
      };
    case "token":
      return { unit: "token", ...head, ...tokenPricesOf(rule.value) };
    default:
      throw new Error(`${model.id} has a price of an unknown kind`);
  }
}

function conditionsOf(tier: { quality: string; sizes: string[] }) {
  return {
    quality: tier.quality === "" ? null : tier.quality,
    sizes: tier.sizes.length === 0 ? null : tier.sizes,
  };
}

function tokenPricesOf(rule: TokenPrice) {
  return mapValues(meterPricesOf(rule), formatPicoUsd);
}

/** Meters without a price of their own have the price that they are billed at. */
function meterPricesOf(rule: TokenPrice) {
  const { inputPicoUsd: input, outputPicoUsd: output } = rule;
  return {
    input,
    output,
    cached_input: rule.cachedInputPicoUsd ?? input,
    cache_write: rule.cacheWritePicoUsd ?? input,
    image_input: rule.imageInputPicoUsd ?? input,
    audio_input: rule.audioInputPicoUsd ?? input,
    reasoning: rule.reasoningPicoUsd ?? output,
    image_output: rule.imageOutputPicoUsd ?? output,
    request: rule.requestPicoUsd,
  };
}

function mapValues<Name extends string, From, To>(
  values: Readonly<Record<Name, From>>,
  change: (value: From) => To,
): Record<Name, To> {
  const entries = Object.entries<From>(values).map(([name, value]) => [name, change(value)]);
  return Object.fromEntries(entries) as Record<Name, To>;
}

/** The text request by which prices are compared. No request is typical, but the list must have an order. */
const COMPARED_TOKENS = { inputTokens: 1_000, outputTokens: 1_000 };

/**
 * The price of a request that names nothing but the model: one image, or one video, with its defaults, from one image
 * if the model needs one. For text, 1,000 tokens in and 1,000 out.
 */
export function defaultPriceOf(model: Model): PicoUsd {
  const price = defaultPrice(model, model.price);
  if (price === undefined) throw new Error(`${model.id} has no price for its defaults`);
  return price;
}

function defaultPrice(model: Model, price: Price | undefined): PicoUsd | undefined {
  if (price === undefined) return undefined;
  if (price.rule.case === "token") return priceOfTokens(price.rule.value, COMPARED_TOKENS);
  const asked = {
    quality: model.defaultQuality || "auto",
    size: model.defaultSize || "auto",
    inputImages: needsImage(model) ? 1 : 0,
  };
  return model.kind === ModelKind.IMAGE
    ? priceOfImageRequest(price, { images: 1, ...asked })
    : priceOfVideoRequest(price, { seconds: model.defaultSeconds, ...asked });
}

/** The amounts by which a price is compared with an earlier one, by name. */
export function comparedAmountsOf(model: Model): Map<string, PicoUsd> {
  const rule = model.price?.rule;
  if (rule?.case !== "token") return new Map([["the default request", defaultPriceOf(model)]]);
  const meters = Object.entries(meterPricesOf(rule.value));
  return new Map([["1,000 tokens in and out", defaultPriceOf(model)], ...meters]);
}

/** Whether no request can cost anything. */
export function isFree(price: Price): boolean {
  const { rule } = price;
  switch (rule.case) {
    case "image":
    case "second":
      return rule.value.inputImagePicoUsd === 0n && rule.value.tiers.every(({ picoUsd }) => picoUsd === 0n);
    case "clip":
      return rule.value.tiers.every(({ picoUsd }) => picoUsd === 0n);
    case "megapixel":
      return [rule.value.firstPicoUsd, rule.value.furtherPicoUsd, rule.value.inputImagePicoUsd].every(
        (pico) => pico === 0n,
      );
    case "token":
      return Object.values(tokenPricesOf(rule.value)).every((usd) => usd === "0");
    default:
      return false;
  }
}
