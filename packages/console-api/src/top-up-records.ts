// Top-up records are the payments of an account, its saved card, and its automatic top-ups.
import { z } from "zod";
import { page, time, usd } from "./fields.ts";

/** USD; the minimum of the payment service, and a maximum against mistakes. */
export const TOP_UP_MIN = 1;
export const TOP_UP_MAX = 10_000;
export const MONTHLY_LIMIT_MAX = 100_000;
const topUpRange = `It must be from ${TOP_UP_MIN} to ${TOP_UP_MAX} USD`;

/** USD with whole cents, as cards are charged. */
const centsInput = z
  .string({ error: 'It must be an amount of USD as a string, for example "25.00"' })
  .regex(
    /^\d{1,11}(\.\d{1,2})?$/,
    'It must be an amount of USD with at most two decimals, for example "25.00"',
  );
const topUpAmount = centsInput.refine(
  (amount) => Number(amount) >= TOP_UP_MIN && Number(amount) <= TOP_UP_MAX,
  topUpRange,
);

export const paymentBody = z.strictObject({ amount: topUpAmount });

export const paymentStatus = z
  .enum(["pending", "completed", "failed", "refunded"])
  .describe(
    "pending: not paid, or not confirmed yet; failed: abandoned or refused; refunded: the whole payment",
  );
export const payment = z.object({
  id: z.string(),
  amount: usd,
  status: paymentStatus,
  reversed: usd.describe("part that refunds and disputes withdrew"),
  asked_by: z.string().describe("e-mail address; of an automatic top-up, the person who set the rule"),
  is_automatic: z.boolean().describe("true = a charge of the saved card"),
  created_at: time,
  changed_at: time.describe("when it got its status"),
  checkout_url: z.string().nullable().describe("where it can be paid, while it is pending"),
  receipt_url: z.string().nullable(),
  has_invoice: z.boolean(),
  failure: z.string().nullable().describe("reason of a refused charge"),
  needs_operator: z.boolean().describe("it is not booked as it was paid; the operator looks at it"),
});
export type PaymentRecord = z.infer<typeof payment>;
export const paymentPage = page(payment);
export const newPayment = z.object({ payment, url: z.string().describe("where to pay") });

export const paymentQuery = {
  is_invoiced: z.enum(["true"]).optional().describe("only payments with an invoice"),
};

/** The address is Stripe's and works for a time only, so it is read for each view. */
export const invoice = z.object({ number: z.string().nullable(), url: z.string() });

export const stripePage = z.object({
  url: z.string().describe("page of the payment service; it leads back"),
});

export const savedCard = z.object({
  brand: z.string(),
  last4: z.string(),
  expires: z.string().describe("08/28"),
});

export const autoTopUp = z.object({
  is_on: z.boolean(),
  threshold: usd.nullable().describe("null = never set"),
  amount: usd.nullable(),
  monthly_limit: usd.nullable(),
  spent_this_month: usd.describe("automatic charges of this month, UTC, without refused ones"),
  problem: z.string().nullable().describe("reason for which a refused charge has switched it off"),
  card: savedCard.nullable(),
});
export type AutoTopUpRecord = z.infer<typeof autoTopUp>;

const wholeMonth = `It must be at most ${MONTHLY_LIMIT_MAX} USD`;
export const autoTopUpBody = z
  .strictObject({
    is_on: z.boolean({ error: "It must be true or false" }),
    threshold: centsInput.refine((amount) => Number(amount) > 0, "It must be more than zero"),
    amount: topUpAmount,
    monthly_limit: centsInput.refine((amount) => Number(amount) <= MONTHLY_LIMIT_MAX, wholeMonth),
  })
  .refine(({ threshold, amount }) => Number(amount) >= Number(threshold), {
    error: "It must be at least the threshold, so that one top-up is enough",
    path: ["amount"],
  })
  .refine(({ amount, monthly_limit: limit }) => Number(limit) >= Number(amount), {
    error: "It must be at least the amount of one top-up",
    path: ["monthly_limit"],
  });
export type AutoTopUpBody = z.infer<typeof autoTopUpBody>;
