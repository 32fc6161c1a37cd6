// Reads requests to ModelArk.
import { z } from "zod";
import { readDataUri } from "../../media/data-uri.ts";
import type { MediaOrder } from "../../media/media-order.ts";
import { sizeOfShape } from "../../media/ratio-size.ts";
import { readBody } from "../../media/read-body.ts";
import { Refusal, unknownModel } from "../../request/refusal.ts";
import { IMAGE_MODELS, imageTokens, VIDEO_MODELS, videoTokens } from "./models.ts";

const imageSchema = z.strictObject({
  model: z.string(),
  prompt: z.string().min(1),
  image: z.union([z.string().transform((uri) => [uri]), z.array(z.string()).min(1).max(14)]).default([]),
  size: z
    .string()
    .regex(/^\d{3,4}x\d{3,4}$/)
    .default("2048x2048"),
  response_format: z.enum(["url", "b64_json"]).default("url"),
  watermark: z.boolean().default(true),
  sequential_image_generation: z.literal("disabled").optional(),
});

const videoSchema = z.strictObject({
  model: z.string(),
  content: z
    .array(
      z.discriminatedUnion("type", [
        z.strictObject({ type: z.literal("text"), text: z.string().min(1) }),
        z.strictObject({
          type: z.literal("image_url"),
          image_url: z.strictObject({ url: z.string() }),
          role: z.enum(["first_frame", "last_frame", "reference_image"]).default("first_frame"),
        }),
      ]),
    )
    .min(1),
  ratio: z.enum(["16:9", "9:16"]).default("16:9"),
  resolution: z.enum(["480p", "720p", "1080p", "4k"]).default("720p"),
  duration: z.int().default(5),
  generate_audio: z.boolean().optional(),
  watermark: z.boolean().default(false),
});

export interface BytePlusImageRequest {
  readonly order: MediaOrder;
  readonly format: "url" | "b64_json";
}

/** @throws Refusal */
export function readImageRequest(body: unknown, requestId: string): BytePlusImageRequest {
  const asked = readBody(imageSchema, body);
  const model = IMAGE_MODELS.get(asked.model);
  if (model === undefined) throw unknownModel(asked.model);
  const [width = 0, height = 0] = asked.size.split("x").map(Number);
  const size = { width, height };
  if (width * height < model.fewestPixels || width * height > model.mostPixels) throw notValid("size");
  const inputs = asked.image.map((uri) => readDataUri(uri, "image"));
  const further = Math.max(inputs.length - 1, 0);
  const picoUsd = model.priceOf(width * height) + BigInt(further) * model.furtherInput;
  const order: MediaOrder = {
    model: asked.model,
    requestId,
    prompt: asked.prompt,
    size,
    wanted: { kind: "image", count: 1, format: "jpeg" },
    inputs,
    bill: () => ({ picoUsd, outputTokens: imageTokens(size) }),
  };
  return { order, format: asked.response_format };
}

/** @throws Refusal */
export function readTask(body: unknown, requestId: string): MediaOrder {
  const asked = readBody(videoSchema, body);
  const model = VIDEO_MODELS.get(asked.model);
  if (model === undefined) throw unknownModel(asked.model);
  const { resolution, duration: seconds } = asked;
  const price = model.prices[resolution];
  const shape = model.sizes[resolution];
  if (price === undefined || shape === undefined) throw notValid("resolution");
  const size = sizeOfShape({ "16:9": shape }, asked.ratio);
  if (size === undefined) throw notValid("ratio");
  const [least, most] = model.seconds;
  if (seconds < least || seconds > most) throw notValid("duration");
  if (asked.generate_audio !== undefined && !model.hasAudio) throw notValid("generate_audio");
  const uris = asked.content.flatMap((each) => (each.type === "image_url" ? [each.image_url.url] : []));
  const outputTokens = videoTokens(size, seconds);
  return {
    model: asked.model,
    requestId,
    prompt: asked.content.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n"),
    size,
    wanted: { kind: "video", seconds },
    inputs: uris.map((uri) => readDataUri(uri, "content.image_url")),
    bill: () => ({ picoUsd: BigInt(outputTokens) * price, outputTokens }),
  };
}

function notValid(field: string): Refusal {
  return new Refusal("invalid", `The parameter \`${field}\` specified in the request is not valid.`, field);
}
