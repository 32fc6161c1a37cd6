// Black Forest Labs' models: what each takes, and what it costs by the list of
// github.com/black-forest-labs/skills@d0793c8 (2026-02-03). A credit is a cent.
import { z } from "zod";
import type { MediaSize } from "../media/media-order.ts";
import { byArea, each, type PriceRule } from "../media/price-rules.ts";
import { sizeOfRatio } from "../media/ratio-size.ts";
import { Refusal } from "../refusal.ts";

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
});
export type BflRequest = z.infer<typeof bflRequest>;

export interface BflModel {
  readonly request: z.ZodType<BflRequest>;
  readonly price: PriceRule;
}

const sized = z.strictObject({ ...common, ...pixels });
const kontext = z.strictObject({ ...common, ...ratio, input_image: picture.optional() });

export const BFL_MODELS: ReadonlyMap<string, BflModel> = new Map<string, BflModel>([
  ["flux-2-pro", { request: sized, price: byArea("0.03", "0.015") }],
  ["flux-2-max", { request: sized, price: byArea("0.07", "0.03") }],
  ["flux-2-flex", { request: sized, price: byArea("0.05", "0.05") }],
  ["flux-2-klein-4b", { request: sized, price: byArea("0.014", "0.001") }],
  ["flux-2-klein-9b", { request: sized, price: byArea("0.015", "0.002") }],
  ["flux-kontext-pro", { request: kontext, price: each("0.04") }],
  ["flux-kontext-max", { request: kontext, price: each("0.08") }],
  ["flux-pro-1.1", { request: sized, price: each("0.04") }],
  ["flux-pro-1.1-ultra", { request: z.strictObject({ ...common, ...ratio }), price: each("0.06") }],
  [
    "flux-pro-1.0-fill",
    { request: z.strictObject({ ...common, image: picture, mask: picture.optional() }), price: each("0.05") },
  ],
]);

const USUAL = 1_024;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function sizeOf({ width, height, aspect_ratio }: BflRequest): MediaSize {
  if (aspect_ratio !== undefined) return sizeOfRatio(aspect_ratio);
  return { width: width ?? USUAL, height: height ?? USUAL };
}

/** @throws Refusal */
export function inputsOf({ input_image, image, mask }: BflRequest): Buffer[] {
  return Object.entries({ input_image, image, mask }).flatMap(([field, text]) =>
    text === undefined ? [] : [readBase64(field, text)],
  );
}

function readBase64(field: string, text: string): Buffer {
  if (BASE64.test(text)) return Buffer.from(text, "base64");
  throw new Refusal("invalid", `${field} must be a picture in base64`, field);
}
