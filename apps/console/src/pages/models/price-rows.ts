// Price rows are the price rule of a model in words, a row for each amount. Amounts are the decimals of the server; a price of
// a token is moved to a million as text.
import type { ModelPricing } from "../../api/public-api.ts";
import { exactMoneyText } from "../../parts/figures/figure-text.ts";
import { perMillion } from "../../parts/figures/per-million.ts";

export interface PriceRow {
  readonly what: string;
  readonly price: string;
}

interface Tier {
  readonly price: string;
  readonly quality?: string | null;
  readonly sizes?: readonly string[] | null;
  readonly max_pixels?: number | null;
  readonly seconds?: readonly number[] | null;
  readonly audio?: boolean | null;
  readonly with_images?: boolean | null;
}

interface Rule {
  readonly unit?: string;
  readonly tiers?: readonly Tier[];
  readonly unit_pixels?: number;
  readonly first?: string;
  readonly further?: string;
  readonly input_image?: string;
  readonly free_input_images?: number;
  readonly input_images?: { readonly per: string; readonly unit_pixels: number | null };
}

const UNITS: Readonly<Record<string, string>> = {
  image: "Each image",
  second: "Each second of video",
  clip: "Each video",
};

/** Meters of tokens. One with the price of another is shown only under that one. */
const METERS = [
  ["input", "Input tokens", undefined],
  ["cached_input", "Input tokens from the cache", "input"],
  ["cache_write", "Input tokens written to the cache", "input"],
  ["long_cache_write", "Input tokens written to the cache for longer", "cache_write"],
  ["image_input", "Input tokens of images", "input"],
  ["audio_input", "Input tokens of audio", "input"],
  ["output", "Output tokens", undefined],
  ["reasoning", "Reasoning tokens", "output"],
  ["image_output", "Output tokens of images", "output"],
  ["audio_output", "Output tokens of audio", "output"],
] as const;

export function priceRows(pricing: ModelPricing): PriceRow[] {
  switch (pricing.unit) {
    case "token":
      return [...tokenRows(pricing, ""), ...caseRows(pricing)];
    case "metered":
      return [...usualRow(pricing), ...tokenRows(pricing, "")];
    case "reported": {
      const most = ruleRows((pricing["most"] ?? {}) as Rule);
      return [
        ...usualRow(pricing),
        ...most.map(({ what, price }) => ({
          what: `${what}, as the provider bills it`,
          price: `up to ${price}`,
        })),
      ];
    }
    default:
      return ruleRows(pricing as Rule);
  }
}

function usualRow({ default_request: usual }: ModelPricing): PriceRow[] {
  return usual === undefined ? [] : [{ what: "A usual request", price: `about ${exactMoneyText(usual)}` }];
}

function ruleRows(rule: Rule): PriceRow[] {
  const { unit = "", tiers = [], unit_pixels: pixels, first, further } = rule;
  const area = pixels === undefined ? "" : megapixels(pixels);
  return [
    ...tiers.map((tier) => {
      const conditions = conditionsOf(tier);
      return { what: [UNITS[unit] ?? unit, ...conditions].join(", "), price: exactMoneyText(tier.price) };
    }),
    ...(first === undefined ? [] : [{ what: `Each image, first ${area}`, price: exactMoneyText(first) }]),
    ...(further === undefined ? [] : [{ what: `Each further ${area}`, price: exactMoneyText(further) }]),
    ...inputRow(rule),
  ];
}

function conditionsOf({ quality, sizes, max_pixels, seconds, audio, with_images }: Tier): string[] {
  return [
    quality == null ? "" : `${quality} quality`,
    sizes == null ? "" : sizes.join(" or "),
    max_pixels == null ? "" : `up to ${megapixels(max_pixels)}`,
    seconds == null ? "" : `${seconds.join(" or ")} s`,
    audio == null ? "" : audio ? "with sound" : "without sound",
    with_images == null ? "" : with_images ? "with input images" : "without input images",
  ].filter((part) => part !== "");
}

function inputRow({
  input_image: price,
  free_input_images: free = 0,
  input_images: count,
}: Rule): PriceRow[] {
  if (price === undefined || !/[1-9]/.test(price)) return [];
  const unit =
    count?.unit_pixels == null ? "input image" : `${megapixels(count.unit_pixels)} of input images`;
  const beyond = free === 0 ? "" : ` beyond the first ${free === 1 ? "one" : free}`;
  const per = count?.per === "request" ? ", once a request" : "";
  return [{ what: `Each ${unit}${beyond}${per}`, price: exactMoneyText(price) }];
}

function tokenRows(pricing: Readonly<Record<string, unknown>>, prefix: string): PriceRow[] {
  const rows = METERS.flatMap(([meter, what, like]) => {
    const price = perMillion(pricing[meter]);
    if (price === undefined || (like !== undefined && pricing[meter] === pricing[like])) return [];
    return [{ what: `${prefix}${what}, per million`, price: exactMoneyText(price) }];
  });
  const fee = pricing["request"];
  const tools = Object.entries((pricing["tools"] ?? {}) as Record<string, string>);
  return [
    ...rows,
    ...(typeof fee === "string" && /[1-9]/.test(fee)
      ? [{ what: `${prefix}Each request, in addition`, price: exactMoneyText(fee) }]
      : []),
    ...tools.map(([tool, price]) => ({
      what: `${prefix}Each call of ${tool.replaceAll("_", " ")}`,
      price: exactMoneyText(price),
    })),
  ];
}

interface Case extends Readonly<Record<string, unknown>> {
  readonly tier: string | null;
  readonly above_input_tokens: number;
}

/** Service tiers and long inputs: their prices of input and output, which are the usual difference. */
function caseRows(pricing: ModelPricing): PriceRow[] {
  return ((pricing["cases"] ?? []) as readonly Case[]).flatMap((each) => {
    const conditions = [
      each.tier === null ? "" : `tier ${each.tier}`,
      each.above_input_tokens === 0
        ? ""
        : `above ${each.above_input_tokens.toLocaleString("en")} input tokens`,
    ].filter((part) => part !== "");
    const { input, output } = each;
    return tokenRows({ input, output }, `${conditions.join(", ")}: `);
  });
}

function megapixels(pixels: number): string {
  const count = Math.round(pixels / 10_000) / 100;
  return `${count} megapixel${count === 1 ? "" : "s"}`;
}
