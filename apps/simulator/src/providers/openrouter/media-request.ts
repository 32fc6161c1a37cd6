// Reads the bodies of OpenRouter's image and video requests into orders for MediaRoom.
import { z } from "zod";
import type { MediaOrder, MediaSize } from "../../media/media-order.ts";
import { readBody } from "../../media/read-body.ts";
import { Refusal, unknownModel } from "../../request/refusal.ts";
import { billOfPicture } from "../gemini/models.ts";
import {
  DEFAULT_SECONDS,
  DEFAULT_VIDEO_SIZE,
  MOST_SECONDS,
  ROUTED_IMAGE_MODELS,
  ROUTED_VIDEO_MODELS,
} from "./media-models.ts";

const size = z.string().regex(/^[1-9]\d{1,3}x[1-9]\d{1,3}$/);
const ratio = z.string().regex(/^[1-9]\d?:[1-9]\d?$/);
const reference = z.strictObject({
  type: z.literal("image_url"),
  image_url: z.strictObject({ url: z.string().regex(/^data:image\/(png|jpeg|webp);base64,/) }),
});
const provider = z.looseObject({}).optional();

const imageSchema = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().min(1),
  n: z.literal(1).optional(),
  resolution: z.enum(["512", "1K", "2K", "4K"]).optional(),
  aspect_ratio: ratio.optional(),
  size: size.optional(),
  quality: z.string().optional(),
  seed: z.int().optional(),
  input_references: z.array(reference).max(16).optional(),
  provider,
});

const videoSchema = z.strictObject({
  model: z.string().min(1),
  prompt: z.string(),
  duration: z.int().min(1).max(MOST_SECONDS).optional(),
  resolution: z.enum(["480p", "720p", "1080p", "4K"]).optional(),
  aspect_ratio: ratio.optional(),
  size: size.optional(),
  generate_audio: z.boolean().optional(),
  seed: z.int().optional(),
  frame_images: z
    .array(reference.extend({ frame_type: z.enum(["first_frame", "last_frame"]) }))
    .max(2)
    .optional(),
  input_references: z.array(reference).max(16).optional(),
  callback_url: z.url().optional(),
  provider,
});

/** Edges of a square of each class, in pixels. */
const EDGE: Readonly<Record<string, number>> = {
  "512": 512,
  "1K": 1024,
  "2K": 2048,
  "4K": 4096,
  "480p": 640,
  "720p": 960,
  "1080p": 1440,
};

/** Throws a `Refusal`. */
export function readImageOrder(body: unknown, requestId: string): MediaOrder {
  const asked = readBody(imageSchema, body);
  const model = ROUTED_IMAGE_MODELS.get(asked.model);
  if (model === undefined) throw unknownModel(asked.model);
  const { prompt, resolution = "1K" } = asked;
  const inputs = bytesOf(asked.input_references);
  const billed = billOfPicture(model, resolution, prompt, inputs.length);
  if (billed === undefined) {
    throw new Refusal("invalid", `${asked.model} makes no images of ${resolution}`, "resolution");
  }
  return {
    model: asked.model,
    upstream: "openrouter",
    requestId,
    prompt,
    size: sizeOf(asked) ?? { width: 1024, height: 1024 },
    wanted: { kind: "image", count: 1, format: "png" },
    inputs,
    bill: () => billed,
  };
}

/** Throws a `Refusal`. */
export function readVideoOrder(body: unknown, requestId: string): MediaOrder {
  const asked = readBody(videoSchema, body);
  const model = ROUTED_VIDEO_MODELS.get(asked.model);
  if (model === undefined) throw unknownModel(asked.model);
  const inputs = [...bytesOf(asked.frame_images), ...bytesOf(asked.input_references)];
  if (inputs.length > 0 !== (model.images === "needed")) {
    const message = `${asked.model} ${model.images === "needed" ? "needs an image" : "takes no images"}`;
    throw new Refusal("invalid", message, "frame_images");
  }
  const seconds = asked.duration ?? DEFAULT_SECONDS;
  return {
    model: asked.model,
    upstream: "openrouter",
    requestId,
    prompt: asked.prompt,
    size: sizeOf(asked) ?? DEFAULT_VIDEO_SIZE,
    wanted: { kind: "video", seconds },
    inputs,
    fault: model.fault,
    bill: (delivered) => ({ picoUsd: model.pricePerSecond * BigInt(seconds) * BigInt(delivered) }),
  };
}

interface Shape {
  readonly size?: string | undefined;
  readonly aspect_ratio?: string | undefined;
  readonly resolution?: string | undefined;
}

/** Size by edges, or by a ratio and a class. Undefined without either. */
function sizeOf({ size: edges, aspect_ratio: shape, resolution = "1K" }: Shape): MediaSize | undefined {
  if (edges !== undefined) {
    const [width = 0, height = 0] = edges.split("x").map(Number);
    return { width, height };
  }
  if (shape === undefined) return undefined;
  const [across = 1, down = 1] = shape.split(":").map(Number);
  const edge = EDGE[resolution] ?? 1024;
  const even = (length: number) => Math.max(16, 2 * Math.round(length / 2));
  return { width: even(edge * Math.sqrt(across / down)), height: even(edge * Math.sqrt(down / across)) };
}

function bytesOf(references: readonly z.infer<typeof reference>[] = []): Buffer[] {
  return references.map(({ image_url: { url } }) => Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
}
