// Alert records are the settings of an account's alerts, and their history.
import { z } from "zod";
import { page, time, usd, usdInput } from "./fields.ts";

/** Percents of a budget that can cause an alert. */
export const BUDGET_PERCENTS = [50, 80, 100] as const;

const percent = z.number({ error: "It must be a number from 1 to 100" });

export const alertSettingsBody = z.strictObject({
  low_balance: usdInput
    .refine((usd) => Number(usd) > 0, "It must be more than zero")
    .nullable()
    .describe("an alert when the balance is below it; null = none"),
  budget_percents: z
    .array(z.union(BUDGET_PERCENTS.map((each) => z.literal(each))), "It must be a list of 50, 80 and 100")
    .max(BUDGET_PERCENTS.length, "It must be a list of 50, 80 and 100")
    .transform((percents) => [...new Set(percents)].sort((a, b) => a - b))
    .describe("an alert when a key, or a budget above keys, has spent this part of its limit; empty = none"),
  failure_percent: percent
    .int("It must be a whole number from 1 to 100")
    .min(1, "It must be from 1 to 100")
    .max(100, "It must be from 1 to 100")
    .nullable()
    .describe("an alert when this part of the requests of an hour has failed; null = none"),
  by_mail: z.boolean({ error: "It must be true or false" }).describe("to the owners and admins"),
  webhook_url: z
    .string()
    .min(1, "It must be an address, or null")
    .max(2_048, "It must have at most 2,048 characters")
    .nullable()
    .describe("null = no webhook"),
});
export type AlertSettingsBody = z.infer<typeof alertSettingsBody>;

export const alertSettings = z.object({
  low_balance: usd.nullable(),
  budget_percents: z.array(z.number().int()),
  failure_percent: z.number().int().nullable(),
  by_mail: z.boolean(),
  webhook_url: z.string().nullable(),
  recipients: z.array(z.string()).describe("addresses that get mails: the first owners and admins"),
  sends_mail: z.boolean().describe("false: the router has no mail server"),
  is_set: z.boolean().describe("false: nobody has saved settings yet"),
});
export type AlertSettingsRecord = z.infer<typeof alertSettings>;

export const alertKind = z.enum([
  "low_balance",
  "budget",
  "failure_rate",
  "top_up_failed",
  "top_up_limit",
  "test",
]);
export const alertRecord = z.object({
  id: z.string(),
  at: time,
  kind: alertKind,
  text: z.string(),
  key_id: z.string().nullable().describe("the key of a budget"),
  mail: z
    .enum(["none", "pending", "sent", "limited", "failed"])
    .describe("limited: the account has had its mails about alerts of 24 hours"),
  webhook: z
    .enum(["none", "pending", "sent", "refused", "failed"])
    .describe("sent: handed over for delivery; refused: its address is not allowed"),
});
export type AlertRecord = z.infer<typeof alertRecord>;
export const alertPage = page(alertRecord);

export const webhookSecret = z.object({
  secret: z.string().describe("shown in this answer only; the secret before signs for 24 hours more"),
});
