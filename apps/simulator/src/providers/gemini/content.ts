// Google's generateContent, as far as it generates pictures.
import { z } from "zod";
import type { MediaOrder } from "../../media/media-order.ts";
import type { MediaResult } from "../../media/media-room.ts";
import { sizeOfShape } from "../../media/ratio-size.ts";
import { readBody } from "../../media/read-body.ts";
import { Refusal, unknownModel } from "../../request/refusal.ts";
import { uniqueHex } from "../../request/simulation.ts";
import { promptTokens } from "../../text/tokens.ts";
import {
  billOfPicture,
  CLASS_FACTORS,
  type GeminiImageModel,
  IMAGE_MODELS,
  IMAGE_SHAPES,
  STRIP_SHAPES,
} from "./models.ts";

const part = z.union([
  z.strictObject({ text: z.string().min(1) }),
  z.strictObject({ inlineData: z.strictObject({ mimeType: z.string(), data: z.base64() }) }),
]);
const bodySchema = z.strictObject({
  contents: z.tuple([z.strictObject({ role: z.literal("user").optional(), parts: z.array(part).min(1) })]),
  generationConfig: z.strictObject({
    responseModalities: z.array(z.enum(["TEXT", "IMAGE"])).refine((all) => all.includes("IMAGE")),
    imageConfig: z
      .strictObject({
        aspectRatio: z.string().default("1:1"),
        imageSize: z.enum(["512", "1K", "2K", "4K"]).default("1K"),
      })
      .prefault({}),
  }),
});

/** The order, and the part of its usage that is not billed. */
export interface ContentRequest {
  readonly order: MediaOrder;
  readonly textTokens: number;
}

/** @throws Refusal */
export function readContentRequest(modelId: string, body: unknown, requestId: string): ContentRequest {
  const model = IMAGE_MODELS.get(modelId);
  if (model === undefined) throw unknownModel(modelId);
  const { contents, generationConfig } = readBody(bodySchema, body);
  const { aspectRatio, imageSize } = generationConfig.imageConfig;
  const size = sizeOfShape(shapesOf(model), aspectRatio, CLASS_FACTORS[imageSize]);
  if (size === undefined) throw invalid("aspect_ratio", aspectRatio);
  const [{ parts }] = contents;
  const prompt = parts.flatMap((each) => ("text" in each ? each.text : [])).join("\n");
  const inputs = parts.flatMap((each) =>
    "inlineData" in each ? [Buffer.from(each.inlineData.data, "base64")] : [],
  );
  const billed = billOfPicture(model, imageSize, prompt, inputs.length);
  if (billed === undefined) throw invalid("image_size", imageSize);
  const order: MediaOrder = {
    model: modelId,
    requestId,
    prompt,
    size,
    wanted: { kind: "image", count: 1, format: "png" },
    inputs,
    bill: () => billed,
  };
  return { order, textTokens: promptTokens(prompt) };
}

const shapesOf = ({ hasStrips }: GeminiImageModel) =>
  hasStrips ? { ...IMAGE_SHAPES, ...STRIP_SHAPES } : IMAGE_SHAPES;

function invalid(field: string, value: string): Refusal {
  const path = `generation_config.image_config.${field}`;
  return new Refusal("invalid", `Invalid value at '${path}': "${value}"`, path);
}

export function contentAnswer({ order, textTokens }: ContentRequest, { files, billed }: MediaResult): object {
  const { inputTokens = 0, outputTokens = 0 } = billed;
  const parts = files.map(({ type, bytes }) => ({
    inlineData: { mimeType: type, data: bytes.toString("base64") },
  }));
  return {
    candidates: [{ content: { parts, role: "model" }, finishReason: "STOP", index: 0 }],
    usageMetadata: {
      promptTokenCount: inputTokens,
      candidatesTokenCount: outputTokens,
      totalTokenCount: inputTokens + outputTokens,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: textTokens },
        { modality: "IMAGE", tokenCount: inputTokens - textTokens },
      ],
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: outputTokens }],
    },
    modelVersion: order.model,
    responseId: uniqueHex(20),
  };
}
