// What the billing module reads from the environment.
import { postgresConfig, redisConfig } from "@gr/runtime";
import { z } from "zod";
import { MOST_DAYS } from "./text-log/text-log-store.ts";

export const billingConfig = z.object({
  ...postgresConfig.shape,
  ...redisConfig.shape,
  FREE_REQUESTS_PER_DAY: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(50)
    .describe("requests to free models that an account may make in a UTC day; 0 = no limit"),
  TEXT_LOG_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(MOST_DAYS)
    .default(90)
    .describe(
      "days for which the log of text requests is kept, where an account has no term of its own; 0 = none is",
    ),
});
export type BillingConfig = z.infer<typeof billingConfig>;
