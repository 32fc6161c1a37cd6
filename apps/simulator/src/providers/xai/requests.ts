// Reads requests to xAI as strictly as it does: JSON only, and no field of OpenAI's that it does not have.
import { z } from "zod";
import { readDataUri } from "../../media/data-uri.ts";
import type { MediaOrder } from "../../media/media-order.ts";
import { sizeOfShape } from "../../media/ratio-size.ts";
import { readBody } from "../../media/read-body.ts";
import { Refusal, unknownModel } from "../../request/refusal.ts";
import { IMAGE_MODELS, IMAGE_SHAPES, VIDEO_MODELS, VIDEO_SHAPES } from "./models.ts";

const picture = z.strictObject({ url: z.string(), type: z.literal("image_url").optional() });
const imageFields = {
  model: z.string(),
  prompt: z.string().min(1),
  n: z.int().min(1).max(10).default(1),
  aspect_ratio: z.string().default("1:1"),
  resolution: z.enum(["1k", "2k"]).default("1k"),
  quality: z.enum(["low", "medium"]).optional(),
  response_format: z.enum(["url", "b64_json"]).default("url"),
  user: z.string().optional(),
};
const generation = z.strictObject(imageFields);
const edit = z
  .strictObject({
    ...imageFields,
    image: picture.optional(),
    images: z.array(picture).min(1).max(3).optional(),
  })
  .refine(
    ({ image, images }) => (image === undefined) !== (images === undefined),
    "image or images is needed",
  );

const videoFields = z.strictObject({
  model: z.string(),
  prompt: z.string().min(1),
  duration: z.int().min(1).max(15).default(8),
  aspect_ratio: z.string().default("16:9"),
  resolution: z.enum(["480p", "720p", "1080p"]).default("480p"),
  image: picture.optional(),
  reference_images: z.array(picture).min(1).optional(),
});

export interface XaiImageRequest {
  readonly order: MediaOrder;
  readonly format: "url" | "b64_json";
}

/** @throws Refusal */
export function readImageRequest(body: unknown, isEdit: boolean, requestId: string): XaiImageRequest {
  const asked: z.infer<typeof generation> & Partial<z.infer<typeof edit>> = isEdit
    ? readBody(edit, body)
    : readBody(generation, body);
  const model = IMAGE_MODELS.get(asked.model);
  if (model === undefined) throw unknownModel(asked.model);
  if (asked.quality !== undefined && !model.hasQualities) {
    throw new Refusal("invalid", `quality is not supported by ${asked.model}`, "quality");
  }
  const { resolution, quality = isEdit ? "medium" : "low" } = asked;
  const size = sizeOfShape(IMAGE_SHAPES, asked.aspect_ratio, resolution === "2k" ? 2 : 1);
  if (size === undefined) throw noShape(asked.aspect_ratio);
  const pictures = asked.images ?? (asked.image === undefined ? [] : [asked.image]);
  const inputs = pictures.map(({ url }) => readDataUri(url, "image"));
  const each = model.prices[quality][resolution];
  const order: MediaOrder = {
    model: asked.model,
    requestId,
    prompt: asked.prompt,
    size,
    wanted: { kind: "image", count: asked.n, format: "jpeg" },
    inputs,
    bill: (delivered) => ({ picoUsd: BigInt(delivered) * each + BigInt(inputs.length) * model.input }),
  };
  return { order, format: asked.response_format };
}

/** @throws Refusal */
export function readVideoRequest(body: unknown, requestId: string): MediaOrder {
  const asked = readBody(videoFields, body);
  const model = VIDEO_MODELS.get(asked.model);
  if (model === undefined) throw unknownModel(asked.model);
  const each = model.prices[asked.resolution];
  if (each === undefined)
    throw new Refusal("invalid", `resolution ${asked.resolution} is not supported`, "resolution");
  const size = sizeOfShape(VIDEO_SHAPES[asked.resolution], asked.aspect_ratio);
  if (size === undefined) throw noShape(asked.aspect_ratio);
  const pictures = [...(asked.image === undefined ? [] : [asked.image]), ...(asked.reference_images ?? [])];
  if (pictures.length > model.mostInputs || (model.needsInput && asked.image === undefined)) {
    throw new Refusal("invalid", `${asked.model} takes 1 to ${model.mostInputs} pictures`, "image");
  }
  if (asked.reference_images !== undefined && asked.duration > 10) {
    throw new Refusal("invalid", "duration must be at most 10 with reference_images", "duration");
  }
  const inputs = pictures.map(({ url }) => readDataUri(url, "image"));
  const { duration: seconds } = asked;
  return {
    model: asked.model,
    requestId,
    prompt: asked.prompt,
    size,
    wanted: { kind: "video", seconds },
    inputs,
    bill: () => ({ picoUsd: BigInt(seconds) * each + BigInt(inputs.length) * model.input }),
  };
}

const noShape = (ratio: string) =>
  new Refusal("invalid", `aspect_ratio ${ratio} is not supported`, "aspect_ratio");
