// Reads the fields of an image request as strictly as OpenAI does for its GPT image models.
import type { PictureFormat } from "../../drawing/picture.ts";
import { type ImageQuality, type ImageSize, readImageSize } from "../../media/image-size.ts";
import { Refusal, unknownModel } from "../../request/refusal.ts";
import { isObject, type JsonObject, missing, wrongType } from "../../request/request-fields.ts";
import { IMAGE_MODELS, type ImageModel } from "../../text/models.ts";

export interface OpenAiImageRequest {
  readonly model: ImageModel;
  readonly prompt: string;
  readonly count: number;
  readonly size: ImageSize;
  readonly quality: ImageQuality;
  /** Output tokens of each image. */
  readonly tokens: number;
  readonly format: PictureFormat;
  readonly compression: number;
  readonly background: "transparent" | "opaque";
  /** Input pictures; none if only the prompt describes the picture. */
  readonly inputs: readonly InputImage[];
  readonly mask: InputImage | undefined;
  /** Number of partial images of a stream; undefined for a plain answer. */
  readonly streamed: number | undefined;
}

/** An input picture, parsed but not decoded. */
export interface InputImage {
  readonly bytes: Buffer;
  readonly width: number;
  readonly height: number;
  readonly format: string;
  readonly hasAlpha: boolean;
}

const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  "prompt",
  "model",
  "n",
  "size",
  "quality",
  "output_format",
  "output_compression",
  "background",
  "moderation",
  "stream",
  "partial_images",
  "user",
  "safety_identifier",
]);
const LONGEST_PROMPT = 32_000;
const MOST_IMAGES = 10;

/** @param more further allowed fields. Throws a `Refusal`. */
export function readImageRequest(body: unknown, more: readonly string[] = []): OpenAiImageRequest {
  if (!isObject(body)) throw new Refusal("invalid", "The request body must be a JSON object.");
  const model = readModel(body);
  for (const field of Object.keys(body)) {
    if (KNOWN_FIELDS.has(field) || more.includes(field)) continue;
    throw new Refusal("invalid", `Unknown parameter: '${field}'.`, field, "unknown_parameter");
  }
  const prompt = readPrompt(body);
  const count = readInteger(body, "n", 1, MOST_IMAGES) ?? 1;
  const sizeText = readText(body, "size") ?? "auto";
  const size = sizeText === "auto" ? { width: 1024, height: 1024 } : readImageSize(sizeText);
  const qualityText = readChoice(body, "quality", ["low", "medium", "high", "auto"]) ?? "auto";
  const quality = qualityText === "auto" ? "medium" : qualityText;
  const format = readChoice(body, "output_format", ["png", "jpeg", "webp"]) ?? "png";
  const background = readChoice(body, "background", ["transparent", "opaque", "auto"]) ?? "auto";
  readChoice(body, "moderation", ["low", "auto"]);
  readText(body, "user");
  readText(body, "safety_identifier");
  const streamed = readStream(body, count);
  if (background === "transparent" && format === "jpeg") {
    throw new Refusal(
      "invalid",
      "Transparent background is not supported for the output format 'jpeg'.",
      "background",
      "invalid_value",
    );
  }
  return {
    model,
    prompt,
    count,
    size,
    quality,
    tokens: model.tokensOf(size, quality),
    format,
    compression: readInteger(body, "output_compression", 0, 100) ?? 100,
    background: background === "transparent" ? "transparent" : "opaque",
    inputs: [],
    mask: undefined,
    streamed,
  };
}

function readModel(body: JsonObject): ImageModel {
  const id = readText(body, "model");
  if (id === undefined || id === "") throw new Refusal("invalid", "you must provide a model parameter");
  const model = IMAGE_MODELS.get(id);
  if (model === undefined) throw unknownModel(id);
  return model;
}

function readPrompt(body: JsonObject): string {
  const prompt = readText(body, "prompt");
  if (prompt === undefined) throw missing("prompt");
  if (prompt === "") {
    throw new Refusal(
      "invalid",
      "Invalid 'prompt': empty string. Expected a string with minimum length 1, but got an empty string instead.",
      "prompt",
      "empty_string",
    );
  }
  // Python counts characters, not halves of surrogate pairs.
  const { length } = prompt.length > LONGEST_PROMPT ? [...prompt] : prompt;
  if (length > LONGEST_PROMPT) {
    throw new Refusal(
      "invalid",
      `Invalid 'prompt': string too long. Expected a string with maximum length ${LONGEST_PROMPT}, but got a string with length ${length} instead.`,
      "prompt",
      "string_above_max_length",
    );
  }
  return prompt;
}

/** @returns the number of partial images of a stream; undefined for a plain answer */
function readStream(body: JsonObject, count: number): number | undefined {
  const stream = body["stream"];
  if (stream != null && typeof stream !== "boolean") throw wrongType("stream", "a boolean", stream);
  const partials = readInteger(body, "partial_images", 0, 3) ?? 0;
  if (stream !== true) return undefined;
  if (count > 1) throw new Refusal("invalid", "Streaming is only supported with n=1.");
  return partials;
}

function readText(body: JsonObject, name: string): string | undefined {
  const value = body[name];
  if (value == null) return undefined;
  if (typeof value !== "string") throw wrongType(name, "a string", value);
  return value;
}

function readInteger(body: JsonObject, name: string, least: number, most: number): number | undefined {
  const value = body[name];
  if (value == null) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value)) throw wrongType(name, "an integer", value);
  if (value >= least && value <= most) return value;
  const above = value > most;
  throw new Refusal(
    "invalid",
    `Invalid '${name}': integer ${above ? "above maximum" : "below minimum"} value. Expected a value ${above ? `<= ${most}` : `>= ${least}`}, but got ${value} instead.`,
    name,
    above ? "integer_above_max_value" : "integer_below_min_value",
  );
}

function readChoice<Choice extends string>(
  body: JsonObject,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = readText(body, name);
  if (value === undefined) return undefined;
  const choice = choices.find((candidate) => candidate === value);
  if (choice !== undefined) return choice;
  const listed = choices.map((candidate) => `'${candidate}'`);
  throw new Refusal(
    "invalid",
    `Invalid value: '${value}'. Supported values are: ${listed.slice(0, -1).join(", ")}, and ${listed.at(-1)}.`,
    name,
    "invalid_value",
  );
}
