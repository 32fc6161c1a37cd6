// What a caller may send to the image paths. Unknown fields are ignored, null counts as absent; every message names
// its field.
import { z } from "zod";

const MAX_PROMPT_CHARACTERS = 20_000;
const MAX_COUNT = 10;
const BAD_COUNT = `n must be a whole number from 1 to ${MAX_COUNT}`;

const QUALITIES = ["auto", "low", "medium", "high"] as const;
const RESPONSE_FORMATS = ["url", "b64_json", "b64_ephemeral"] as const;
const OUTPUT_FORMATS = ["webp", "jpeg", "png"] as const;

export type Quality = Exclude<(typeof QUALITIES)[number], "auto">;
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

function choice<const Values extends readonly [string, ...string[]]>(
  field: string,
  values: Values,
  byDefault: Values[number],
) {
  return z
    .enum(values, { error: `${field} must be one of ${values.join(", ")}` })
    .nullish()
    .meta({ default: byDefault })
    .transform((value): Values[number] => value ?? byDefault);
}

const input = (description: string) => z.unknown().optional().describe(description);

export const imageRequestSchema = z.object({
  model: z.string({ error: "model must be a string" }).min(1, "model must not be empty"),
  prompt: z
    .string({ error: "prompt must be a string" })
    .refine((prompt) => characters(prompt) <= MAX_PROMPT_CHARACTERS, {
      error: `prompt must have at most ${MAX_PROMPT_CHARACTERS} characters`,
    })
    .nullish()
    .meta({ maxLength: MAX_PROMPT_CHARACTERS }),
  quality: choice("quality", QUALITIES, "auto"),
  size: z
    .string({ error: "size must be a string" })
    .regex(
      /^(auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/,
      "size must be auto or <WIDTH>x<HEIGHT>, for example 1024x1024",
    )
    .nullish()
    .meta({ default: "auto" })
    .transform((size) => size ?? "auto"),
  response_format: choice("response_format", RESPONSE_FORMATS, "url"),
  output_format: choice("output_format", OUTPUT_FORMATS, "webp"),
  n: z
    .number({ error: BAD_COUNT })
    .int(BAD_COUNT)
    .min(1, BAD_COUNT)
    .max(MAX_COUNT, BAD_COUNT)
    .nullish()
    .meta({ default: 1 })
    .transform((n) => n ?? 1),
  image: input("input image, as a URL or a data URI, or a list of them"),
  "image[]": input("as image"),
  mask: input("editing mask, as image"),
  "mask[]": input("as mask"),
});
export type ImageRequest = z.infer<typeof imageRequestSchema>;

const FIELDS = Object.keys(imageRequestSchema.shape) as (keyof ImageRequest)[];

/** The same text for whatever asks for the same, as JSON or as a form, with defaults written out or not. */
export function canonicalText(request: ImageRequest): string {
  return JSON.stringify(FIELDS.map((field) => request[field] ?? null));
}

export const imageAnswerSchema = z.object({
  created: z.number().int().describe("Unix seconds"),
  data: z.array(z.object({ url: z.string().optional(), b64_json: z.string().optional() })),
  latency: z.number().int().describe("milliseconds"),
  cost: z.number().describe("USD charged"),
});

/** Fields that carry input images or masks, and whether one of them holds anything. */
export function inputFieldOf(request: ImageRequest): "image" | "mask" | undefined {
  const given = (value: unknown) =>
    value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
  if (given(request.image) || given(request["image[]"])) return "image";
  if (given(request.mask) || given(request["mask[]"])) return "mask";
  return undefined;
}

/** Code points: what a person would count, emoji included. Long texts are not walked through. */
function characters(text: string): number {
  if (text.length <= MAX_PROMPT_CHARACTERS || text.length > 2 * MAX_PROMPT_CHARACTERS) return text.length;
  return [...text].length;
}
