// What the billing module reads from the environment.
import { postgresConfig, redisConfig } from "@gr/runtime";
import { z } from "zod";

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
});
export type BillingConfig = z.infer<typeof billingConfig>;
