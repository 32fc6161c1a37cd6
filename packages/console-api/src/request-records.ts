// The log of an account in the console: the records of the public API, with filters and cursors of the console.
import { KIND_FILTERS, REQUEST_STATUSES, requestRecord, savedText } from "@gr/request-record";
import { z } from "zod";
import { moment, page, pageQuery, time, usd } from "./fields.ts";

export type {
  AdjustmentReason,
  GenerationRecord,
  KindFilter,
  RequestPrice,
  RequestRecord,
  RequestState,
  SavedTextRecord,
  TextRecord,
} from "@gr/request-record";
export { requestRecord };

const WORDS = { kind: KIND_FILTERS.join(", "), status: REQUEST_STATUSES.join(", ") };

export const requestQuery = z.object({
  ...pageQuery,
  kind: z
    .enum(KIND_FILTERS, { error: `It must be one of ${WORDS.kind}` })
    .optional()
    .describe("media = images and videos; all when absent"),
  model: z.string().min(1).max(200).optional(),
  status: z
    .enum(REQUEST_STATUSES, { error: `It must be one of ${WORDS.status}` })
    .optional()
    .describe("no text request is blocked or cancelled"),
  provider: z.string().min(1).max(200).optional().describe("of the last attempt, or of the running one"),
  key_id: z.string().min(1).max(100).optional().describe("web_token = the playground"),
  member: z
    .uuid({ error: "It must be the id of a person" })
    .optional()
    .describe("requests with the keys that this person created"),
  from: moment.optional().describe("first day, UTC, or a moment: later requests"),
  to: moment.optional().describe("last day, UTC, or a moment: earlier requests"),
});

export const requestPage = page(requestRecord);

export const removedMedia = z.object({
  is_cancelling: z
    .boolean()
    .describe("it was running: its files are deleted at its end, if it was not stopped in time"),
});

export const foundSavedText = z.object({ text: savedText.nullable().describe("null = nothing is saved") });
export const savedTextUse = z.object({
  days: z.number().int().describe("0 = nothing is saved"),
  entries: z.number().int(),
  bytes: z.number().int(),
  most_bytes: z.number().int().describe("of a full account no further prompts and answers are saved"),
});
export const deletedTexts = z.object({ deleted: z.number().int() });

const count = z.number().int();
export const requestSummary = z.object({
  requests: count,
  spend: usd,
  succeeded: count,
  failed: count.describe("failed or blocked"),
  other: count.describe("running or cancelled"),
  median_latency: z
    .number()
    .nullable()
    .describe("of the succeeded requests, milliseconds, within one percent"),
  bar_ms: count.describe("width of a bar, milliseconds"),
  bars: z
    .array(z.object({ at: time.describe("its begin"), succeeded: count, failed: count, other: count }))
    .describe("oldest first, without a gap; at most 48"),
});
export type RequestSummary = z.infer<typeof requestSummary>;

/** Filter of the log without a page. */
export const requestFilter = requestQuery.omit({ limit: true, after: true });
