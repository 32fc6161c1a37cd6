// ModelPricing is a price in the public API: exact decimal strings in USD, with one shape for each way of charging.
import { defaultsOf, meterRatesOf, needsImage, priceOf, priceOfTokens } from "@gr/models";
import { formatPicoUsd, type PicoUsd } from "@gr/money";
import { type InputCounting, type Model, ModelKind, type Price, type TokenPrice } from "@gr/proto/catalog";
import { z } from "zod";
import { requestsOf } from "./accepted-requests.ts";

const usd = z.string().describe("USD, an exact decimal without exponent");
const versionField = z.string().describe("changes with each change of the price");
const currency = z.literal("USD");
const quality = z.string().nullable().describe("null = any");
const sizes = z.array(z.string()).nullable().describe("null = any");
/** Summary for people; the exact rule is next to it. */
const head = {
  currency,
  version: versionField,
  per: z.enum(["image", "video", "million tokens"]).describe("unit of lowest, typical and highest"),
  lowest: usd.describe("cost of the cheapest request, with only the images that the model needs"),
  typical: usd.describe("cost with the defaults; for text, with equal numbers of input and output tokens"),
  highest: usd.describe("cost of the dearest request, with only the images that the model needs"),
};
const whole = {
  ...head,
  default_request: usd.describe(
    "cost of a request with only the model and a prompt, and one image if the model needs one",
  ),
};
const withImages = z.boolean().nullable().describe("for requests with or without input images; null = any");
const audio = z
  .boolean()
  .nullable()
  .describe("true = with sound, false = without, null = either. Silent by default");
const inputs = {
  input_image: usd.describe("added for each input image, by input_images"),
  free_input_images: z.number().int().describe("number of input images without a charge"),
  input_images: z
    .object({
      per: z.enum(["image", "request"]).describe("added to each generated image, or once a request"),
      unit_pixels: z
        .number()
        .int()
        .nullable()
        .describe("for each started unit of their area; null = for each image of any size"),
      max_pixels: z.number().int().nullable().describe("maximum count of one input image"),
    })
    .describe("rule for the count of input images"),
};
const imageRule = z.object({
  unit: z.literal("image").describe("price per generated image"),
  tiers: z.array(
    z.object({
      quality,
      sizes,
      max_pixels: z.number().int().nullable().describe("maximum of width times height; null = any"),
      with_images: withImages,
      price: usd,
    }),
  ),
  ...inputs,
});
const areaRule = z.object({
  unit: z.literal("megapixel").describe("price by the area of each generated image, in started units"),
  unit_pixels: z.number().int(),
  first: usd,
  further: usd,
  ...inputs,
});
const secondRule = z.object({
  unit: z.literal("second").describe("price per second of video"),
  tiers: z.array(z.object({ quality, sizes, audio, with_images: withImages, price: usd })),
  ...inputs,
});
const clipRule = z.object({
  unit: z.literal("clip").describe("price per video"),
  tiers: z.array(
    z.object({
      quality,
      sizes,
      seconds: z.array(z.number().int()).nullable().describe("null = any"),
      audio,
      with_images: withImages,
      price: usd,
    }),
  ),
  ...inputs,
});
const meters = {
  input: usd,
  output: usd,
  cached_input: usd.describe("input read from the provider's cache"),
  cache_write: usd.describe("input written to the provider's cache"),
  image_input: usd,
  audio_input: usd,
  reasoning: usd,
  image_output: usd,
  audio_output: usd,
  tools: z
    .record(z.string(), usd)
    .describe("each call of a tool that the provider runs, by the type of its item in the output"),
  request: usd.describe("added to each request"),
  long_cache_write: usd
    .optional()
    .describe(
      "input written to the provider's cache for longer than usual; absent = these writes are refused",
    ),
};
const cases = z
  .array(
    z.object({
      tier: z.string().nullable().describe("the service_tier; null = the standard tier"),
      above_input_tokens: z.number().int().describe("applies to requests with more input tokens; 0 = to all"),
      ...meters,
    }),
  )
  .optional()
  .describe("prices of service tiers and of long inputs; other tiers are refused");

