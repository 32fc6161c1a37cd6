// Settings of the text proxy; the upstream's own are shared with the catalogue.
import { holdConfig } from "@gr/paid-request";
import { milliseconds } from "@gr/runtime";
import { textUpstreamConfig } from "@gr/text-upstream";
import { z } from "zod";

export const textProxyConfig = z.object({
  ...textUpstreamConfig.shape,
  ...holdConfig.shape,
  TEXT_CONNECT_TIMEOUT_MS: milliseconds(5_000).describe("to connect to the upstream"),
  TEXT_HEADERS_TIMEOUT_MS: milliseconds(120_000).describe(
    "from the request to the head of the upstream's answer",
  ),
  TEXT_IDLE_TIMEOUT_MS: milliseconds(60_000).describe(
    "between two bytes of an upstream's answer, and for a client to take what waits for it; in all five times that",
  ),
  TEXT_TOTAL_TIMEOUT_MS: milliseconds(4 * 3_600_000).describe(
    "from the request to the last byte of the answer; what is longer is cut off, and charged",
  ),
  TEXT_BREAKER_FAILURES: z.coerce
    .number()
    .int()
    .min(1)
    .default(5)
    .describe("failures in a row after which other routes of a model are preferred to an upstream"),
  TEXT_BREAKER_PAUSE_MS: milliseconds(5_000).describe(
    "milliseconds of that preference at first; doubled after each probe that fails, at most 60,000",
  ),
  TEXT_KEEP_ALIVE_MS: milliseconds(10_000).describe(
    "between comments in a stream whose first event is not there yet",
  ),
  TEXT_COST_SURPLUS_PERCENT: z.coerce
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(25)
    .describe(
      "how much more an upstream may bill than its listed prices say; beyond it an alarm is raised, and the rest is not charged",
    ),
  TEXT_MAX_RUNNING: z.coerce
    .number()
    .int()
    .min(1)
    .default(10_000)
    .describe("text requests that may run at the same time"),
  TEXT_MAX_INPUT_BYTES: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe(
      "bytes of request bodies above 64 KiB that one process holds at the same time; by default by its memory",
    ),
});
export type TextProxyConfig = z.infer<typeof textProxyConfig>;
