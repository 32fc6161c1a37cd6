// Usage records are sums by day, key, model, provider and kind.
import { z } from "zod";
import { day, usd } from "./fields.ts";

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