/** `tiers`: the first tier with all conditions fulfilled applies. */
export const modelPricing = z.discriminatedUnion("unit", [
  imageRule.extend(whole),
  areaRule.extend(whole),
  secondRule.extend(whole),
  clipRule.extend(whole),
  z.object({
    unit: z.literal("token").describe("prices per token; a request's total is rounded up to 0.0001 USD"),
    ...head,
    ...meters,
    cases,
  }),
  z.object({
    unit: z
      .literal("metered")
      .describe("prices per used token; the router reserves a limit before, and charges at most this limit"),
    ...whole,
    ...meters,
    most_tokens: z
      .object({
        tiers: z.array(
          z.object({ quality, sizes, max_pixels: z.number().int().nullable(), tokens: z.number().int() }),
        ),
        input_image: z.number().int(),
        other_input: z.number().int(),
        other_output: z.number().int(),
        partial_image: z.number().int().describe("of each partial image of a stream"),
      })
      .describe(
        "the limit: tokens of one generated image, beside those of the prompt, at most one for each byte",
      ),
  }),
  z.object({
    unit: z.literal("reported").describe("cost reported by the provider, at most `most`"),
    ...whole,
    most: z.discriminatedUnion("unit", [imageRule, areaRule, secondRule, clipRule]),
  }),
]);
export type ModelPricing = z.infer<typeof modelPricing>;

export function pricingOf(model: Model): ModelPricing {
  const { price } = model;
  if (price === undefined) throw new Error(`${model.id} has no price`);
  const { rule, version } = price;
  const head = { currency: "USD" as const, version, ...rangeOf(model) };
  if (rule.case === "token")
    return { unit: "token", ...head, ...tokenPricesOf(rule.value), ...casesOf(rule.value) };
  const whole = { ...head, default_request: formatPicoUsd(defaultPriceOf(model)) };
  if (rule.case === "metered") {
    const { tokens, tiers, inputImageTokens, otherInputTokens, otherOutputTokens, partialImageTokens } =
      rule.value;
    if (tokens === undefined) throw new Error(`${model.id} has no price of its tokens`);
    const most_tokens = {
      tiers: tiers.map((tier) => ({
        ...conditionsOf(tier),
        max_pixels: Number(tier.maxPixels) || null,
        tokens: Number(tier.outputTokens),
      })),
      input_image: Number(inputImageTokens),
      other_input: Number(otherInputTokens),
      other_output: Number(otherOutputTokens),
      partial_image: Number(partialImageTokens),
    };
    return { unit: "metered", ...whole, ...tokenPricesOf(tokens), most_tokens };
  }
  if (rule.case === "reported") {
    if (rule.value.most === undefined) throw new Error(`${model.id} has no bound of its price`);
    return { unit: "reported", ...whole, most: ruleOf(model.id, rule.value.most) };
  }
  return { ...ruleOf(model.id, price), ...whole };
}

function ruleOf(id: string, { rule }: Price) {
  switch (rule.case) {
    case "image":
      return {
        unit: "image" as const,
        tiers: rule.value.tiers.map((tier) => ({
          ...conditionsOf(tier),
          max_pixels: Number(tier.maxPixels) || null,
          with_images: tier.inputImages ?? null,
          price: formatPicoUsd(tier.picoUsd),
        })),
        ...inputsOf(rule.value),
      };
    case "megapixel":
      return {
        unit: "megapixel" as const,
        unit_pixels: Number(rule.value.unitPixels),
        first: formatPicoUsd(rule.value.firstPicoUsd),
        further: formatPicoUsd(rule.value.furtherPicoUsd),
        ...inputsOf(rule.value),
      };
    case "second":
      return {
        unit: "second" as const,
        tiers: rule.value.tiers.map((tier) => ({
          ...conditionsOf(tier),
          audio: tier.audio ?? null,
          with_images: tier.inputImages ?? null,
          price: formatPicoUsd(tier.picoUsd),
        })),
        ...inputsOf(rule.value),
      };
    case "clip":
      return {
        unit: "clip" as const,
        tiers: rule.value.tiers.map((tier) => ({
          ...conditionsOf(tier),
          seconds: tier.seconds.length === 0 ? null : tier.seconds,
          audio: tier.audio ?? null,
          with_images: tier.inputImages ?? null,
          price: formatPicoUsd(tier.picoUsd),
        })),
        ...inputsOf(rule.value),
      };
    default:
      throw new Error(`${id} has a price of an unknown kind`);
  }
}

