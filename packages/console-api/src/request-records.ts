// Request records form the log of an account, one for each request: text, images and videos.
import { z } from "zod";
import { day, page, pageQuery, time, usd } from "./fields.ts";

/** media: images and videos. */
const requestKind = z.enum(["image", "video", "media", "text"], {
  error: "It must be image, video, media or text",
});
export const requestStatus = z.enum(["running", "succeeded", "failed", "blocked", "cancelled"], {
  error: "It must be running, succeeded, failed, blocked or cancelled",
});

export const requestQuery = z.object({
  ...pageQuery,
  kind: requestKind.optional().describe("media = images and videos; all when absent"),
  model: z.string().min(1).max(200).optional(),
  status: requestStatus.optional().describe("no text request is blocked or cancelled"),
  key_id: z.string().min(1).max(100).optional().describe("web_token = the playground"),
  from: day.optional().describe("first day, UTC"),
  to: day.optional().describe("last day, UTC"),
});

/** Fields of all kinds of requests. */
const asked = {
  id: z.string().describe("of the request, and of its charge in the ledger"),
  key_id: z.string().describe("web_token = the playground"),
  model: z.string(),
  status: requestStatus,
  error: z
    .object({ message: z.string(), type: z.string(), code: z.string().nullable() })
    .nullable()
    .describe("error that the client received"),
  created_at: time,
  finished_at: time.nullable(),
  charged: usd.nullable().describe("null while it runs"),
};

export const generation = z.object({
  ...asked,
  kind: z.enum(["image", "video"]),
  parameters: z.object({
    prompt: z.string().nullable().describe("null = not stored, or deleted"),
    count: z.number().int(),
    size: z.string().nullable(),
    quality: z.string().nullable(),
    seconds: z.number().nullable(),
    audio: z.boolean().nullable(),
    input_images: z.number().int(),
    output_format: z.string(),
    response_format: z.string(),
  }),
  progress: z.number().int().nullable().describe("percent while it runs, if its provider reports progress"),
  urls: z.array(z.string()).describe("empty unless it succeeded and its files are kept"),
  preview_urls: z
    .array(z.string().nullable())
    .describe("a small picture of each file, in the order of urls; null where there is none"),
  is_deleted: z.boolean().describe("its files and its prompt were deleted"),
  is_expired: z.boolean().describe("its files were older than the retention period and were deleted"),
});
export type GenerationRecord = z.infer<typeof generation>;

const tokens = z.number().int();
export const textRequest = z.object({
  ...asked,
  kind: z.literal("text"),
  api: z
    .enum(["chat", "responses"])
    .nullable()
    .describe("null = only the cost is known, also in the fields below"),
  stream: z.boolean().nullable(),
  user: z.string().nullable().describe("the `user` of its body"),
  took_ms: z.number().int().nullable().describe("milliseconds from its arrival to its end"),
  first_byte_ms: z
    .number()
    .int()
    .nullable()
    .describe("milliseconds from its arrival to the first byte of its stream"),
  finish_reason: z.string().nullable().describe("the provider's word"),
  attempts: z
    .array(
      z.object({
        provider: z.string(),
        model: z.string().describe("its name there"),
        outcome: z.string().describe("outcome: delivered, or the reason of the failure"),
        took_ms: z.number().int(),
      }),
    )
    .describe("all providers of the request, in order"),
  usage: z
    .object({
      input_tokens: tokens,
      output_tokens: tokens,
      cached_input_tokens: tokens,
      cache_write_tokens: tokens,
      image_input_tokens: tokens,
      audio_input_tokens: tokens,
      reasoning_tokens: tokens,
      image_output_tokens: tokens,
      audio_output_tokens: tokens,
      tool_calls: z.record(z.string(), z.number().int()),
    })
    .nullable()
    .describe("metered units; parts, for example cached tokens, count within their whole"),
});
export type TextRequestRecord = z.infer<typeof textRequest>;

export const requestRecord = z.union([generation, textRequest]);
export type RequestRecord = z.infer<typeof requestRecord>;
export const requestPage = page(requestRecord);

/** USD, exact: with all decimals of the amount. */
const exactUsd = z.string().regex(/^-?\d+(\.\d{1,12})?$/);

/**
 * Reason for a charge that differs from the sum of its lines.
 * `provider_billed`: no units are kept; the charge is the provider's bill.
 * `billed_otherwise`: the provider billed another sum than the listed prices yield.
 * `earlier_providers`: other providers had a part in the answer before.
 * `by_report`: charged by the provider's report, which is not kept.
 * `units_unknown`: the price of that time does not explain the charge.
 * `not_delivered`: fewer items arrived than were requested.
 * `not_charged`: amounts that no customer pays, such as an absurd bill.
 * `rounded_up`: to 0.0001 USD, once.
 */
export const adjustmentReason = z.enum([
  "provider_billed",
  "billed_otherwise",
  "earlier_providers",
  "by_report",
  "units_unknown",
  "not_delivered",
  "not_charged",
  "rounded_up",
]);
export type AdjustmentReason = z.infer<typeof adjustmentReason>;

export const requestPrice = z.object({
  price_version: z.string(),
  lines: z
    .array(
      z.object({
        unit: z.string().describe("image, second, input_tokens and the like, or the type of a tool's calls"),
        count: z.string().describe("a whole number"),
        unit_price: exactUsd.describe("of one"),
        amount: exactUsd.describe("count times unit_price"),
      }),
    )
    .describe(
      "as the price function counts them; empty where no units are kept, and where nothing was charged",
    ),
  adjustments: z
    .array(
      z.object({
        reason: adjustmentReason,
        amount: exactUsd,
      }),
    )
    .describe("lines and adjustments add up to the charge, to the last digit"),
  charged: usd,
});
export type RequestPrice = z.infer<typeof requestPrice>;

export const wholeRequest = z.object({
  request: requestRecord,
  price: requestPrice.nullable().describe("calculation of the charge; null while the request runs"),
});

export const removedMedia = z.object({
  is_given_up: z
    .boolean()
    .describe("it was running: its files are deleted at its end, if it was not stopped in time"),
});
