// Request records form the log of an account, one for each request: images, videos and text.
// All kinds have the fields of `shared`; a client reads them without a look at the kind.
import { z } from "zod";
import { requestPrice } from "./request-price.ts";

export const MEDIA_KINDS = ["image", "video"] as const;
export const REQUEST_KINDS = [...MEDIA_KINDS, "text"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];
/** Filters of a log by kind. media: images and videos. */
export const KIND_FILTERS = [...REQUEST_KINDS, "media"] as const;
export type KindFilter = (typeof KIND_FILTERS)[number];

/**
 * `running`: in work, or its charge is not yet committed.
 * `succeeded`: delivered and paid for.
 * `failed`, `blocked` (by moderation): the client received an error and pays nothing, or only for delivered output.
 * `cancelled`: the client cancelled in time and pays nothing.
 */
export const REQUEST_STATUSES = ["running", "succeeded", "failed", "blocked", "cancelled"] as const;
export type RequestState = (typeof REQUEST_STATUSES)[number];

const time = () => z.string().meta({ format: "date-time" });
const milliseconds = () => z.number().int();

const shared = {
  id: z.string().describe("x-request-id of the request"),
  object: z.literal("generation"),
  status: z.enum(REQUEST_STATUSES),
  model: z.string(),
  api_key_id: z.string().describe("the id of the account for its web tokens"),
  created_at: time(),
  finished_at: time().nullable().describe("null while it runs, or if it is unknown"),
  latency: milliseconds()
    .nullable()
    .describe("milliseconds from the request to its end; null while it runs, or if it is unknown"),
  provider: z
    .string()
    .nullable()
    .describe("of the last attempt, or of the running one; null if it is unknown"),
  attempts: z
    .array(
      z.object({
        provider: z.string(),
        model: z.string().describe("its name there"),
        outcome: z.string().describe("outcome: delivered, or the reason of the failure"),
        latency: milliseconds(),
      }),
    )
    .describe("all providers of the request, in order, if they are known"),
  timing: z
    .object({
      queued: milliseconds().nullable().describe("when the first provider was called"),
      first_byte: milliseconds().nullable().describe("when the first byte of a stream was sent"),
      made: milliseconds().nullable().describe("when the last provider had finished its work"),
      stored: milliseconds().nullable().describe("when the files were stored"),
    })
    .describe("milliseconds after the arrival of the request; null if the moment is unknown or never came"),
  progress: z
    .number()
    .int()
    .nullable()
    .describe("percent while it runs, if its provider reports progress; null otherwise"),
  data: z
    .array(
      z.object({
        url: z.string(),
        thumbnail_url: z.string().optional().describe("thumbnail of an image, WebP"),
        poster_url: z.string().optional().describe("small first frame of a video, WebP"),
      }),
    )
    .describe("the hosted files, for every response_format; empty for a text"),
  error: z
    .object({
      message: z.string(),
      type: z.string(),
      param: z.string().optional(),
      code: z.string().optional(),
    })
    .nullable()
    .describe("error that the client received"),
  cost: z.number().nullable().describe("USD charged; null while it runs"),
  price_version: z.string(),
  price: requestPrice
    .nullable()
    .optional()
    .describe("calculation of the charge: absent in lists; null while the request runs"),
  deleted: z.boolean().describe("its files and its prompt were deleted"),
  expired: z.boolean().describe("its files were older than the retention period and were deleted"),
};

export const generationRecord = z.object({
  ...shared,
  kind: z.enum(MEDIA_KINDS),
  request: z
    .object({
      prompt: z.string().optional().describe("absent if it is not stored, or deleted"),
      n: z.number().int(),
      size: z.string().optional(),
      quality: z.string().optional(),
      seconds: z.number().optional(),
      audio: z.boolean().optional(),
      input_images: z.number().int().optional(),
      partial_images: z.number().int().optional().describe("of a stream; absent without any"),
      output_format: z.string(),
      response_format: z.string(),
    })
    .describe("effective parameters: every auto is resolved"),
});
export type GenerationRecord = z.infer<typeof generationRecord>;

const tokens = () => z.int();

export const textRecord = z.object({
  ...shared,
  kind: z.literal("text"),
  request: z
    .object({})
    .describe("always empty: a key that saves prompts has them at /v1/generations/{id}/text"),
  api: z.enum(["chat", "responses"]).nullable().describe("null if only the cost is known"),
  stream: z.boolean().nullable(),
  user: z.string().nullable().describe("the `user` of its body"),
  first_byte_latency: milliseconds()
    .nullable()
    .describe("milliseconds to the first byte of the stream, as timing.first_byte"),
  finish_reason: z.string().nullable().describe("the provider's word"),
  usage: z
    .object({
      input_tokens: tokens(),
      output_tokens: tokens(),
      cached_input_tokens: tokens(),
      cache_write_tokens: tokens(),
      image_input_tokens: tokens(),
      audio_input_tokens: tokens(),
      reasoning_tokens: tokens(),
      image_output_tokens: tokens(),
      audio_output_tokens: tokens(),
      tool_calls: z.record(z.string(), z.int()),
    })
    .nullable()
    .describe("metered units; parts, for example cached tokens, count within their whole"),
  unit_prices: z
    .record(z.string(), z.string())
    .nullable()
    .describe("USD for one unit of each kind, as listed by the last provider at that time; null in lists"),
  upstream_cost: z.string().nullable().describe("USD that the provider billed; null while it runs"),
});
export type TextRecord = z.infer<typeof textRecord>;

export const requestRecord = z.union([generationRecord, textRecord]);
export type RequestRecord = z.infer<typeof requestRecord>;
