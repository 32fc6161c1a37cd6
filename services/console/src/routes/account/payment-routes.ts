// Payment routes serve top-ups: an admin requests one and pays at Stripe; members see its state.
import type { PaymentRecord } from "@gr/console-api";
import { creditsOf, formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { isUuid } from "@gr/runtime";
import { v7 } from "uuid";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type ConsoleCall, type Handlers, signedInOf } from "../../door/console-call.ts";
import type { ListedPayment } from "../../payments/payment-store.ts";
import { putDeposit } from "../../payments/settle-payment.ts";
import { invalidAfter, pageLimit } from "../../requests/pages.ts";
import { recordAudit } from "../audit.ts";

const CREDITS_PER_CENT = 100n;

export function paymentRoutes(deps: ConsoleDeps): Handlers<"listPayments" | "createPayment"> {
  const { payments } = deps;
  return {
    listPayments: async (call) => {
      const { id, after } = call.query;
      if (after !== undefined && !isUuid(after)) throw invalidAfter();
      if (id !== undefined && !isUuid(id)) return { data: [], next: null };
      const limit = pageLimit(call.query);
      const found = await payments.list({ accountId: accountOf(call), id, after, limit: limit + 1 });
      const data = found.slice(0, limit).map(recordOf);
      return { data, next: found.length > limit ? (data.at(-1)?.id ?? null) : null };
    },
    createPayment: (call) => createPayment(deps, call),
  };
}

async function createPayment(
  deps: ConsoleDeps,
  call: ConsoleCall<"createPayment">,
): Promise<{ payment: PaymentRecord; url: string }> {
  const { stripe, payments, billing, attempts, config } = deps;
  if (stripe === undefined) {
    throw new ServiceError(
      "payments_not_taken",
      "This router accepts no payments; ask the operator for credits.",
    );
  }
  const { email } = signedInOf(call).person;
  const payment = {
    id: v7(),
    accountId: accountOf(call),
    credits: creditsOf(call.body.amount),
    askedBy: email,
  };
  await attempts.countPayment(payment.accountId);
  await payments.add(payment);
  // Before the checkout opens, so that the first event of a payment always finds its deposit.
  await putDeposit(billing, payment, "pending");
  const opened = await stripe.openCheckout({
    paymentId: payment.id,
    accountId: payment.accountId,
    cents: Number(payment.credits / CREDITS_PER_CENT),
    email,
    returnUrl: `${config.CONSOLE_URL}/accounts/${payment.accountId}/credits?view=payments&payment=${payment.id}`,
  });
  const open = await payments.setCheckout(payment.id, opened.sessionId, opened.url);
  const amount = formatCredits(payment.credits);
  await recordAudit(deps, call, { action: "payment.begun", subject: payment.id, detail: { amount } });
  return { payment: recordOf({ ...open, reversed: 0n }), url: opened.url };
}

function recordOf(payment: ListedPayment): PaymentRecord {
  return {
    id: payment.id,
    amount: formatCredits(payment.credits),
    status: payment.status,
    reversed: formatCredits(payment.status === "refunded" ? payment.credits : payment.reversed),
    asked_by: payment.askedBy,
    created_at: payment.createdAt.toISOString(),
    changed_at: payment.changedAt.toISOString(),
    checkout_url: payment.status === "pending" ? payment.checkoutUrl : null,
    receipt_url: payment.receiptUrl,
    needs_operator: payment.problem !== null,
  };
}
