// Black Forest Labs' models, with their fields and their prices in the list of
// github.com/black-forest-labs/skills@d0793c8 (2026-02-03), FLUX 3 Video by bfl.ai/pricing. A credit is a cent.
import { z } from "zod";
import type { MediaSize } from "../../media/media-order.ts";
import { byArea, byPixels, bySecond, each, type PriceRule } from "../../media/price-rules.ts";
import { sizeOfRatio, sizeOfResolution } from "../../media/ratio-size.ts";
import { Refusal } from "../../request/refusal.ts";

const common = {
  prompt: z.string(),
  seed: z.int().optional(),
  safety_tolerance: z.int().min(0).max(6).optional(),
  output_format: z.enum(["jpeg", "png"]).optional(),
  prompt_upsampling: z.boolean().optional(),
};
const edge = z.int().min(64).multipleOf(16).optional();
const pixels = { width: edge, height: edge };
const ratio = {
  aspect_ratio: z
    .string()
    .regex(/^\d{1,2}:\d{1,2}$/)
    .optional(),
};
const picture = z.string().min(1);

const bflRequest = z.object({
  ...common,
  ...pixels,
  ...ratio,
  input_image: picture.optional(),
  image: picture.optional(),
  mask: picture.optional(),
  mode: z.enum(["t2v", "i2v"]).optional(),
  duration: z.int().min(5).max(20).optional(),
  resolution: z.enum(["hd", "fhd"]).optional(),
  generate_audio: z.boolean().optional(),
  keyframes: z.array(picture).min(1).max(2).optional(),
});
export type BflRequest = z.infer<typeof bflRequest>;

export interface BflModel {
  readonly kind: "image" | "video";
  readonly request: z.ZodType<BflRequest>;
  readonly price: PriceRule;
}

const sized = z.strictObject({ ...common, ...pixels });
const kontext = z.strictObject({ ...common, ...ratio, input_image: picture.optional() });

const modelOf = (request: BflModel["request"], price: PriceRule): BflModel => ({
  kind: "image",
  request,
  price,
});
const film = {
  prompt: z.string(),
  safety_tolerance: common.safety_tolerance,
  ...ratio,
  duration: bflRequest.shape.duration,
  resolution: bflRequest.shape.resolution,
  generate_audio: bflRequest.shape.generate_audio,
};

export const BFL_MODELS: ReadonlyMap<string, BflModel> = new Map<string, BflModel>([
  ["flux-2-pro", modelOf(sized, byArea("0.03", "0.015"))],
  ["flux-2-max", modelOf(sized, byArea("0.07", "0.03"))],
  ["flux-2-flex", modelOf(sized, byArea("0.05", "0.05"))],
  ["flux-2-klein-4b", modelOf(sized, byArea("0.014", "0.001"))],
  ["flux-2-klein-9b", modelOf(sized, byArea("0.015", "0.002"))],
  ["flux-kontext-pro", modelOf(kontext, each("0.04"))],
  ["flux-kontext-max", modelOf(kontext, each("0.08"))],
  ["flux-pro-1.1", modelOf(sized, each("0.04"))],
  ["flux-pro-1.1-ultra", modelOf(z.strictObject({ ...common, ...ratio }), each("0.06"))],
  [
    "flux-pro-1.0-fill",
    modelOf(z.strictObject({ ...common, image: picture, mask: picture.optional() }), each("0.05")),
  ],
  [
    "flux-3-video",
    {
      kind: "video",
      request: z.discriminatedUnion("mode", [
        z.strictObject({ mode: z.literal("t2v"), ...film }),
        z.strictObject({ mode: z.literal("i2v"), ...film, keyframes: z.array(picture).min(1).max(2) }),
      ]),
      price: bySecond(byPixels([1_280 * 720, "0.17"], [1_920 * 1_080, "0.29"])),
    },
  ],
]);

const USUAL = 1_024;
const SHORTER_EDGE = { hd: 720, fhd: 1_080 } as const;
export const USUAL_SECONDS = 5;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function sizeOf(kind: BflModel["kind"], asked: BflRequest): MediaSize {
  const { width, height, aspect_ratio, resolution = "hd" } = asked;
  if (kind === "video") return sizeOfResolution(aspect_ratio ?? "16:9", SHORTER_EDGE[resolution]);
  if (aspect_ratio !== undefined) return sizeOfRatio(aspect_ratio);
  return { width: width ?? USUAL, height: height ?? USUAL };
}

/** @throws Refusal */
export function inputsOf({ input_image, image, mask, keyframes = [] }: BflRequest): Buffer[] {
  const named = Object.entries({ input_image, image, mask }).flatMap(([field, text]) =>
    text === undefined ? [] : [readBase64(field, text)],
  );
  return [...named, ...keyframes.map((text) => readBase64("keyframes", text))];
}

function readBase64(field: string, text: string): Buffer {
  if (BASE64.test(text)) return Buffer.from(text, "base64");
  throw new Refusal("invalid", `${field} must be a picture in base64`, field);
}