function inputsOf(rule: {
  inputImagePicoUsd: PicoUsd;
  freeInputImages: number;
  inputs?: InputCounting | undefined;
}) {
  const per: "image" | "request" = rule.inputs?.once === true ? "request" : "image";
  return {
    input_image: formatPicoUsd(rule.inputImagePicoUsd),
    free_input_images: rule.freeInputImages,
    input_images: {
      per,
      unit_pixels: Number(rule.inputs?.unitPixels ?? 0n) || null,
      max_pixels: Number(rule.inputs?.maxPixels ?? 0n) || null,
    },
  };
}

/** Prompt of ordinary length, for prices that depend on it: 100 tokens. */
const ORDINARY_PROMPT = { promptBytes: 100 };

/** A metered price without the safety margins of its bound, which the hold includes and hardly any request uses. */
function usual(model: Model): Pick<Model, "price"> {
  const { price } = model;
  if (price?.rule.case !== "metered") return model;
  const value = { ...price.rule.value, otherInputTokens: 0n, otherOutputTokens: 0n };
  return { price: { ...price, rule: { case: "metered", value } } };
}

/** Returns the lowest, the typical and the highest price of one image or video. */
function rangeOf(model: Model): Pick<ModelPricing, "per" | "lowest" | "typical" | "highest"> {
  const rule = model.price?.rule;
  if (rule?.case === "token") {
    const { input, output } = meterPricesOf(rule.value);
    const [lower, higher] = input < output ? [input, output] : [output, input];
    return {
      per: "million tokens",
      lowest: formatPicoUsd(lower * MILLION),
      typical: formatPicoUsd(((input + output) * MILLION) / 2n),
      highest: formatPicoUsd(higher * MILLION),
    };
  }
  const { lowest, highest } = endsOf(model);
  return {
    per: model.kind === ModelKind.IMAGE ? "image" : "video",
    lowest: formatPicoUsd(lowest),
    typical: formatPicoUsd(defaultPriceOf(model)),
    highest: formatPicoUsd(highest),
  };
}

/** Returns the lowest and highest price of all accepted requests with the fewest input images, and no partial images. */
function endsOf(model: Model): { lowest: PicoUsd; highest: PicoUsd } {
  const needed = needsImage(model) ? 1 : 0;
  const amounts = requestsOf(model)
    .filter(({ inputImages }) => inputImages === needed)
    .filter((request) => "seconds" in request || (request.partialImages ?? 0) === 0)
    .flatMap((request) => priceOf(usual(model), { ...request, ...ORDINARY_PROMPT })?.most ?? [])
    .toSorted((one, other) => (one < other ? -1 : 1));
  const typical = defaultPriceOf(model);
  return { lowest: amounts[0] ?? typical, highest: amounts.at(-1) ?? typical };
}

const MILLION = 1_000_000n;

function conditionsOf(tier: { quality: string; sizes: string[] }) {
  return {
    quality: tier.quality === "" ? null : tier.quality,
    sizes: tier.sizes.length === 0 ? null : tier.sizes,
  };
}

function tokenPricesOf(rule: TokenPrice) {
  const tools = Object.fromEntries(rule.toolFees.map(({ call, picoUsd }) => [call, formatPicoUsd(picoUsd)]));
  const { longCacheWritePicoUsd: kept } = rule;
  const long = kept === undefined ? {} : { long_cache_write: formatPicoUsd(kept) };
  return { ...mapValues(meterPricesOf(rule), formatPicoUsd), ...long, tools };
}

