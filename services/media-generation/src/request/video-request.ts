// Fields of a client's request to the video path.
import { ModelKind } from "@gr/proto/catalog";
import { z } from "zod";
import { imageFields, imageFormFields, mediaFields } from "./media-fields.ts";
import type { RequestKind } from "./request-kind.ts";

const MAX_SECONDS = 60;
const BAD_SECONDS = `seconds must be auto or a number from 1 to ${MAX_SECONDS}`;

const secondsField = z.number().min(1).max(MAX_SECONDS);

/** @param textOfSeconds a number of seconds as text, where it is accepted too */
export function optionalSeconds(textOfSeconds?: RegExp) {
  const more =
    textOfSeconds === undefined ? [] : [z.string().regex(textOfSeconds).transform(Number).pipe(secondsField)];
  return z
    .union([z.literal("auto"), secondsField, ...more], { error: BAD_SECONDS })
    .nullish()
    .meta({ default: "auto" })
    .transform((seconds) => seconds ?? "auto");
}

export const videoRequestSchema = z.object({
  ...mediaFields,
  seconds: optionalSeconds(),
  audio: z
    .boolean({ error: "audio must be true or false" })
    .nullish()
    .describe("true = with sound, for models that generate both kinds; absent = without")
    .transform((audio) => audio ?? undefined),
  stream: z
    .boolean({ error: "stream must be false" })
    .refine((stream) => !stream, "stream must be false: videos are answered when they are whole")
    .nullish(),
  ...imageFields,
});

/** Field types of a form; for the description only. */
const videoForm = z.object({ ...videoRequestSchema.shape, ...imageFormFields });

export const videoRequests: RequestKind = {
  kind: "video",
  modelKind: ModelKind.VIDEO,
  things: "videos",
  paths: ["/v1/compat/videos/generations"],
  summary: "Generate a video from a prompt",
  schema: videoRequestSchema,
  form: videoForm,
};
