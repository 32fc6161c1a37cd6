// Replicate's models, with their input fields and the price of a prediction. Prices are those of
// github.com/HeyPuter/puter@8307e8c9f (2026-08-21) and of the models' vendors.
import { z } from "zod";
import { readDataUri } from "../../media/data-uri.ts";
import type { MediaSize } from "../../media/media-order.ts";
import { byArea, byLevel, each, type PriceRule } from "../../media/price-rules.ts";
import { sizeOfRatio } from "../../media/ratio-size.ts";

const common = { prompt: z.string(), seed: z.int().optional() };
const format = { output_format: z.enum(["webp", "jpg", "png"]).optional() };
const ratio = {
  aspect_ratio: z.enum(["1:1", "16:9", "9:16", "3:2", "2:3", "4:3", "3:4", "21:9", "9:21"]).optional(),
};
const edge = z.int().min(256).max(2_048).optional();
const custom = {
  aspect_ratio: z.union([ratio.aspect_ratio.unwrap(), z.literal("custom")]).optional(),
  width: edge,
  height: edge,
};
const uri = z.string().min(1);

const replicateInput = z.object({
  ...common,
  ...format,
  ...custom,
  generation_mode: z.enum(["fast", "quality", "ultra"]).optional(),
  image: uri.optional(),
  mask: uri.optional(),
});
export type ReplicateInput = z.infer<typeof replicateInput>;

export interface ReplicateModel {
  readonly input: z.ZodType<ReplicateInput>;
  readonly price: PriceRule;
  /** True if its output is a list. */
  readonly lists: boolean;
}

const shaped = (price: string, lists: boolean, more = {}): ReplicateModel => ({
  input: z.strictObject({ ...common, ...ratio, ...more }),
  price: each(price),
  lists,
});
const sized = (price: PriceRule): ReplicateModel => ({
  input: z.strictObject({ ...common, ...format, ...custom }),
  price,
  lists: false,
});

export const REPLICATE_MODELS: ReadonlyMap<string, ReplicateModel> = new Map<string, ReplicateModel>([
  ["black-forest-labs/flux-1.1-pro", shaped("0.04", false, format)],
  ["black-forest-labs/flux-2-dev", sized(byArea("0.014", "0.014"))],
  ["black-forest-labs/flux-2-pro", sized(byArea("0.03", "0.015"))],
  ["black-forest-labs/flux-dev", shaped("0.025", true, format)],
  [
    "black-forest-labs/flux-fill-pro",
    {
      input: z.strictObject({ ...common, ...format, image: uri, mask: uri.optional() }),
      price: each("0.05"),
      lists: false,
    },
  ],
  ["black-forest-labs/flux-schnell", shaped("0.003", true, format)],
  [
    "leonardoai/phoenix-1.0",
    {
      input: z.strictObject({
        ...common,
        ...ratio,
        generation_mode: z.enum(["fast", "quality", "ultra"]).optional(),
      }),
      price: byLevel({ fast: "0.018", quality: "0.0375", ultra: "0.075" }),
      lists: true,
    },
  ],
  ["minimax/image-01", shaped("0.01", true)],
]);

const USUAL = 1_024;

export function sizeOf({ aspect_ratio: shape = "1:1", width, height }: ReplicateInput): MediaSize {
  if (shape !== "custom") return sizeOfRatio(shape);
  return { width: width ?? USUAL, height: height ?? USUAL };
}

/** @throws Refusal */
export function inputsOf({ image, mask }: ReplicateInput): Buffer[] {
  return Object.entries({ image, mask }).flatMap(([field, text]) =>
    text === undefined ? [] : [readDataUri(text, field)],
  );
}
