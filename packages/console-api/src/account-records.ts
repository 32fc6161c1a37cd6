// Records of an account's keys and its money.
import { z } from "zod";
import { alertRecord } from "./alert-records.ts";
import { budgetRecord, spendPeriod } from "./budget-records.ts";
import { name, page, time, usd, usdInput } from "./fields.ts";
import { responseFormat } from "./people.ts";

export const keyKind = z.enum(["normal", "management"], { error: "It must be normal or management" });
export const keyRecord = z.object({
  id: z.string(),
  name: z.string(),
  kind: keyKind,
  hint: z.string().describe("first characters and last four of the secret"),
  is_active: z.boolean().describe("the key's switch"),
  status: z
    .enum(["active", "disabled", "expired", "blocked"])
    .describe("blocked: its limit, or that of the budget above it, is used up, or that budget is closed"),
  created_at: time,
  expires_at: time.nullable(),
  spend_limit: usd.nullable(),
  spend_limit_period: spendPeriod.nullable().describe("null with a limit = over its whole life"),
  period_spend: usd.describe("spent in the current period; over its whole life without one"),
  resets_at: time.nullable().describe("when the period ends"),
  total_spend: usd,
  total_requests: z.number().int(),
  last_used_on: z.string().nullable().describe("the last day, UTC, on which it was charged; null = none"),
  available: usd.describe(
    "amount that the key can spend now: its remaining limit, at most the balance and that of its budget",
  ),
  allowed_models: z
    .array(z.string())
    .nullable()
    .describe("ids, or their beginnings with * at the end; null = all models"),
  allowed_providers: z.array(z.string()).nullable().describe("null = all providers"),
  default_response_format: responseFormat.nullable().describe("null = that of the account"),
  limited_by: z
    .enum(["key", "budget", "balance"])
    .nullable()
    .describe("which of them binds; null = management key"),
  budget: budgetRecord.nullable().describe("the budget above the key, whose limit it shares"),
  saves_texts: z.boolean().describe("prompts and answers of text requests with the key are saved"),
  former_secret: z
    .object({ hint: z.string(), ends_at: time })
    .nullable()
    .describe("the secret before the last rotation, while it works; it spends from the same limit"),
});
export type KeyRecord = z.infer<typeof keyRecord>;
export const keyPage = page(keyRecord);

const expiry = z.iso
  .datetime({ offset: true, error: "It must be an ISO 8601 time with a zone" })
  .nullable()
  .describe("null = never");
const cap = usdInput.nullable().describe("null = no limit");

const names = (what: string) =>
  z
    .array(z.string().min(1).max(200), `It must be a list of ${what}, or null for all`)
    .min(1, `Name at least one of the ${what}, or allow all`)
    .max(100, `At most 100 ${what} can be named`)
    .nullable();
/** The keys service checks the names against the catalogue. */
const allowedModels = names("models")
  .refine(
    (ids) => ids === null || ids.every((id) => !id.slice(0, -1).includes("*")),
    "A * may only be the last character of a name",
  )
  .describe("ids, or their beginnings with * at the end; null = all models");
const allowedProviders = names("providers").describe("null = all providers");
const defaultFormat = responseFormat
  .nullable()
  .describe("response_format of image and video requests without one; null = that of the account");

const savesTexts = z
  .boolean({ error: "It must be true or false" })
  .describe("true: prompts and answers of text requests with the key are saved");

export const newKeyBody = z
  .strictObject({
    name,
    kind: keyKind.default("normal"),
    spend_limit: cap.default(null),
    spend_limit_period: spendPeriod.nullable().default(null),
    expires_at: expiry.default(null),
    allowed_models: allowedModels.default(null),
    allowed_providers: allowedProviders.default(null),
    default_response_format: defaultFormat.default(null),
    saves_texts: savesTexts.default(false),
  })
  .refine(({ spend_limit, spend_limit_period }) => spend_limit !== null || spend_limit_period === null, {
    error: "A period needs a limit",
    path: ["spend_limit_period"],
  })
  .refine(({ kind, saves_texts }) => kind === "normal" || !saves_texts, {
    error: "A management key generates nothing and saves no texts",
    path: ["saves_texts"],
  })
  .refine(({ kind, spend_limit }) => kind === "normal" || spend_limit === null, {
    error: "A management key does not spend, so it has no spend limit; leave it out",
    path: ["spend_limit"],
  });

