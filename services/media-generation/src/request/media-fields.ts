// Common fields of requests for images and for videos. Unknown fields are ignored, null counts as absent.
// Every message names its field.
import { RESPONSE_FORMATS } from "@gr/identity";
import { charactersOf, MOST_PROMPT_CHARACTERS } from "@gr/models";
import { ALIAS } from "@gr/runtime";
import { z } from "zod";
import { MOST_URL_CHARACTERS } from "../webhooks/callbacks.ts";

const QUALITIES = ["auto", "low", "medium", "high"] as const;

export type Quality = Exclude<(typeof QUALITIES)[number], "auto">;

export function choice<const Values extends readonly [string, ...string[]]>(
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

export const mediaFields = {
  model: z.string({ error: "model must be a string" }).min(1, "model must not be empty"),
  prompt: z
    .string({ error: "prompt must be a string" })
    .refine((prompt) => charactersOf(prompt) <= MOST_PROMPT_CHARACTERS, {
      error: `prompt must have at most ${MOST_PROMPT_CHARACTERS} characters`,
    })
    .nullish()
    .meta({ maxLength: MOST_PROMPT_CHARACTERS }),
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
  response_format: z
    .enum(RESPONSE_FORMATS, { error: `response_format must be one of ${RESPONSE_FORMATS.join(", ")}` })
    .nullish()
    .describe("when absent: the default of the key or the account, else url"),
  callback_url: z
    .string({ error: "callback_url must be a string" })
    .nullish()
    .meta({ maxLength: MOST_URL_CHARACTERS })
    .describe(
      "address of the webhook about the end of an asynchronous request; when absent the default of the key or account",
    )
    // A form also sends its empty fields.
    .transform((url) => url || undefined),
};

const PICTURE = { type: "string", description: "a URL or a data URI" };
const WRAPPED = {
  type: "object",
  properties: { image_url: PICTURE },
  required: ["image_url"],
  description: "a URL or a data URI, in the form of OpenAI's JSON",
};
const FILE = { type: "string", format: "binary", description: "a file" };

/** One value or a list, for the description only. src/inputs checks the values of these fields. */
function described(description: string, ...forms: readonly object[]) {
  const list = { type: "array", items: forms.length === 1 ? forms[0] : { anyOf: forms }, maxItems: 16 };
  return z
    .unknown()
    .optional()
    .meta({ description, anyOf: [...forms, list, { type: "null" }] });
}

const alias = z
  .unknown()
  .optional()
  .meta({ [ALIAS]: true });

export const imageFields = {
  image: described("input image, or a list of at most 16 input images; image[] means the same", PICTURE, WRAPPED),
  "image[]": alias,
  images: described("alias of image, as in OpenAI's API", PICTURE, WRAPPED),
};
const REFERENCE = "as image; OpenAI's name for it in requests for videos";
export const referenceFields = { input_reference: described(REFERENCE, PICTURE, WRAPPED) };
export const maskFields = {
  mask: described("editing mask, as image; mask[] means the same", PICTURE, WRAPPED),
  "mask[]": alias,
};

/** The same fields in a form. */
export const imageFormFields = {
  image: alias,
  "image[]": described("input image, repeated for at most 16 of them; image means the same", FILE, PICTURE),
  images: described("alias of image[], as in OpenAI's API", FILE, PICTURE),
};
export const referenceFormFields = { input_reference: described(REFERENCE, FILE, PICTURE) };
export const maskFormFields = {
  mask: alias,
  "mask[]": described("editing mask, as image[]; mask means the same", FILE, PICTURE),
};
