// Guarantees of payment bookings: they depend only on the payment's state at Stripe. After any number of queries at any
// time, the account has the paid amount less the refunds.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { PaymentStatus } from "../payment-status.ts";
import { type PaymentState, paymentBookings, type Reversal } from "./payment-bookings.ts";

const PAYMENT = { id: "0198c0de-0000-7000-8000-000000000001", credits: 100_000n };
const PAID: PaymentState = {
  session: "complete",
  total: { cents: 1_000, currency: "usd" },
  isPaid: true,
  hasFailed: false,
  refunds: [],
  disputes: [],
  intentId: "pi_1",
  receiptUrl: null,
  invoiceId: null,
};
const reversal = (id: string, cents: number, status: string, currency = "usd"): Reversal => {
  return { id, cents, status, currency };
};

/** Books are billing's part in payments: a status that only advances, adjustments that are booked once. */
class Books {
  status: PaymentStatus = "pending";
  deposited = 0n;
  readonly adjustments = new Map<string, bigint>();

  book(state: PaymentState): void {
    const { status, reversals } = paymentBookings(PAYMENT, state);
    if (status !== "pending") this.#put(status);
    for (const { id, credits } of reversals) {
      expect(this.adjustments.get(id) ?? credits).toBe(credits);
      this.adjustments.set(id, credits);
    }
  }

  get balance(): bigint {
    return [...this.adjustments.values()].reduce((sum, credits) => sum + credits, this.deposited);
  }

  #put(status: PaymentStatus): void {
    const allowed: Record<PaymentStatus, readonly PaymentStatus[]> = {
      pending: ["completed", "failed", "refunded"],
      completed: ["completed", "refunded"],
      failed: ["failed", "completed"],
      refunded: ["refunded"],
    };
    expect(allowed[this.status]).toContain(status);
    this.status = status;
    this.deposited = status === "completed" ? PAYMENT.credits : 0n;
  }
}

describe("a payment", () => {
  test.each([
    [{ session: "open", isPaid: false }, "pending"],
    [{ session: "complete", isPaid: false }, "pending"],
    [{ session: "complete", isPaid: false, hasFailed: true }, "failed"],
    [{ session: "expired", isPaid: false }, "failed"],
    [{}, "completed"],
    [{ refunds: [reversal("re_1", 1_000, "succeeded")] }, "refunded"],
  ] as const)("that is %j is %s, and nothing else is booked", (state, status) => {
    expect(paymentBookings(PAYMENT, { ...PAID, ...state })).toEqual({ status, reversals: [], problem: null });
  });

  test.each([
    { cents: 999, currency: "usd" },
    { cents: 1_001, currency: "usd" },
    { cents: 1_000, currency: "eur" },
    { cents: 0, currency: "none" },
  ])("of another amount, %j, is not booked, and somebody hears of it", (total) => {
    const { problem, ...booked } = paymentBookings(PAYMENT, { ...PAID, total });
    expect(booked).toEqual({ status: "pending", reversals: [] });
    expect(problem).toContain(`${total.cents} ${total.currency}`);
  });

  test("a refund in another currency is not booked, and somebody hears of it", () => {
    const refunds = [reversal("re_1", 300, "succeeded", "eur"), reversal("re_2", 200, "succeeded")];
    const { status, reversals, problem } = paymentBookings(PAYMENT, { ...PAID, refunds });
    expect([status, reversals.map(({ credits }) => credits)]).toEqual(["completed", [-20_000n]]);
    expect(problem).toContain("re_1");
  });

  test.each([
    ["needs_response", -60_000n],
    ["under_review", -60_000n],
    ["lost", -60_000n],
    ["won", 0n],
    ["warning_needs_response", 0n],
    ["warning_closed", 0n],
  ])("a dispute that is %s takes %s", (status, expected) => {
    const { reversals } = paymentBookings(PAYMENT, { ...PAID, disputes: [reversal("dp_1", 600, status)] });
    expect(reversals.reduce((sum, { credits }) => sum + credits, 0n)).toBe(expected);
  });
});

/** Refunds and disputes in sequence, each of which may continue while the next begins. */
const life = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("refund" as const), cents: fc.integer({ min: 1, max: 1_000 }) }),
    fc.record({ kind: fc.constant("dispute" as const), cents: fc.integer({ min: 1, max: 1_000 }) }),
    fc.record({ kind: fc.constant("goes on" as const), which: fc.nat(9), well: fc.boolean() }),
  ),
  { maxLength: 12 },
);
const NEXT: Readonly<Record<string, readonly [well: string, badly: string]>> = {
  pending: ["succeeded", "failed"],
  succeeded: ["succeeded", "failed"],
  needs_response: ["under_review", "lost"],
  under_review: ["won", "lost"],
};

test("whatever goes back and forth, and whenever we look, the account has what was paid less what is gone", () => {
  fc.assert(
    fc.property(life, fc.infiniteStream(fc.boolean()), (steps, looks) => {
      const books = new Books();
      const refunds: Reversal[] = [];
      const disputes: Reversal[] = [];
      const state = (): PaymentState => ({ ...PAID, refunds: [...refunds], disputes: [...disputes] });
      const gone = (one: Reversal) => !["failed", "won"].includes(one.status);
      const sum = (all: readonly Reversal[]) =>
        all.filter(gone).reduce((total, { cents }) => total + cents, 0);
      for (const step of steps) {
        if (step.kind === "refund" && sum(refunds) + step.cents <= 1_000) {
          refunds.push(reversal(`re_${refunds.length}`, step.cents, "pending"));
        } else if (step.kind === "dispute") {
          disputes.push(reversal(`dp_${disputes.length}`, step.cents, "needs_response"));
        } else if (step.kind === "goes on") {
          const all = [...refunds, ...disputes];
          const index = step.which % Math.max(1, all.length);
          const one = all[index];
          const next = one && NEXT[one.status]?.[step.well ? 0 : 1];
          if (one === undefined || next === undefined) continue;
          const list = index < refunds.length ? refunds : disputes;
          list[index < refunds.length ? index : index - refunds.length] = { ...one, status: next };
        }
        if (looks.next().value) books.book(state());
      }
      books.book(state());
      books.book(state());
      expect(books.balance).toBe(PAYMENT.credits - 100n * BigInt(sum(refunds) + sum(disputes)));
    }),
    { seed: 20_261_122, numRuns: 2_000 },
  );
});
