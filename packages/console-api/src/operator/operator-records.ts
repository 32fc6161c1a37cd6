// Records of the operator area: accounts, and changes to them that need a reason.
import { z } from "zod";
import { page, role, time, usd, usdInput } from "../fields.ts";

/** The page creates the id when its dialog opens: a repeated request is booked once. */
const bookingId = z.uuid({ error: "It must be a UUID" });
const REASON_MAX = 150;
const reason = z
  .string({ error: "It must be a reason" })
  .trim()
  .min(3, "It must have at least 3 characters")
  .max(REASON_MAX, `It must have at most ${REASON_MAX} characters`)
  .refine((text) => !text.includes("\0") && text.isWellFormed(), "It must be Unicode text without NUL");
/** Amounts below zero remove credit. */
const signedUsd = z
  .string({ error: 'It must be an amount of USD as a string, for example "-12.50"' })
  .regex(
    /^-?\d{1,10}(\.\d{1,4})?$/,
    'It must be an amount of USD with at most four decimals, for example "-12.50"',
  );

export const depositBody = z.strictObject({ id: bookingId, amount: usdInput, reason });
export const adjustmentBody = z.strictObject({ id: bookingId, amount: signedUsd, reason });
export const suspensionBody = z.strictObject({
  is_suspended: z.boolean({ error: "It must be true or false" }),
  reason,
});

export const foundAccount = z.object({
  id: z.string(),
  name: z.string(),
  created_at: time,
  members: z.number().int(),
  is_suspended: z.boolean().describe("the account cannot spend; its keys can still read"),
  balance: usd,
  spend: usd.describe("of the last 30 days (UTC), today included"),
});
export type FoundAccountRecord = z.infer<typeof foundAccount>;
export const foundAccountPage = page(foundAccount);

export const operatedAccount = foundAccount.extend({
  deposited: usd,
  held: usd,
  people: z.array(z.object({ email: z.string(), role })),
});
export type OperatedAccount = z.infer<typeof operatedAccount>;
