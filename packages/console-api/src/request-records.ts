// The log of an account in the console: the records of the public API, with filters and cursors of the console.
import { KIND_FILTERS, REQUEST_STATUSES, requestRecord } from "@gr/request-record";
import { z } from "zod";
import { moment, page, pageQuery } from "./fields.ts";

export type {
  AdjustmentReason,
  GenerationRecord,
  KindFilter,
  RequestPrice,
  RequestRecord,
  RequestState,
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
  key_id: z.string().min(1).max(100).optional().describe("web_token = the playground"),
  from: moment.optional().describe("first day, UTC, or a moment: later requests"),
  to: moment.optional().describe("last day, UTC, or a moment: earlier requests"),
});

export const requestPage = page(requestRecord);

export const removedMedia = z.object({
  is_given_up: z
    .boolean()
    .describe("it was running: its files are deleted at its end, if it was not stopped in time"),
});
