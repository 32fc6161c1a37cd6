// Payers on their table: the customer of an account at Stripe, and its saved card.
import type { Pool } from "@gr/runtime";
import type { SavedCard } from "../payments/saved-cards.ts";

export interface Payer {
  readonly customerId: string;
  /** Checkout that saves a card; null = none is open. */
  readonly setupSessionId: string | null;
  /** Null = no card is saved. */
  readonly card: SavedCard | null;
}

export interface PayerStore {
  find(accountId: string): Promise<Payer | undefined>;
  /** Keeps an earlier customer of the account. @returns the id that is stored */
  addCustomer(accountId: string, customerId: string): Promise<string>;
  beginSetup(accountId: string, sessionId: string, by: string): Promise<void>;
  findBySetup(sessionId: string): Promise<string | undefined>;
  /** Returns true if the open Checkout may be read now: it was not in the last seconds. */
  claimSetup(accountId: string, now: Date): Promise<boolean>;
  /**
   * Ends a Checkout. @param card null = it has saved none
   * @returns the person who opened it; undefined if the Checkout was ended before
   */
  endSetup(sessionId: string, card: SavedCard | null): Promise<EndedSetup | undefined>;
  /** A card that was saved in the meantime stays. */
  removeCard(accountId: string, paymentMethodId: string): Promise<void>;
}

export interface EndedSetup {
  readonly accountId: string;
  readonly by: string;
}

const READ_EVERY_MS = 3_000;

interface PayerRow {
  customer_id: string;
  setup_session_id: string | null;
  payment_method_id: string | null;
  card_brand: string | null;
  card_last4: string | null;
  card_expires: string | null;
}

const END_SETUP = `UPDATE payer AS p SET setup_session_id = NULL, setup_by = NULL,
    payment_method_id = coalesce($2, p.payment_method_id), card_brand = coalesce($3, p.card_brand),
    card_last4 = coalesce($4, p.card_last4), card_expires = coalesce($5, p.card_expires)
  FROM (SELECT account_id, setup_by FROM payer WHERE setup_session_id = $1 FOR UPDATE) b
  WHERE p.account_id = b.account_id
  RETURNING p.account_id AS "accountId", b.setup_by AS by`;

const REMOVE_CARD = `UPDATE payer SET payment_method_id = NULL, card_brand = NULL, card_last4 = NULL, card_expires = NULL
  WHERE account_id = $1 AND payment_method_id = $2`;

export function createPayerStore(pool: Pool): PayerStore {
  return {
    find: async (accountId) => {
      const sql = `SELECT customer_id, setup_session_id, payment_method_id, card_brand, card_last4, card_expires
        FROM payer WHERE account_id = $1`;
      return (await pool.query<PayerRow>(sql, [accountId])).rows.map(payerOf)[0];
    },
    addCustomer: async (accountId, customerId) => {
      const sql = `INSERT INTO payer (account_id, customer_id) VALUES ($1, $2)
        ON CONFLICT (account_id) DO UPDATE SET customer_id = payer.customer_id RETURNING customer_id`;
      return (await pool.query<PayerRow>(sql, [accountId, customerId])).rows[0]?.customer_id ?? customerId;
    },
    beginSetup: async (accountId, sessionId, by) => {
      const sql =
        "UPDATE payer SET setup_session_id = $2, setup_by = $3, setup_checked_at = NULL WHERE account_id = $1";
      await pool.query(sql, [accountId, sessionId, by]);
    },
    findBySetup: async (sessionId) => {
      const sql = "SELECT account_id FROM payer WHERE setup_session_id = $1";
      return (await pool.query<{ account_id: string }>(sql, [sessionId])).rows[0]?.account_id;
    },
    claimSetup: async (accountId, now) => {
      const sql = `UPDATE payer SET setup_checked_at = $2 WHERE account_id = $1 AND setup_session_id IS NOT NULL
        AND (setup_checked_at IS NULL OR setup_checked_at <= $3)`;
      const values = [accountId, now, new Date(now.getTime() - READ_EVERY_MS)];
      return (await pool.query(sql, values)).rowCount === 1;
    },
    endSetup: async (sessionId, card) => {
      const values = [sessionId, card?.paymentMethodId, card?.brand, card?.last4, card?.expires];
      return (
        await pool.query<EndedSetup>(
          END_SETUP,
          values.map((value) => value ?? null),
        )
      ).rows[0];
    },
    removeCard: async (accountId, paymentMethodId) => {
      await pool.query(REMOVE_CARD, [accountId, paymentMethodId]);
    },
  };
}

function payerOf(row: PayerRow): Payer {
  const {
    payment_method_id: paymentMethodId,
    card_brand: brand,
    card_last4: last4,
    card_expires: expires,
  } = row;
  return {
    customerId: row.customer_id,
    setupSessionId: row.setup_session_id,
    card:
      paymentMethodId === null
        ? null
        : { paymentMethodId, brand: brand ?? "card", last4: last4 ?? "", expires: expires ?? "" },
  };
}
