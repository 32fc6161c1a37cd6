// Fields of a client's request to the image paths.
import { ModelKind } from "@gr/proto/catalog";
import { z } from "zod";
import { MOST_PARTS } from "../providers/provider.ts";
import {
  choice,
  imageFields,
  imageFormFields,
  maskFields,
  maskFormFields,
  mediaFields,
} from "./media-fields.ts";
import type { RequestKind } from "./request-kind.ts";

const BAD_COUNT = `n must be a whole number from 1 to ${MOST_PARTS}`;
const BAD_PARTIALS = "partial_images must be a whole number from 0 to 3";
const OUTPUT_FORMATS = ["webp", "jpeg", "png"] as const;

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export const imageRequestSchema = z.object({
  ...mediaFields,
  output_format: choice("output_format", OUTPUT_FORMATS, "webp"),
  n: z
    .number({ error: BAD_COUNT })
    .int(BAD_COUNT)
    .min(1, BAD_COUNT)
    .max(MOST_PARTS, BAD_COUNT)
    .nullish()
    .meta({ default: 1 })
    .transform((n) => n ?? 1),
  stream: z.boolean({ error: "stream must be true or false" }).nullish().meta({
    default: false,
    description:
      "true: the answer is text/event-stream, with partial images and a final event for each image",
  }),
  partial_images: z
    .number({ error: BAD_PARTIALS })
    .int(BAD_PARTIALS)
    .min(0, BAD_PARTIALS)
    .max(3, BAD_PARTIALS)
    .nullish()
    .describe(
      "partial images of a stream of one image, if supported_parameters of the model has it; each is paid for. Ignored otherwise",
    ),
  ...imageFields,
  ...maskFields,
});

/** Field types of a form; for the description only. */
const imageForm = z.object({ ...imageRequestSchema.shape, ...imageFormFields, ...maskFormFields });

export const imageRequests: RequestKind = {
  kind: "image",
  modelKind: ModelKind.IMAGE,
  things: "images",
  paths: ["/v1/compat/images/generations", "/v1/compat/images/edits"],
  summary: "Generate images from a prompt",
  schema: imageRequestSchema,
  form: imageForm,
};
