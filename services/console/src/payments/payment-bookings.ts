// Payment bookings derive the ledger bookings of a payment from its state at Stripe; pure.
// The same state has the same booking ids, so events may repeat or arrive in any order.
import { type Credits, formatCredits } from "@gr/money";
import { v5 } from "uuid";
import type { PaymentStatus } from "../payment-status.ts";

/** Cents, or the smallest unit of another currency. */
export interface Amount {
  readonly cents: number;
  /** "usd" */
  readonly currency: string;
}

export interface Reversal extends Amount {
  readonly id: string;
  /** Stripe's status. */
  readonly status: string;
}

/** A payment as Stripe has it at one moment. */
export interface PaymentState {
  readonly session: "open" | "complete" | "expired";
  readonly total: Amount;
  readonly isPaid: boolean;
  /** True if a slow payment method failed in the end. */
  readonly hasFailed: boolean;
  /** Oldest first, so that the first of them stays the first. */
  readonly refunds: readonly Reversal[];
  readonly disputes: readonly Reversal[];
  readonly intentId: string | null;
  readonly receiptUrl: string | null;
  /** Null = none, or none yet. */
  readonly invoiceId: string | null;
}

export interface ReversalBooking {
  /** Id of the adjustment in billing. */
  readonly id: string;
  readonly credits: Credits;
  readonly reason: string;
}

export interface PaymentBookings {
  readonly status: PaymentStatus;
  readonly reversals: readonly ReversalBooking[];
  /** Reason for an operator's check; the questionable part is not booked then. */
  readonly problem: string | null;
}

/** Namespace of the adjustment ids; a change would book everything again. */
const NAMESPACE = "0f6f2a5e-6d0b-5d0c-9b53-3c1d6f3f6a11";
export const CREDITS_PER_CENT = 100n;

/** Refunds pay money out. A "failed" or "canceled" refund has returned it. */
const REFUNDS_RETURNED = new Set(["failed", "canceled"]);
/** Disputes that remove money; inquiries do not. */
const DISPUTES_TAKEN = new Set(["needs_response", "under_review", "lost", "won"]);

export function creditsOfCents(cents: number): Credits {
  return BigInt(cents) * CREDITS_PER_CENT;
}

export function paymentBookings(
  payment: { readonly id: string; readonly credits: Credits },
  state: PaymentState,
): PaymentBookings {
  if (!state.isPaid) return { status: unpaidStatus(state), reversals: [], problem: null };
  if (!isDollars(state.total) || creditsOfCents(state.total.cents) !== payment.credits) {
    const problem = `Stripe has ${textOf(state.total)} of a payment of ${formatCredits(payment.credits)} usd`;
    return { status: "pending", reversals: [], problem };
  }
  const whole = state.refunds.find((refund) => isDollars(refund) && refund.cents === state.total.cents);
  const strange = [...state.refunds, ...state.disputes].filter((one) => !isDollars(one));
  return {
    status: whole === undefined ? "completed" : "refunded",
    reversals: [
      ...state.refunds.filter(isDollars).flatMap((refund) => {
        const returned = REFUNDS_RETURNED.has(refund.status);
        // The deposit itself is reversed as a whole.
        const withdrawal = refund === whole ? [] : [booking(payment.id, refund, "refund", -1n)];
        return returned ? [...withdrawal, booking(payment.id, refund, "failed refund", 1n)] : withdrawal;
      }),
      ...state.disputes.filter(isDollars).flatMap((dispute) => {
        if (!DISPUTES_TAKEN.has(dispute.status)) return [];
        const withdrawal = booking(payment.id, dispute, "dispute", -1n);
        return dispute.status === "won"
          ? [withdrawal, booking(payment.id, dispute, "won dispute", 1n)]
          : [withdrawal];
      }),
    ],
    problem:
      strange.length === 0
        ? null
        : `Stripe has ${strange.map((one) => `${one.id} of ${textOf(one)}`).join(", ")}, which is not booked`,
  };
}

function unpaidStatus({ session, hasFailed }: PaymentState): PaymentStatus {
  return session === "expired" || hasFailed ? "failed" : "pending";
}

function booking(paymentId: string, { id, cents }: Reversal, what: string, sign: 1n | -1n): ReversalBooking {
  return {
    id: v5(`${id} ${sign < 0n ? "taken" : "returned"}`, NAMESPACE),
    credits: sign * creditsOfCents(cents),
    reason: `${what} ${id} of payment ${paymentId}`,
  };
}

function isDollars({ currency }: Amount): boolean {
  return currency === "usd";
}

function textOf({ cents, currency }: Amount): string {
  return `${cents} ${currency} cents`;
}
