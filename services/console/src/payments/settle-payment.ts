// settlePayments updates the books to the state of a payment at Stripe.
// Events only start a query: the bookings follow from the current answer of Stripe's API, so repeated, late or
// reordered events do no harm.
import type { BillingService } from "@gr/proto/billing";
import { DepositStatus } from "@gr/proto/billing";
import type { Clock, ServiceClient } from "@gr/runtime";
import type { ConsoleEvents } from "../events.ts";
import type { PaymentStatus } from "../payment-status.ts";
import { CREDITS_PER_CENT, paymentBookings } from "./payment-bookings.ts";
import type { LockedPayment, Payment, PaymentChange, PaymentStore } from "./payment-store.ts";
import type { ChargeState } from "./saved-cards.ts";
import type { Stripe } from "./stripe.ts";

/** Payments of one round. */
const MOST_STALE = 20;

export interface SettleDeps {
  readonly stripe: Pick<Stripe, "readPayment" | "readCharge" | "chargeCard" | "findCharge">;
  readonly clock: Clock;
  readonly payments: Pick<PaymentStore, "settle" | "stale" | "postpone" | "recordAttempt">;
  readonly billing: Pick<ServiceClient<typeof BillingService>, "getCredits" | "putDeposit" | "putAdjustment">;
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
    const settled = await payments.settle(paymentId, (payment, holdRule) => {
      before = payment.status;
      return changeOf(deps, payment, holdRule);
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

/** A payment that no charge can complete. */
interface Uncharged {
  readonly session?: undefined;
  /** Reason for people; null = none. */
  readonly failure: string | null;
}

/** Fields of a payment without a charge. */
const NO_CHARGE = { reversals: [], problem: null, intentId: null, receiptUrl: null, invoiceId: null };

async function changeOf(
  deps: SettleDeps,
  payment: LockedPayment,
  holdRule: () => Promise<void>,
): Promise<PaymentChange> {
  const { stripe, billing } = deps;
  const state: Uncharged | ChargeState | "unknown" = payment.isAutomatic
    ? await stateOfCharge(deps, payment)
    : payment.sessionId === null
      ? // The customer never received an address of a checkout.
        { failure: null }
      : { ...(await stripe.readPayment(payment.sessionId)), failure: null };
  if (state === "unknown") return { status: "pending", ...NO_CHARGE, failure: null };
  const { failure } = state;
  if (state.session === undefined) {
    await putDeposit(billing, payment, "failed");
    return { status: "failed", ...NO_CHARGE, failure };
  }
  const bookings = paymentBookings(payment, state);
  // The lock delays a top-up on the lowered balance until the rule is off.
  const isReversed = bookings.status === "refunded" || bookings.reversals.length > 0;
  if (isReversed) await holdRule();
  if (bookings.status !== "pending") await putDeposit(billing, payment, bookings.status);
  for (const { id, credits, reason } of bookings.reversals) {
    await billing.putAdjustment({ adjustmentId: id, accountId: payment.accountId, credits, reason });
  }
  const { intentId, receiptUrl, invoiceId } = state;
  return { ...bookings, intentId, receiptUrl, invoiceId, failure };
}

/** Time in which Stripe recognizes a repeated charge; its documentation promises 24 hours. */
const REPEATABLE_MS = 20 * 3_600_000;

/** Time after an attempt until Stripe's search surely contains its charge. */
const FINDABLE_MS = 10 * 60_000;

/**
 * Charges the card, unless it was charged, and reads the charge. A charge without an outcome is repeated while Stripe recognizes
 * the repetition, the rule is on, and the account is not suspended. Otherwise it is only searched.
 * @returns unknown if the search may not contain the last attempt yet
 */
async function stateOfCharge(
  { stripe, billing, payments, clock }: SettleDeps,
  payment: LockedPayment,
): Promise<Uncharged | ChargeState | "unknown"> {
  const { id, accountId, intentId, customerId, paymentMethodId, credits } = payment;
  if (intentId !== null) return await stripe.readCharge(intentId);
  const now = clock.now();
  const obstacle = await obstacleOf(billing, payment, now);
  if (obstacle !== undefined) {
    const found = await stripe.findCharge(id);
    if (found !== undefined) return await stripe.readCharge(found);
    const attemptedAt = payment.attemptedAt ?? payment.createdAt;
    const isFindable = payment.status !== "pending" || now - attemptedAt.getTime() > FINDABLE_MS;
    return isFindable ? { failure: obstacle } : "unknown";
  }
  await payments.recordAttempt(id, new Date(now));
  const charged = await stripe.chargeCard({
    ...{ paymentId: id, accountId, cents: Number(credits / CREDITS_PER_CENT) },
    ...{ customerId: customerId ?? "", paymentMethodId: paymentMethodId ?? "", email: payment.askedBy },
  });
  if (charged.refusal !== undefined) return { failure: charged.refusal };
  return await stripe.readCharge(charged.intentId);
}

/** Returns the reason, for people, for which a card must not be charged; null = the payment has ended without a reason. */
async function obstacleOf(
  billing: SettleDeps["billing"],
  { accountId, status, failure, createdAt, isRuleOn }: LockedPayment,
  now: number,
): Promise<string | null | undefined> {
  if (status !== "pending") return failure;
  if (now - createdAt.getTime() > REPEATABLE_MS) return "The payment service did not answer for a day.";
  if (!isRuleOn) return "Automatic top-ups were switched off before the charge.";
  const { suspended } = await billing.getCredits({ accountId });
  return suspended ? "The account was suspended before the charge." : undefined;
}

/** The deposit of a payment has its id. */
export async function putDeposit(
  billing: Pick<SettleDeps["billing"], "putDeposit">,
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
