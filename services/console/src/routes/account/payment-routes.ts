// Payment routes serve top-ups: an admin requests one and pays at Stripe; members see its state.
import { Readable } from "node:stream";
import type { PaymentRecord } from "@gr/console-api";
import { creditsOf, formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { csvLine, isUuid } from "@gr/runtime";
import { v7 } from "uuid";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type ConsoleCall, type Handlers, signedInOf } from "../../door/console-call.ts";
import { CREDITS_PER_CENT } from "../../payments/payment-bookings.ts";
import type { ListedPayment } from "../../payments/payment-store.ts";
import { putDeposit } from "../../payments/settle-payment.ts";
import { invalidAfter, pageLimit } from "../../requests/pages.ts";
import { recordAudit } from "../audit.ts";
import { sendCsv } from "./csv.ts";

type PaymentRoutes = Handlers<"listPayments" | "exportPayments" | "createPayment" | "readInvoice">;

const EXPORT_PAGE = 1_000;
const EXPORT_LINES = 10_000;
const COLUMNS = "id time amount_usd refunded_usd status automatic by receipt_url failure".split(" ");

export function paymentRoutes(deps: ConsoleDeps): PaymentRoutes {
  const { payments } = deps;
  return {
    listPayments: async (call) => {
      const { id, after, is_invoiced } = call.query;
      if (after !== undefined && !isUuid(after)) throw invalidAfter();
      if (id !== undefined && !isUuid(id)) return { data: [], next: null };
      const limit = pageLimit(call.query);
      const page = { accountId: accountOf(call), id, after, limit: limit + 1 };
      const found = await payments.list({ ...page, isInvoiced: is_invoiced === "true" });
      const data = found.slice(0, limit).map(recordOf);
      return { data, next: found.length > limit ? (data.at(-1)?.id ?? null) : null };
    },
    exportPayments: async (call) => {
      const isInvoiced = call.query.is_invoiced === "true";
      const file = isInvoiced ? "invoices.csv" : "payments.csv";
      return sendCsv(call.reply, file, Readable.from(paymentsCsv(deps, accountOf(call), isInvoiced)));
    },
    createPayment: (call) => createPayment(deps, call),
    readInvoice: async (call) => {
      const { id = "" } = call.params;
      const [payment] = isUuid(id)
        ? await payments.list({ accountId: accountOf(call), id, after: undefined, limit: 1 })
        : [];
      const { stripe } = deps;
      const found = payment?.invoiceId == null ? undefined : await stripe?.readInvoice(payment.invoiceId);
      if (found === undefined || found.url === null) {
        throw new ServiceError("invoice_not_found", "This payment has no invoice.", { param: "id" });
      }
      return { number: found.number, url: found.url };
    },
  };
}

async function* paymentsCsv(
  { payments }: ConsoleDeps,
  accountId: string,
  isInvoiced: boolean,
): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  let after: string | undefined;
  for (let count = 0; count < EXPORT_LINES; count += EXPORT_PAGE) {
    const found = await payments.list({ accountId, id: undefined, after, limit: EXPORT_PAGE, isInvoiced });
    yield found
      .map(recordOf)
      .map((one) =>
        csvLine([
          ...[one.id, one.created_at, one.amount, one.reversed, one.status, String(one.is_automatic)],
          ...[one.asked_by, one.receipt_url, one.failure],
        ]),
      )
      .join("");
    if (found.length < EXPORT_PAGE) return;
    after = found.at(-1)?.id;
  }
}

async function createPayment(
  deps: ConsoleDeps,
  call: ConsoleCall<"createPayment">,
): Promise<{ payment: PaymentRecord; url: string }> {
  const { stripe, payments, payers, billing, attempts, config } = deps;
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
  const customerId = await payers.customerOf(payment.accountId, email);
  await payments.add(payment);
  // Before the checkout opens, so that the first event of a payment always finds its deposit.
  await putDeposit(billing, payment, "pending");
  const opened = await stripe.openCheckout({
    paymentId: payment.id,
    accountId: payment.accountId,
    cents: Number(payment.credits / CREDITS_PER_CENT),
    customerId,
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
    is_automatic: payment.isAutomatic,
    created_at: payment.createdAt.toISOString(),
    changed_at: payment.changedAt.toISOString(),
    checkout_url: payment.status === "pending" ? payment.checkoutUrl : null,
    receipt_url: payment.receiptUrl,
    has_invoice: payment.invoiceId !== null,
    failure: payment.failure,
    needs_operator: payment.problem !== null,
  };
}
