// Statements on payments, their reversals, and the events of Stripe that were dealt with.
import { type Credits, formatCredits } from "@gr/money";
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";
import type { PaymentStatus } from "../payment-status.ts";
import type { PaymentBookings } from "./payment-bookings.ts";

export interface Payment {
  readonly id: string;
  readonly accountId: string;
  readonly credits: Credits;
  readonly status: PaymentStatus;
  readonly askedBy: string;
  readonly sessionId: string | null;
  readonly checkoutUrl: string | null;
  readonly receiptUrl: string | null;
  readonly problem: string | null;
  readonly createdAt: Date;
  readonly changedAt: Date;
  readonly intentId: string | null;
  readonly invoiceId: string | null;
  /** Reason of a refused charge, for people. */
  readonly failure: string | null;
  /** True: a charge of a saved card, without a Checkout. */
  readonly isAutomatic: boolean;
  /** Of an automatic charge. */
  readonly customerId: string | null;
  readonly paymentMethodId: string | null;
}

/** A payment under the lock of its settlement. */
export interface LockedPayment extends Payment {
  /** True if automatic top-ups of its account are on. */
  readonly isRuleOn: boolean;
  /** Time of the last request to Stripe for an automatic charge. */
  readonly attemptedAt: Date | null;
}

export interface ListedPayment extends Payment {
  /** Credits removed by partial refunds and disputes, less the returned ones. */
  readonly reversed: Credits;
}

export interface PaymentPage {
  readonly accountId: string;
  readonly id: string | undefined;
  readonly after: string | undefined;
  readonly limit: number;
  /** True: only payments with an invoice. */
  readonly isInvoiced?: boolean;
}

/** Changes of a payment after a query of Stripe. */
export interface PaymentChange extends PaymentBookings {
  readonly intentId: string | null;
  readonly receiptUrl: string | null;
  readonly invoiceId: string | null;
  readonly failure: string | null;
}

/** @param holdRule delays decisions about automatic top-ups of the account until the settlement ends */
export type SettleLocked = (payment: LockedPayment, holdRule: () => Promise<void>) => Promise<PaymentChange>;

