// fal's endpoints, with their fields and fal's list prices (github.com/Portkey-AI/models@f654307e, 2026-08-21;
// Marey: github.com/calesthio/generative-media-skills@8c85352, 2026-07-14; FLUX 3 and FLUX 3 Max: their pages at fal,
// 2026-11-07). fal's other FLUX prices are those of their vendor.
import { z } from "zod";
import { readDataUri } from "../../media/data-uri.ts";
import type { MediaSize } from "../../media/media-order.ts";
import { byArea, byPixels, bySecond, each, type PriceRule } from "../../media/price-rules.ts";
import { sizeOfRatio, sizeOfResolution } from "../../media/ratio-size.ts";

const common = { prompt: z.string(), seed: z.int().optional() };
const image = {
  ...common,
  output_format: z.enum(["jpeg", "png", "webp"]).optional(),
  num_images: z.int().min(1).max(4).optional(),
  enable_safety_checker: z.boolean().optional(),
};
const edge = z.int().min(64).max(4_096);
const NAMED = {
  square_hd: [1_024, 1_024],
  square: [512, 512],
  portrait_4_3: [768, 1_024],
  portrait_16_9: [576, 1_024],
  landscape_4_3: [1_024, 768],
  landscape_16_9: [1_024, 576],
} as const;
const named = z.enum([
  "square_hd",
  "square",
  "portrait_4_3",
  "portrait_16_9",
  "landscape_4_3",
  "landscape_16_9",
]);
const imageSize = { image_size: z.union([named, z.strictObject({ width: edge, height: edge })]).optional() };
const ratio = z.string().regex(/^\d{1,2}:\d{1,2}$/);
const uri = z.string().min(1);

const falRequest = z.object({
  ...image,
  ...imageSize,
  aspect_ratio: ratio.optional(),
  quality: z.enum(["low", "medium", "high"]).optional(),
  image_url: uri.optional(),
  image_urls: z.array(uri).optional(),
  mask_url: uri.optional(),
  dimensions: z.string().optional(),
  resolution: z.string().optional(),
  duration: z.union([z.string(), z.int()]).optional(),
  generate_audio: z.boolean().optional(),
});
export type FalRequest = z.infer<typeof falRequest>;

export interface FalModel {
  readonly kind: "image" | "video";
  readonly request: z.ZodType<FalRequest>;
  readonly price: PriceRule | "tokens";
}

const sized = (price: PriceRule, more = {}): FalModel => ({
  kind: "image",
  request: z.strictObject({ ...image, ...imageSize, ...more }),
  price,
});
const shaped = (price: PriceRule, more = {}): FalModel => ({
  kind: "image",
  request: z.strictObject({ ...image, aspect_ratio: ratio.optional(), ...more }),
  price,
});
const marey = (more = {}): FalModel => ({
  kind: "video",
  request: z.strictObject({
    ...common,
    dimensions: z.enum(["1920x1080", "1152x1152", "1536x1152", "1152x1536"]).optional(),
    duration: z.enum(["5s", "10s"]).optional(),
    ...more,
  }),
  price: bySecond(each("0.3")),
});
const flux3 = (more = {}): FalModel => ({
  kind: "video",
  request: z.strictObject({
    ...common,
    aspect_ratio: ratio.optional(),
    resolution: z.enum(["720p", "1080p"]).optional(),
    duration: z.int().min(5).max(20).optional(),
    generate_audio: z.boolean().optional(),
    ...more,
  }),
  price: bySecond(byPixels([1_280 * 720, "0.17"], [1_920 * 1_080, "0.29"])),
});
const gptImage = (more = {}): FalModel => ({
  kind: "image",
  request: z.strictObject({ ...image, ...imageSize, quality: falRequest.shape.quality, ...more }),
  price: "tokens",
});

export const FAL_MODELS: ReadonlyMap<string, FalModel> = new Map<string, FalModel>([
  ["blackforestlabs/flux-3/image-to-video", flux3({ image_url: uri })],
  ["blackforestlabs/flux-3/text-to-video", flux3()],
  ["blackforestlabs/flux-3-max/text-to-video", flux3()],
  ["fal-ai/flux-2-pro", sized(byArea("0.03", "0.015"))],
  ["fal-ai/flux-pro/kontext", shaped(each("0.04"), { image_url: uri })],
  ["fal-ai/flux-pro/kontext/text-to-image", shaped(each("0.04"))],
  ["fal-ai/flux-pro/v1.1", sized(each("0.04"))],
  ["fal-ai/flux-pro/v1.1-ultra", shaped(each("0.06"))],
  ["fal-ai/flux/dev", sized(each("0.025"))],
  ["fal-ai/flux/schnell", sized(each("0.003"))],
  ["moonvalley/marey/i2v", marey({ image_url: uri })],
  ["moonvalley/marey/t2v", marey()],
  ["openai/gpt-image-2", gptImage()],
  [
    "openai/gpt-image-2/edit",
    gptImage({ image_urls: z.array(uri).min(1).max(16), mask_url: uri.optional() }),
  ],
  [
    "sandbox/video",
    {
      kind: "video",
      request: z.strictObject({
        ...common,
        aspect_ratio: ratio.optional(),
        resolution: z.enum(["480p", "720p", "1080p"]).optional(),
        duration: z
          .string()
          .regex(/^[1-9]\d?$/)
          .optional(),
        generate_audio: z.boolean().optional(),
      }),
      price: bySecond(each("0.05")),
    },
  ],
]);

export function sizeOf(kind: FalModel["kind"], asked: FalRequest): MediaSize {
  const { image_size: size, aspect_ratio: shape, dimensions, resolution } = asked;
  if (dimensions !== undefined) {
    const [width = 0, height = 0] = dimensions.split("x").map(Number);
    return { width, height };
  }
  if (kind === "video") {
    return resolution === undefined && shape === undefined
      ? { width: 1_920, height: 1_080 }
      : sizeOfResolution(shape ?? "16:9", Number.parseInt(resolution ?? "720p", 10));
  }
  if (shape !== undefined) return sizeOfRatio(shape);
  if (typeof size === "object") return size;
  const [width, height] = NAMED[size ?? "landscape_4_3"];
  return { width, height };
}

/** @throws Refusal */
export function inputsOf({ image_url, image_urls = [], mask_url }: FalRequest): Buffer[] {
  const mask = mask_url === undefined ? [] : [readDataUri(mask_url, "mask_url")];
  const one = image_url === undefined ? [] : [readDataUri(image_url, "image_url")];
  return [...one, ...image_urls.map((each) => readDataUri(each, "image_urls")), ...mask];
}
