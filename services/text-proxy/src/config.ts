// Settings of the text proxy; the upstream's own are shared with the catalogue.
import { holdConfig } from "@gr/paid-request";
import { milliseconds } from "@gr/runtime";
import { textUpstreamConfig } from "@gr/text-upstream";
import { z } from "zod";

export const textProxyConfig = z.object({
  ...textUpstreamConfig.shape,
  ...holdConfig.shape,
  TEXT_CONNECT_TIMEOUT_MS: milliseconds(5_000).describe("longest time to connect to the text upstream"),
  TEXT_HEADERS_TIMEOUT_MS: milliseconds(120_000).describe(
    "longest time from the request to the head of the answer",
  ),
  TEXT_IDLE_TIMEOUT_MS: milliseconds(60_000).describe(
    "longest time between two bytes of an answer, and for a client to read waiting bytes. A client that delays the answer longer, or five times that in total, counts as disconnected",
  ),
  TEXT_TOTAL_TIMEOUT_MS: milliseconds(4 * 3_600_000).meta({
    description:
      "longest time from the request to the last byte. A longer stream is cut off, and the delivered part is charged",
    byDefault: "`14400000` (4 h)",
  }),
  TEXT_BREAKER_FAILURES: z.coerce
    .number()
    .int()
    .min(1)
    .default(5)
    .describe("failures in a row after which the router prefers other routes of a model to a text upstream"),
  TEXT_BREAKER_PAUSE_MS: milliseconds(5_000).describe(
    "first duration of that preference in milliseconds; doubled after each probe that fails, at most 60,000",
  ),
  TEXT_KEEP_ALIVE_MS: milliseconds(10_000).describe(
    "time between comments in a stream before its first event",
  ),
  TEXT_COST_SURPLUS_PERCENT: z.coerce
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(25)
    .describe(
      "largest surplus of a text upstream's bill over its listed prices for the reported tokens. The part above it is not charged, but booked as our cost. It raises `text_costs_not_believed_total` and logs a line with the request's id: check the upstream, and charge the remainder by an adjustment if the bill was right",
    ),
  TEXT_MAX_RUNNING: z.coerce
    .number()
    .int()
    .min(1)
    .default(10_000)
    .describe(
      "text requests that run in one process at the same time. One account may use three places for each free place, so at most three quarters; one key may use three places for each that its account may still use. A request beyond the share is answered 429; without a free place, 503",
    ),
  TEXT_MAX_INPUT_BYTES: z.coerce.number().int().min(1).optional().meta({
    description:
      "bytes of request bodies above 64 KiB in one process at the same time, from their arrival to the end of their request. Above it the answer is 503 with `Retry-After`. One account may use three bytes for each free byte, so at most three quarters; above it the answer is 429",
    byDefault: "by memory, at most `536870912`",
  }),
});
export type TextProxyConfig = z.infer<typeof textProxyConfig>;