/** Absent fields stay unchanged. A new period begins at zero. A null limit also removes the period. */
export const keyChangeBody = z
  .strictObject({
    name,
    is_active: z.boolean({ error: "It must be true or false" }),
    spend_limit: cap,
    spend_limit_period: spendPeriod.nullable(),
    expires_at: expiry,
    allowed_models: allowedModels,
    allowed_providers: allowedProviders,
    default_response_format: defaultFormat,
    saves_texts: savesTexts,
  })
  .partial();

/** Time for which the replaced secret works. A former secret that works keeps its end; 0 ends both within seconds. */
export const rotateBody = z.strictObject({
  overlap_hours: z
    .number({ error: "It must be a number of hours" })
    .int("It must be a whole number of hours")
    .min(0, "It must be from 0 to 720")
    .max(720, "It must be from 0 to 720")
    .default(24),
});

export const mintedKey = z.object({
  key: keyRecord,
  secret: z.string().describe("shown in this answer only; nobody has it afterwards"),
});

export const rotatedKey = mintedKey.extend({
  key: keyRecord.nullable().describe("null = billing does not answer; the key is rotated all the same"),
});

export const webToken = z.object({
  token: z.string().describe("sent as Authorization: Bearer to /v1"),
  expires_at: time.describe("five minutes at most"),
});

export const accountStanding = z.object({
  suspension: z
    .object({
      since: time
        .nullable()
        .describe("null = unknown, as the reason: the suspension was not made in the console"),
      reason: z.string().nullable(),
      contact: z.string().nullable().describe("an e-mail address or a URL of the operator, where one is set"),
    })
    .nullable()
    .describe("null = it may spend; else it spends nothing, and reads on"),
});
export type AccountStanding = z.infer<typeof accountStanding>;

export const homeRecord = z.object({
  balance: usd,
  held: usd.describe("reserved by running requests"),
  deposited: usd,
  spend: z.object({
    today: usd.describe("since 00:00 UTC"),
    last_7_days: usd.describe("today and the six days before"),
    last_30_days: usd,
  }),
  days_left: z
    .number()
    .int()
    .nullable()
    .describe("whole days that the balance lasts at the mean of the last seven; null = nothing was spent"),
  first_steps: z.object({ has_deposit: z.boolean(), has_key: z.boolean(), has_request: z.boolean() }),
  open_alerts: z
    .array(alertRecord.pick({ id: true, at: true, kind: true, text: true, key_id: true }))
    .describe("thresholds that are crossed now, and automatic top-ups that are switched off; newest first"),
});
export type HomeRecord = z.infer<typeof homeRecord>;

export const ledgerKind = z.enum(["deposit", "refund", "adjustment", "charge"], {
  error: "It must be deposit, refund, adjustment or charge",
});
export const ledgerLine = z.object({
  id: z.string(),
  at: time,
  kind: ledgerKind,
  amount: usd.describe("a positive amount added credit, a negative one withdrew it"),
  balance_after: usd
    .nullable()
    .describe(
      "balance after this line; null with a filter by kind, and for an account that is charged without a pause",
    ),
  request_id: z.string().nullable().describe("of a charge"),
  model: z.string().nullable(),
  key_id: z.string().nullable().describe("web_token = the playground"),
  source: z.string().nullable().describe("source of a deposit"),
  reason: z.string().nullable().describe("of an adjustment"),
  payment_id: z.string().nullable().describe("id of the payment behind the line"),
});
export type LedgerLine = z.infer<typeof ledgerLine>;
export const ledgerPage = page(ledgerLine);