export interface PaymentStore {
  add(payment: Pick<Payment, "id" | "accountId" | "credits" | "askedBy">): Promise<void>;
  setCheckout(id: string, sessionId: string, checkoutUrl: string): Promise<Payment>;
  /**
   * Settles a payment while no other process does. A failed, refunded or disputed automatic charge also switches automatic
   * top-ups off.
   * @param settle returns the new state; if it throws, nothing changes
   * @returns undefined if the payment does not exist
   */
  settle(id: string, settle: SettleLocked): Promise<Payment | undefined>;
  /** Stores the time of an attempt at once, outside of the settlement, so that a failed settlement keeps it. */
  recordAttempt(id: string, at: Date): Promise<void>;
  findBySession(sessionId: string): Promise<string | undefined>;
  findByIntent(intentId: string): Promise<string | undefined>;
  /** Newest first. */
  list(page: PaymentPage): Promise<ListedPayment[]>;
  /** Maps ids of deposits and adjustments to the ids of their payments. */
  ofBookings(bookingIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Returns pending payments without a query of Stripe for an hour, the oldest query first. */
  stale(limit: number): Promise<string[]>;
  /** Returns completed automatic charges without an invoice, of the last hours, the oldest first. */
  uninvoiced(since: Date, limit: number): Promise<Payment[]>;
  setInvoice(id: string, invoiceId: string): Promise<void>;
  /** Marks the payment as queried now. */
  postpone(id: string): Promise<void>;
  hasEvent(eventId: string): Promise<boolean>;
  keepEvent(eventId: string): Promise<void>;
  sweep(): Promise<void>;
}

const COLUMNS = `p.id, p.account_id AS "accountId", p.credits, p.status, p.asked_by AS "askedBy", p.session_id AS "sessionId",
  p.checkout_url AS "checkoutUrl", p.receipt_url AS "receiptUrl", p.problem, p.created_at AS "createdAt",
  p.changed_at AS "changedAt", p.intent_id AS "intentId", p.invoice_id AS "invoiceId", p.failure,
  p.is_automatic AS "isAutomatic", p.customer_id AS "customerId", p.payment_method_id AS "paymentMethodId"`;

const LIST = `SELECT ${COLUMNS}, coalesce((SELECT -sum(r.credits) FROM payment_reversal r WHERE r.payment_id = p.id), 0)::bigint
    AS reversed
  FROM payment p
 WHERE p.account_id = $1 AND ($2::uuid IS NULL OR p.id = $2) AND ($3::uuid IS NULL OR p.id < $3)
   AND (NOT $5::boolean OR p.invoice_id IS NOT NULL)
 ORDER BY p.id DESC LIMIT $4`;

const CHANGE = `UPDATE payment AS p SET status = $2, problem = $3, intent_id = coalesce($4, p.intent_id),
    receipt_url = coalesce($5, p.receipt_url), invoice_id = coalesce($6, p.invoice_id), failure = coalesce(p.failure, $7), checked_at = now(),
    checkout_url = CASE WHEN $2 = 'pending' THEN p.checkout_url END,
    changed_at = CASE WHEN p.status = $2 THEN p.changed_at ELSE now() END
  WHERE p.id = $1 RETURNING ${COLUMNS}`;

const LOCK_STATE = `SELECT coalesce((SELECT is_on FROM auto_top_up WHERE account_id = $1), false) AS "isRuleOn",
  (SELECT attempted_at FROM open_charge WHERE payment_id = $2) AS "attemptedAt"`;

/** Reasons for people, by the kind of the payment. */
const REVERSED = {
  automatic: "The charge was refunded or disputed.",
  checkout: "A payment was refunded or disputed.",
};

/**
 * After a refused charge, or a reversed payment of any kind, the card is not charged until a person has saved the rule: a charge
 * would replace the returned money. A rule that is off keeps its problem.
 */
const SWITCH_OFF = `UPDATE auto_top_up SET is_on = false, problem = coalesce($2, 'The charge failed.'),
    report = jsonb_build_object('kind', 'top_up_failed', 'amount', $3::text, 'reason', coalesce($2, ''),
      'payment', $4::text, 'event', $5::text)
  WHERE account_id = $1 AND is_on`;

export function createPaymentStore(pool: Pool): PaymentStore {
  const idOf = async (sql: string, values: readonly unknown[]): Promise<string | undefined> =>
    (await pool.query<{ id: string }>(sql, [...values])).rows[0]?.id;
  return {
    add: async ({ id, accountId, credits, askedBy }) => {
      const sql = `INSERT INTO payment (id, account_id, credits, status, asked_by) VALUES ($1, $2, $3, 'pending', $4)`;
      await pool.query(sql, [id, accountId, credits, askedBy]);
    },
    setCheckout: async (id, sessionId, checkoutUrl) => {
      const sql = `UPDATE payment AS p SET session_id = $2, checkout_url = $3 WHERE p.id = $1 RETURNING ${COLUMNS}`;
      return onlyOf((await pool.query<Payment>(sql, [id, sessionId, checkoutUrl])).rows);
    },
    settle: (id, settle) => inTransaction(pool, (client) => settleIn(client, id, settle)),
    recordAttempt: async (id, at) => {
      await pool.query("UPDATE open_charge SET attempted_at = $2 WHERE payment_id = $1", [id, at]);
    },
    findBySession: (sessionId) => idOf("SELECT id FROM payment WHERE session_id = $1", [sessionId]),
    findByIntent: (intentId) => idOf("SELECT id FROM payment WHERE intent_id = $1", [intentId]),
    list: async ({ accountId, id, after, limit, isInvoiced = false }) =>
      (await pool.query<ListedPayment>(LIST, [accountId, id ?? null, after ?? null, limit, isInvoiced])).rows,
    ofBookings: async (bookingIds) => {
      if (bookingIds.length === 0) return new Map();
      const { rows } = await pool.query<{ booking: string; payment: string }>(
        `SELECT id AS booking, id AS payment FROM payment WHERE id = ANY ($1::uuid[])
         UNION ALL SELECT adjustment_id, payment_id FROM payment_reversal WHERE adjustment_id = ANY ($1::uuid[])`,
        [bookingIds],
      );
      return new Map(rows.map(({ booking, payment }) => [booking, payment]));
    },
    stale: async (limit) => {
      const sql = `SELECT id FROM payment WHERE status = 'pending' AND checked_at < now() - interval '1 hour'
        ORDER BY checked_at LIMIT $1`;
      return (await pool.query<{ id: string }>(sql, [limit])).rows.map(({ id }) => id);
    },
    uninvoiced: async (since, limit) => {
      const sql = `SELECT ${COLUMNS} FROM payment p WHERE p.is_automatic AND p.status = 'completed'
        AND p.invoice_id IS NULL AND p.created_at > $1 ORDER BY p.created_at LIMIT $2`;
      return (await pool.query<Payment>(sql, [since, limit])).rows;
    },
    setInvoice: async (id, invoiceId) => {
      await pool.query("UPDATE payment SET invoice_id = $2 WHERE id = $1", [id, invoiceId]);
    },
    postpone: async (id) => {
      await pool.query("UPDATE payment SET checked_at = now() WHERE id = $1", [id]);
    },
    hasEvent: async (eventId) =>
      (await pool.query("SELECT FROM stripe_event WHERE id = $1", [eventId])).rowCount === 1,
    keepEvent: async (eventId) => {
      await pool.query("INSERT INTO stripe_event (id) VALUES ($1) ON CONFLICT DO NOTHING", [eventId]);
    },
    sweep: async () => {
      await pool.query("DELETE FROM stripe_event WHERE received_at < now() - interval '30 days'");
    },
  };
}

async function settleIn(client: PoolClient, id: string, settle: SettleLocked): Promise<Payment | undefined> {
  const locked = await client.query<Payment>(`SELECT ${COLUMNS} FROM payment p WHERE id = $1 FOR UPDATE`, [
    id,
  ]);
  const [payment] = locked.rows;
  if (payment === undefined) return undefined;
  const { accountId, isAutomatic } = payment;
  // A second statement, because a statement that has waited for a lock reads other tables as they were before the wait.
  const state = onlyOf(
    (await client.query<Pick<LockedPayment, "isRuleOn" | "attemptedAt">>(LOCK_STATE, [accountId, id])).rows,
  );
  const holdRule = async () => {
    await client.query("SELECT FROM auto_top_up WHERE account_id = $1 FOR UPDATE", [accountId]);
  };
  const { status, problem, intentId, receiptUrl, invoiceId, failure, reversals } = await settle(
    { ...payment, ...state },
    holdRule,
  );
  let isReversed = status === "refunded" && payment.status !== "refunded";
  for (const reversal of reversals) {
    const { rowCount } = await client.query(
      `INSERT INTO payment_reversal (adjustment_id, payment_id, credits, reason) VALUES ($1, $2, $3, $4)
       ON CONFLICT DO NOTHING`,
      [reversal.id, id, reversal.credits, reversal.reason],
    );
    // A returned amount raises the balance.
    if (rowCount === 1 && reversal.credits < 0n) isReversed = true;
  }
  const values = [id, status, problem, intentId, receiptUrl, invoiceId, failure];
  const settled = onlyOf((await client.query<Payment>(CHANGE, values)).rows);
  if (isAutomatic && status !== "pending") {
    await client.query("DELETE FROM open_charge WHERE payment_id = $1", [id]);
  }
  const hasFailed = status === "failed" && payment.status !== "failed";
  if (isReversed || (isAutomatic && hasFailed)) {
    const kind = isAutomatic ? "automatic" : "checkout";
    const reason = isReversed ? REVERSED[kind] : failure;
    const event = isReversed ? "reversed" : "failed";
    await client.query(SWITCH_OFF, [accountId, reason, formatCredits(settled.credits), kind, event]);
  }
  return settled;
}

function onlyOf<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error("a statement has answered no row");
  return row;
}
