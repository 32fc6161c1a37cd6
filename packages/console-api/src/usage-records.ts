// Usage records are sums of requests, as activity, in the buckets of a time axis.
import { z } from "zod";
import { moment, time, usd } from "./fields.ts";

export const ACTIVITY_BUCKETS = ["hour", "day", "week", "month"] as const;
export type ActivityBucket = (typeof ACTIVITY_BUCKETS)[number];
export const ACTIVITY_GROUPS = ["model", "key", "member", "provider", "kind"] as const;
export type ActivityGroup = (typeof ACTIVITY_GROUPS)[number];

export const activityQuery = z.object({
  from: moment
    .optional()
    .describe(
      "first day, UTC, or a moment; 24 hours, 30 days, 12 weeks or 12 months before `to` when absent",
    ),
  to: moment.optional().describe("last day, UTC, or a moment; now when absent"),
  bucket: z
    .enum(ACTIVITY_BUCKETS, { error: `It must be one of ${ACTIVITY_BUCKETS.join(", ")}` })
    .default("day")
    .describe("at most 400 of them; UTC, weeks begin on Monday"),
  group_by: z
    .enum(ACTIVITY_GROUPS, { error: `It must be one of ${ACTIVITY_GROUPS.join(", ")}` })
    .default("model"),
  key_id: z.string().min(1).max(100).optional().describe("only of this key; web_token = the playground"),
  model: z.string().min(1).max(300).optional().describe("only of this model"),
  provider: z.string().min(1).max(300).optional().describe("only of this provider"),
});

const quantiles = z.object({ median: z.number().int(), p95: z.number().int() }).nullable();
const figures = z.object({
  spend: usd,
  requests: z.number().int().describe("ended requests"),
  errors: z.number().int().describe("the requests among them without a charge: failed, blocked or cancelled"),
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  latency: quantiles.describe("milliseconds of charged requests, estimated"),
  first_token: quantiles.describe("milliseconds to the first byte of streams of text, estimated"),
});
export type ActivityFigures = z.infer<typeof figures>;
const group = z
  .string()
  .nullable()
  .describe("id or name; empty: unknown; null: all groups beyond the 50 largest");

export const activityAnswer = z.object({
  bucket: z.enum(ACTIVITY_BUCKETS),
  from: time.describe("begin of the first bucket"),
  to: time.describe("end of the last bucket"),
  buckets: z.array(time).describe("begins of all buckets, oldest first"),
  total: figures,
  totals: z.array(figures.extend({ begins_at: time })).describe("sums of all groups by bucket"),
  groups: z
    .array(figures.extend({ group, label: z.string() }))
    .describe("sums of the range, most spent first"),
  data: z
    .array(figures.extend({ begins_at: time, group }))
    .describe("oldest first; a bucket without a request of a group has no row"),
});
export type ActivityAnswer = z.infer<typeof activityAnswer>;
