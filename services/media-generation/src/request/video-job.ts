// Fields of a client's request for a video as a job, in the words of OpenAI's videos API. The request is the same order
// at the same price as one of the video path with Prefer: respond-async.
import { z } from "zod";
import { referenceFields, referenceFormFields } from "./media-fields.ts";
import type { RequestKind } from "./request-kind.ts";
import { optionalSeconds, videoRequestSchema, videoRequests } from "./video-request.ts";

export const VIDEOS_PATH = "/v1/compat/videos";

/** A number of seconds as text: OpenAI's clients send it so. */
const SECONDS_TEXT = /^\d{1,2}(\.\d{1,3})?$/;

export const videoJobSchema = z.object({
  ...videoRequestSchema.shape,
  seconds: optionalSeconds(SECONDS_TEXT),
  ...referenceFields,
});

/** Field types of a form; for the description only. */
const videoJobForm = z.object({ ...videoJobSchema.shape, ...referenceFormFields });

export const videoJobs: RequestKind = {
  ...videoRequests,
  paths: [VIDEOS_PATH],
  summary: "Start a video as a job",
  schema: videoJobSchema,
  form: videoJobForm,
};
