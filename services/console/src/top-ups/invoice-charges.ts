// invoiceCharges writes the invoices of automatic charges, some time after them: a charge is booked without waiting for its invoice.
// Stripe recognizes a repeated step, so a round that stops in the middle is continued by the next.
import type { Clock } from "@gr/runtime";
import { CREDITS_PER_CENT } from "../payments/payment-bookings.ts";
import type { PaymentStore } from "../payments/payment-store.ts";
import type { SavedCards } from "../payments/saved-cards.ts";

/** Time in which Stripe recognizes a repeated step; its documentation promises 24 hours. */
const REPEATABLE_MS = 20 * 3_600_000;
const MOST = 20;

export interface InvoiceChargesDeps {
  readonly payments: Pick<PaymentStore, "uninvoiced" | "setInvoice">;
  readonly stripe: Pick<SavedCards, "invoiceCharge">;
  readonly clock: Clock;
}

/** @throws AggregateError of the failed ones, after all were tried */
export async function invoiceCharges({ payments, stripe, clock }: InvoiceChargesDeps): Promise<void> {
  const due = await payments.uninvoiced(new Date(clock.now() - REPEATABLE_MS), MOST);
  const failures: unknown[] = [];
  for (const { id, credits, customerId, intentId } of due) {
    if (customerId === null || intentId === null) continue;
    const charge = { paymentId: id, cents: Number(credits / CREDITS_PER_CENT), customerId, intentId };
    try {
      await payments.setInvoice(id, await stripe.invoiceCharge(charge));
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 0) return;
  throw new AggregateError(failures, `${failures.length} of ${due.length} invoices were not written`);
}
