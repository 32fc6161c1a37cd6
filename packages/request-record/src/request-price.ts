// Request prices explain a charge: units with their prices, then the reasons for any difference. Lines and adjustments add up
// to the charge, to the last digit.
import { z } from "zod";

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
        unit_price: exactUsd.describe("USD of one"),
        amount: exactUsd.describe("count times unit_price"),
      }),
    )
    .describe(
      "as the price function counts them; empty where no units are kept, and where nothing was charged",
    ),
  adjustments: z
    .array(z.object({ reason: adjustmentReason, amount: exactUsd }))
    .describe("lines and adjustments add up to the charge, to the last digit"),
  charged: z
    .string()
    .regex(/^-?\d+\.\d{4}$/)
    .describe("USD"),
});
export type RequestPrice = z.infer<typeof requestPrice>;
