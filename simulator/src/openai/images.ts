// Answers image requests: draws the pictures, bills them, and reports the tokens they are priced by.
// Like the real service it finishes and bills what it has begun, also when the caller has gone.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { DrawingRoom } from "../drawing-room.ts";
import type { PictureOrder } from "../picture.ts";
import type { PicoUsd } from "../prices.ts";
import { Refusal, serverFailure } from "../refusal.ts";
import { type Simulation, uniqueHex, unixSeconds } from "../simulation.ts";
import { promptTokens } from "../tokens.ts";
import type { ImageRequest } from "./image-request.ts";
import { imageTokens } from "./image-size.ts";

/** The tokens of a whole request: each of its images is billed as if asked for alone. */
export interface ImageUsage {
  readonly textTokens: number;
  readonly imageTokens: number;
}

function imageUsage(request: ImageRequest): ImageUsage {
  return {
    textTokens: promptTokens(request.prompt) * request.count,
    imageTokens: imageTokens(request.size, request.quality, request.model.grid) * request.count,
  };
}

function imageCost(request: ImageRequest, usage: ImageUsage): PicoUsd {
  const { price } = request.model;
  if (price.per === "image") return price.amount * BigInt(request.count);
  return price.textInput * BigInt(usage.textTokens) + price.imageOutput * BigInt(usage.imageTokens);
}

/** Draws, bills, and returns the answer's body. `requestId` is what the bill calls the request. */
export async function generateImages(
  simulation: Simulation,
  room: DrawingRoom,
  request: ImageRequest,
  requestId: string,
): Promise<string> {
  if (request.model.fault === "error") throw serverFailure();
  if (request.model.fault === "blocked") throw blockedByModeration();
  simulation.beginWork();
  try {
    return await drawAndBill(simulation, room, request, requestId);
  } finally {
    simulation.endWork();
  }
}

async function drawAndBill(
  simulation: Simulation,
  room: DrawingRoom,
  request: ImageRequest,
  requestId: string,
): Promise<string> {
  const { signal } = simulation.stopping;
  if (simulation.imageDelayMs > 0) await sleep(simulation.imageDelayMs, undefined, { signal });
  const pictures = await room.draw(ordersOf(request), signal);
  const usage = imageUsage(request);
  simulation.bill.record({
    requestId,
    generationId: `img_${uniqueHex(32)}`,
    model: request.model.id,
    picoUsd: imageCost(request, usage),
    inputTokens: usage.textTokens,
    outputTokens: usage.imageTokens,
    finishReason: "stop",
    streamed: false,
    cancelled: false,
    createdAt: Date.now(),
  });
  const data = pictures.map((picture) => `{"b64_json":"${picture.toString("base64")}"}`).join(",");
  return (
    `{"created":${unixSeconds()},"background":"${request.background}","data":[${data}],` +
    `"output_format":"${request.format}","quality":"${request.quality}",` +
    `"size":"${request.size.width}x${request.size.height}","usage":${usageJson(usage)}}`
  );
}

function usageJson(usage: ImageUsage): string {
  return (
    `{"input_tokens":${usage.textTokens},` +
    `"input_tokens_details":{"image_tokens":0,"text_tokens":${usage.textTokens}},` +
    `"output_tokens":${usage.imageTokens},` +
    `"output_tokens_details":{"image_tokens":${usage.imageTokens},"text_tokens":0},` +
    `"total_tokens":${usage.textTokens + usage.imageTokens}}`
  );
}

function ordersOf(request: ImageRequest): PictureOrder[] {
  const seed = randomUUID();
  const { width, height } = request.size;
  return Array.from({ length: request.count }, (_, index) => ({
    prompt: request.prompt,
    caption: `${request.model.id} ${width}x${height}${request.count > 1 ? ` ${index + 1} of ${request.count}` : ""}`,
    seed,
    index,
    width,
    height,
    format: request.format,
    compression: request.compression,
    transparent: request.background === "transparent",
  }));
}

function blockedByModeration(): Refusal {
  return new Refusal(
    "blocked",
    `Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID req_${uniqueHex(32)}.`,
    null,
    "moderation_blocked",
  );
}
