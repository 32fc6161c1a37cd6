// What was used: sums by day, key, model, provider and kind, and the log of generations.
import { z } from "zod";
import { day, page, time, usd } from "./fields.ts";

export const usageGroup = z.enum(["day", "key", "model", "provider", "kind"], {
  error: "It must be day, key, model, provider or kind",
});
export const USAGE_ROWS_MAX = 2_000;
/** Days of one answer, both ends included. */
export const USAGE_DAYS_MAX = 366;

export const usageQuery = z.object({
  from: day.optional().describe("first day, UTC; 29 days before `to` when absent"),
  to: day.optional().describe("last day, UTC; today when absent"),
  group_by: usageGroup.default("day"),
  per_day: z.enum(["true", "false"]).default("false").describe("true = a row for each group and day"),
  key_id: z.string().min(1).max(100).optional().describe("only of this key; web_token = the playground"),
  model: z.string().min(1).max(300).optional().describe("only of this model"),
});

export const usageRow = z.object({
  group: z.string().describe("a day, a key's id or web_token, a model's id, a provider, or a kind"),
  label: z.string().describe("the key's name; otherwise as `group`"),
  day: z.string().nullable().describe("with per_day=true"),
  requests: z.number().int(),
  spend: usd,
});
export const usageAnswer = z.object({
  from: z.string(),
  to: z.string(),
  total: z.object({ requests: z.number().int(), spend: usd }).describe("of all rows, also of those cut"),
  data: z
    .array(usageRow)
    .describe("days oldest first, otherwise most spent first; a day or group without a request has no row"),
  is_cut: z.boolean().describe(`there were more than ${USAGE_ROWS_MAX} rows`),
});
export type UsageAnswer = z.infer<typeof usageAnswer>;

export const generationKind = z.enum(["image", "video"], { error: "It must be image or video" });
export const generationStatus = z.enum(["running", "succeeded", "failed", "blocked", "cancelled"], {
  error: "It must be running, succeeded, failed, blocked or cancelled",
});

export const generation = z.object({
  id: z.string().describe("of the request, and of its charge in the ledger"),
  key_id: z.string().describe("web_token = the playground"),
  kind: generationKind,
  model: z.string(),
  status: generationStatus,
  parameters: z.object({
    prompt: z.string().nullable().describe("null = not kept, or removed"),
    count: z.number().int(),
    size: z.string().nullable(),
    quality: z.string().nullable(),
    seconds: z.number().nullable(),
    audio: z.boolean().nullable(),
    input_images: z.number().int(),
    output_format: z.string(),
    response_format: z.string(),
  }),
  urls: z.array(z.string()).describe("empty unless it succeeded and its files were kept"),
  error: z.object({ message: z.string(), type: z.string(), code: z.string().nullable() }).nullable(),
  created_at: time,
  finished_at: time.nullable(),
  charged: usd.nullable().describe("null while it runs"),
  is_deleted: z.boolean().describe("its files and its prompt were removed"),
});
export type GenerationRecord = z.infer<typeof generation>;
export const generationPage = page(generation);
