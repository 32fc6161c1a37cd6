// Reads requests to Together.
import { z } from "zod";
import { readDataUri } from "../../media/data-uri.ts";
import type { MediaOrder } from "../../media/media-order.ts";
import { readBody } from "../../media/read-body.ts";
import { Refusal, unknownModel } from "../../request/refusal.ts";
import { IMAGE_MODELS, VIDEO_MODELS } from "./models.ts";

const edge = z.int().min(64).max(16_384);

const imageSchema = z.strictObject({
  model: z.string(),
  prompt: z.string().min(1),
  n: z.int().min(1).max(4).default(1),
  width: edge.default(1_024),
  height: edge.default(1_024),
  steps: z.int().min(1).max(100).optional(),
  seed: z.int().optional(),
  negative_prompt: z.string().optional(),
  guidance_scale: z.number().optional(),
  reference_images: z.array(z.string()).min(1).optional(),
  response_format: z.enum(["url", "base64"]).default("url"),
  output_format: z.enum(["jpeg", "png"]).default("jpeg"),
  disable_safety_checker: z.boolean().optional(),
});

const videoSchema = z.strictObject({
  model: z.string(),
  prompt: z.string().min(1),
  /** Text only: Together refuses a number. */
  seconds: z
    .string()
    .regex(/^\d{1,2}$/)
    .default("5"),
  width: edge.default(1_280),
  height: edge.default(720),
  fps: z.int().optional(),
  seed: z.int().optional(),
  output_format: z.literal("MP4").optional(),
  negative_prompt: z.string().optional(),
  generate_audio: z.boolean().optional(),
  media: z
    .strictObject({
      frame_images: z
        .array(z.strictObject({ input_image: z.string(), frame: z.enum(["first", "last"]).optional() }))
        .min(1)
        .max(2)
        .optional(),
      reference_images: z.array(z.string()).min(1).optional(),
    })
    .optional(),
});

export interface TogetherImageRequest {
  readonly order: MediaOrder;
  readonly format: "url" | "base64";
}

/** @throws Refusal */
export function readImageRequest(body: unknown, requestId: string): TogetherImageRequest {
  const asked = readBody(imageSchema, body);
  const model = IMAGE_MODELS.get(asked.model);
  if (model === undefined) throw unknownModel(asked.model);
  const { width, height, reference_images: uris = [] } = asked;
  if (uris.length > model.mostInputs) {
    throw new Refusal("invalid", `at most ${model.mostInputs} reference images`, "reference_images");
  }
  const each = model.priceOf(width * height);
  const order: MediaOrder = {
    model: asked.model,
    requestId,
    prompt: asked.prompt,
    size: { width, height },
    wanted: { kind: "image", count: asked.n, format: asked.output_format },
    inputs: uris.map((uri) => readDataUri(uri, "reference_images")),
    bill: (delivered) => ({ picoUsd: BigInt(delivered) * each }),
  };
  return { order, format: asked.response_format };
}

/** @throws Refusal */
export function readVideoRequest(body: unknown, requestId: string): MediaOrder {
  const asked = readBody(videoSchema, body);
  const model = VIDEO_MODELS.get(asked.model);
  if (model === undefined) throw unknownModel(asked.model);
  const seconds = Number(asked.seconds);
  const picoUsd = model.prices[seconds];
  if (picoUsd === undefined)
    throw new Refusal("invalid", `${asked.model} makes no ${seconds} seconds`, "seconds");
  const frames = asked.media?.frame_images?.map((frame) => frame.input_image) ?? [];
  const { width, height } = asked;
  return {
    model: asked.model,
    requestId,
    prompt: asked.prompt,
    size: { width, height },
    wanted: { kind: "video", seconds },
    inputs: [...frames, ...(asked.media?.reference_images ?? [])].map((uri) => readDataUri(uri, "media")),
    bill: () => ({ picoUsd }),
  };
}