function casesOf(rule: TokenPrice) {
  const known = rule.cases.flatMap(({ tier, aboveInputTokens, price }) =>
    price === undefined
      ? []
      : [{ tier: tier || null, above_input_tokens: Number(aboveInputTokens), ...tokenPricesOf(price) }],
  );
  const offPeak = rule.offPeak.flatMap(({ hours, price }) => {
    if (price === undefined) return [];
    const written = hours.map(({ weekdays, fromMinute, toMinute }) => ({
      ...{ weekdays: weekdays.length === 0 ? null : weekdays },
      ...{ from_minute: fromMinute, to_minute: toMinute },
    }));
    return [{ hours_utc: written, ...tokenPricesOf(price) }];
  });
  return {
    ...(known.length === 0 ? {} : { cases: known }),
    ...(offPeak.length === 0 ? {} : { off_peak: offPeak }),
  };
}

/** Returns the prices of tokens and of a request, by the names of the API. */
export function meterPricesOf(rule: TokenPrice) {
  const rates = meterRatesOf(rule);
  return {
    input: rates.input,
    output: rates.output,
    cached_input: rates.cachedInput,
    cache_write: rates.cacheWrite,
    image_input: rates.imageInput,
    audio_input: rates.audioInput,
    reasoning: rates.reasoning,
    image_output: rates.imageOutput,
    audio_output: rates.audioOutput,
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

/** The text request for comparisons of prices. No request is typical, but the list needs an order. */
const COMPARED_TOKENS = { inputTokens: 1_000, outputTokens: 1_000 };

/**
 * Returns the price of a request with only a model: one image, or one video, with its defaults, from one image
 * if the model needs one. For text, 1,000 input and 1,000 output tokens.
 */
export function defaultPriceOf(model: Model): PicoUsd {
  const price = typicalPriceOf(model);
  if (price === undefined) throw new Error(`${model.id} has no price for its defaults`);
  return price;
}

/** Like `defaultPriceOf`; undefined if the rule has no price for it. */
export function typicalPriceOf(model: Model): PicoUsd | undefined {
  const { price } = model;
  if (price === undefined) return undefined;
  if (price.rule.case === "token") return priceOfTokens(price.rule.value, COMPARED_TOKENS);
  const inputImages = needsImage(model) ? 1 : 0;
  const { size, quality, seconds } = defaultsOf(model, inputImages);
  const asked = { quality: quality || "auto", size: size || "auto", inputImages, ...ORDINARY_PROMPT };
  return priceOf(
    usual(model),
    model.kind === ModelKind.IMAGE ? { images: 1, ...asked } : { seconds, ...asked },
  )?.most;
}

/** The amounts by which a price is compared with an earlier one, by name. */
export function comparedAmountsOf(model: Model): Map<string, PicoUsd> {
  const rule = model.price?.rule;
  if (rule?.case !== "token") {
    const { lowest, highest } = endsOf(model);
    return new Map([
      ["the default request", defaultPriceOf(model)],
      ["the cheapest request", lowest],
      ["the dearest request", highest],
    ]);
  }
  const meters = Object.entries(meterPricesOf(rule.value));
  return new Map([["1,000 tokens in and out", defaultPriceOf(model)], ...meters]);
}

/** True if every request is free. */
export function isFree({ rule }: Price): boolean {
  switch (rule.case) {
    case "image":
    case "second":
    case "clip":
      return rule.value.inputImagePicoUsd === 0n && rule.value.tiers.every(({ picoUsd }) => picoUsd === 0n);
    case "megapixel":
      return [rule.value.firstPicoUsd, rule.value.furtherPicoUsd, rule.value.inputImagePicoUsd].every(
        (pico) => pico === 0n,
      );
    case "token":
      return isFreeByToken(rule.value);
    case "metered":
      return rule.value.tokens !== undefined && isFreeByToken(rule.value.tokens);
    case "reported":
      return rule.value.most !== undefined && isFree(rule.value.most);
    default:
      return false;
  }
}

function isFreeByToken(price: TokenPrice): boolean {
  const ownIsFree = Object.values(meterPricesOf(price)).every((pico) => pico === 0n);
  const toolsAreFree = price.toolFees.every(({ picoUsd }) => picoUsd === 0n);
  return (
    ownIsFree &&
    toolsAreFree &&
    [...price.upstreams, ...price.cases].every(
      (other) => other.price === undefined || isFreeByToken(other.price),
    )
  );
}
