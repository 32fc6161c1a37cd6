// Records of limits that several keys share: budgets of members, customers and accounts.
import { z } from "zod";
import { time, usd, usdInput } from "./fields.ts";

const PERIODS = ["day", "week", "month"] as const;
export const spendPeriod = z.enum(PERIODS, { error: `It must be ${PERIODS.join(", ")} or null` });

export const budgetRecord = z.object({
  id: z.string(),
  name: z.string(),
  level: z.enum(["account", "member", "customer"]),
  state: z.enum(["open", "closed", "expired"]).describe("closed and expired refuse the keys below"),
  spend_limit: usd.nullable(),
  spend_limit_period: spendPeriod.nullable().describe("null with a limit = over its whole life"),
  period_spend: usd.describe("spent by all its keys in the current period; over its whole life without one"),
  remaining: usd.nullable().describe("remaining part of the limit; null = no limit"),
  resets_at: time.nullable().describe("when the period ends"),
});
export type BudgetRecord = z.infer<typeof budgetRecord>;

/** A new period begins at zero. A null limit also removes the period. */
export const memberBudgetBody = z
  .strictObject({
    spend_limit: usdInput.nullable().describe("null = no limit"),
    spend_limit_period: spendPeriod.nullable().default(null),
  })
  .refine(({ spend_limit, spend_limit_period }) => spend_limit !== null || spend_limit_period === null, {
    error: "A period needs a limit",
    path: ["spend_limit_period"],
  });
