// OpenAI's images: their cost in tokens, and their answers, whole or as a stream.

import type { PicoUsd } from "../../bill/prices.ts";
import { inputImageTokens } from "../../media/image-size.ts";
import type { MediaOrder } from "../../media/media-order.ts";
import type { MediaResult } from "../../media/media-room.ts";
import { unixSeconds } from "../../request/simulation.ts";
import { promptTokens } from "../../text/tokens.ts";
import type { OpenAiImageRequest } from "./image-request.ts";

/** Output tokens of a partial image. */
const PARTIAL_TOKENS = 100;
/** Edge of a partial image before it is enlarged, in pixels. */
const COARSE_EDGE = 16;

/** Tokens of a whole request: each of its images is billed as a single request. */
interface ImageUsage {
  readonly textTokens: number;
  /** Tokens of the input pictures; a mask is not counted. */
  readonly inputImageTokens: number;
  readonly imageTokens: number;
}

function imageUsage(request: OpenAiImageRequest, delivered: number): ImageUsage {
  return {
    textTokens: promptTokens(request.prompt) * delivered,
    inputImageTokens: request.inputs.reduce((sum, input) => sum + inputImageTokens(input), 0) * delivered,
    imageTokens: (request.tokens + PARTIAL_TOKENS * (request.streamed ?? 0)) * delivered,
  };
}

function imageCost(request: OpenAiImageRequest, delivered: number, usage: ImageUsage): PicoUsd {
  const { price } = request.model;
  if (price.per === "image") {
    const inputs = (price.input ?? 0n) * BigInt(request.inputs.length);
    return (price.amount + inputs) * BigInt(delivered);
  }
  return (
    price.textInput * BigInt(usage.textTokens) +
    price.imageInput * BigInt(usage.inputImageTokens) +
    price.imageOutput * BigInt(usage.imageTokens)
  );
}

/** `requestId` is the request's id on the bill. */
export function imageOrder(request: OpenAiImageRequest, requestId: string): MediaOrder {
  const { model, prompt, size, count, format, compression, background, inputs, mask } = request;
  return {
    model: model.id,
    upstream: "openai",
    requestId,
    prompt,
    size,
    wanted: { kind: "image", count, format, compression, transparent: background === "transparent" },
    inputs: [...inputs, ...(mask === undefined ? [] : [mask])].map(({ bytes }) => bytes),
    fault: model.fault,
    bill: (delivered) => {
      const usage = imageUsage(request, delivered);
      return {
        picoUsd: imageCost(request, delivered, usage),
        inputTokens: usage.textTokens + usage.inputImageTokens,
        outputTokens: usage.imageTokens,
      };
    },
  };
}

/** The body of the answer, as text: pictures are large. */
export function imageAnswer(request: OpenAiImageRequest, { files }: MediaResult): string {
  const data = files.map(({ bytes }) => `{"b64_json":"${bytes.toString("base64")}"}`).join(",");
  return (
    `{"created":${unixSeconds()},"background":"${request.background}","data":[${data}],` +
    `"output_format":"${request.format}","quality":"${request.quality}",` +
    `"size":"${request.size.width}x${request.size.height}","usage":${usageJson(imageUsage(request, files.length))}}`
  );
}

/** Events of a stream, in their order: partial images, each finer than the one before, then the picture. */
export async function* imageEvents(
  name: "image_generation" | "image_edit",
  request: OpenAiImageRequest,
  { files: [file] }: MediaResult,
): AsyncGenerator<string> {
  if (file === undefined) return;
  const { streamed: partials = 0, format, size, quality, background } = request;
  const common =
    `"created_at":${unixSeconds()},"size":"${size.width}x${size.height}","quality":"${quality}",` +
    `"background":"${background}","output_format":"${format}"`;
  const event = (type: string, picture: Buffer, more: string) =>
    `event: ${name}.${type}\ndata: {"type":"${name}.${type}","b64_json":"${picture.toString("base64")}",${common},${more}}\n\n`;
  for (let index = 0; index < partials; index += 1) {
    const picture = await coarser(file.bytes, request, COARSE_EDGE * 2 ** index);
    yield event("partial_image", picture, `"partial_image_index":${index}`);
  }
  yield event("completed", file.bytes, `"usage":${usageJson(imageUsage(request, 1))}`);
}

/** Returns the picture at its size, as if it had been drawn with few pixels. Bytes that are no picture stay. */
async function coarser(bytes: Buffer, { size, format }: OpenAiImageRequest, edge: number): Promise<Buffer> {
  const { default: sharp } = await import("sharp");
  const { width, height } = size;
  const small = await sharp(bytes)
    .resize(edge, edge, { fit: "fill" })
    .png()
    .toBuffer()
    .catch(() => undefined);
  return small === undefined
    ? bytes
    : sharp(small).resize(width, height, { fit: "fill" }).toFormat(format).toBuffer();
}

function usageJson({ textTokens, inputImageTokens: pictures, imageTokens }: ImageUsage): string {
  const input = textTokens + pictures;
  return (
    `{"input_tokens":${input},` +
    `"input_tokens_details":{"image_tokens":${pictures},"text_tokens":${textTokens}},` +
    `"output_tokens":${imageTokens},` +
    `"output_tokens_details":{"image_tokens":${imageTokens},"text_tokens":0},` +
    `"total_tokens":${input + imageTokens}}`
  );
}
