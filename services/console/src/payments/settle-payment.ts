// settlePayments updates the books to the state of a payment at Stripe.
// Events only start a query: the bookings follow from the current answer of Stripe's API, so repeated, late or
// reordered events do no harm.
import type { BillingService } from "@gr/proto/billing";
import { DepositStatus } from "@gr/proto/billing";
import type { Clock, ServiceClient } from "@gr/runtime";
import type { ConsoleEvents } from "../events.ts";
import type { PaymentStatus } from "../payment-status.ts";
import { CREDITS_PER_CENT, paymentBookings } from "./payment-bookings.ts";
import type { Payment, PaymentChange, PaymentStore } from "./payment-store.ts";
import type { ChargeState } from "./saved-cards.ts";
import type { Stripe } from "./stripe.ts";

/** Payments of one round. */
const MOST_STALE = 20;

export interface SettleDeps {
  readonly stripe: Pick<Stripe, "readPayment" | "readCharge" | "chargeCard" | "findCharge">;
  readonly clock: Clock;
  readonly payments: Pick<PaymentStore, "settle" | "stale" | "postpone">;
  readonly billing: Pick<ServiceClient<typeof BillingService>, "putDeposit" | "putAdjustment">;
  readonly events: ConsoleEvents;
}

export interface SettlePayments {
  /** @throws ServiceError service_unavailable, or errors of billing; nothing is lost then, and a repeat is safe. */
  settle(paymentId: string): Promise<void>;
  /** Settles payments without events. @throws AggregateError of the failed ones, after all were tried */
  settleStale(): Promise<void>;
}

const STATUSES: Readonly<Record<PaymentStatus, DepositStatus>> = {
  pending: DepositStatus.PENDING,
  completed: DepositStatus.COMPLETED,
  failed: DepositStatus.FAILED,
  refunded: DepositStatus.REFUNDED,
};

export function createSettlePayments(deps: SettleDeps): SettlePayments {
  const { payments, events } = deps;
  let last: Promise<unknown> = Promise.resolve();
  const settleNow = async (paymentId: string): Promise<void> => {
    let before: PaymentStatus | undefined;
    const settled = await payments.settle(paymentId, (payment) => {
      before = payment.status;
      return changeOf(deps, payment);
    });
    if (settled === undefined) return;
    if (settled.problem !== null) events.paymentNotBooked(paymentId, settled.problem);
    if (settled.status !== before) events.paymentSettled(paymentId, settled.status);
  };
  // Sequential: each holds a connection during the call of Stripe, and people's requests need connections, too.
  const settle = (paymentId: string): Promise<void> => {
    const mine = last.then(() => settleNow(paymentId));
    last = mine.catch(() => undefined);
    return mine;
  };
  return {
    settle,
    settleStale: async () => {
      const stale = await payments.stale(MOST_STALE);
      const failures: unknown[] = [];
      for (const id of stale) {
        try {
          await settle(id);
        } catch (error) {
          failures.push(error);
          // A round begins with the longest wait, so a payment that fails each time would always be first.
          await payments.postpone(id);
        }
      }
      if (failures.length === 0) return;
      const message = `${failures.length} of ${stale.length} payments could not be settled; the next try is in an hour`;
      throw new AggregateError(failures, message);
    },
  };
}

async function changeOf(deps: SettleDeps, payment: Payment): Promise<PaymentChange> {
  const { stripe, billing } = deps;
  const state = payment.isAutomatic
    ? await stateOfCharge(deps, payment)
    : payment.sessionId === null
      ? // The customer never received an address of a checkout.
        { failure: null }
      : { ...(await stripe.readPayment(payment.sessionId)), failure: null };
  const { failure } = state;
  if (!("session" in state)) {
    await putDeposit(billing, payment, "failed");
    const nothing = { reversals: [], problem: null, intentId: null, receiptUrl: null, invoiceId: null };
    return { status: "failed", ...nothing, failure };
  }
  const bookings = paymentBookings(payment, state);
  if (bookings.status !== "pending") await putDeposit(billing, payment, bookings.status);
  for (const { id, credits, reason } of bookings.reversals) {
    await billing.putAdjustment({ adjustmentId: id, accountId: payment.accountId, credits, reason });
  }
  const { intentId, receiptUrl, invoiceId } = state;
  return { ...bookings, intentId, receiptUrl, invoiceId, failure };
}

/** Time in which Stripe recognizes a repeated charge; its documentation promises 24 hours. */
const REPEATABLE_MS = 20 * 3_600_000;

/**
 * Charges the card, unless it was charged, and reads the charge. A charge without a known outcome is repeated while Stripe
 * recognizes the repetition; later it is only looked for.
 */
async function stateOfCharge(
  { stripe, clock }: SettleDeps,
  payment: Payment,
): Promise<ChargeState | { readonly failure: string }> {
  const { id, intentId, customerId, paymentMethodId, credits } = payment;
  if (intentId !== null) return await stripe.readCharge(intentId);
  if (clock.now() - payment.createdAt.getTime() > REPEATABLE_MS) {
    const found = await stripe.findCharge(id);
    if (found === undefined) return { failure: "The payment service did not answer for a day." };
    return await stripe.readCharge(found);
  }
  const charged = await stripe.chargeCard({
    ...{ paymentId: id, accountId: payment.accountId, cents: Number(credits / CREDITS_PER_CENT) },
    ...{ customerId: customerId ?? "", paymentMethodId: paymentMethodId ?? "", email: payment.askedBy },
  });
  if (charged.refusal !== undefined) return { failure: charged.refusal };
  return await stripe.readCharge(charged.intentId);
}

/** The deposit of a payment has its id. */
export async function putDeposit(
  billing: SettleDeps["billing"],
  { id, accountId, credits }: Pick<Payment, "id" | "accountId" | "credits">,
  status: PaymentStatus,
): Promise<void> {
  await billing.putDeposit({
    depositId: id,
    accountId,
    credits,
    status: STATUSES[status],
    source: `stripe payment ${id}`,
  });
}
