// Saved cards at Stripe: a customer for each account, a Checkout that saves a card, and charges without the customer.
// A charge is idempotent by the id of its payment. https://docs.stripe.com/payments/save-and-reuse
import { createHash } from "node:crypto";
import StripeClient from "stripe";
import type { PaymentState, Reversal } from "./payment-bookings.ts";
import { asking } from "./stripe-client.ts";

export interface SavedCard {
  readonly paymentMethodId: string;
  readonly brand: string;
  readonly last4: string;
  /** "08/28" */
  readonly expires: string;
}

export interface CardCharge {
  readonly paymentId: string;
  readonly accountId: string;
  readonly cents: number;
  readonly customerId: string;
  readonly paymentMethodId: string;
  /** Receives the receipt. */
  readonly email: string;
}

export interface InvoicedCharge extends Pick<CardCharge, "paymentId" | "cents" | "customerId"> {
  readonly intentId: string;
}

/** A charge has an intent at Stripe, unless Stripe has refused the request itself. */
export type ChargeAnswer =
  | { readonly intentId: string; readonly refusal?: undefined }
  | { readonly intentId?: undefined; readonly refusal: string };

export interface ChargeState extends PaymentState {
  /** Reason of a refusal, for people; null = none. */
  readonly failure: string | null;
}

/** Each function throws ServiceError service_unavailable if Stripe does not answer as it should. */
export interface SavedCards {
  /** Opens a customer, one for each account. @returns its id */
  createCustomer(account: { accountId: string; name: string; email: string }): Promise<string>;
  /** Opens a Checkout that saves a card and charges nothing. */
  openCardSetup(setup: {
    readonly customerId: string;
    readonly returnUrl: string;
  }): Promise<{ sessionId: string; url: string }>;
  /** @returns undefined while it is open; null if it expired without a card */
  readCardSetup(sessionId: string): Promise<SavedCard | null | undefined>;
  /** Charges a card while its owner is away. The same payment again is the same charge, for at least 24 hours. */
  chargeCard(charge: CardCharge): Promise<ChargeAnswer>;
  /** Finds the charge of a payment by its metadata, a minute after the charge at the latest. */
  findCharge(paymentId: string): Promise<string | undefined>;
  /** Reads a charge. One that waits for its owner is cancelled first, so it never succeeds later. */
  readCharge(intentId: string): Promise<ChargeState>;
  /** Writes the invoice of a succeeded charge. The same payment again is the same invoice, for at least 24 hours. @returns its id */
  invoiceCharge(charge: InvoicedCharge): Promise<string>;
  /** Removes all cards of a customer but one, also those that no table has. @param kept undefined: all */
  removeCards(customerId: string, kept: string | undefined): Promise<void>;
  /** Page of Stripe where the owner changes address, tax id and card, and reads invoices. */
  openPortal(customerId: string, returnUrl: string): Promise<string>;
  readInvoice(invoiceId: string): Promise<{ number: string | null; url: string | null }>;
}

/** Refusals of the request: Stripe has created nothing, and a repeat would get the same answer. */
const REFUSED = new Set([400, 402, 404]);
const MOST_REVERSALS = 1_000;
const MOST_CARDS = 1_000;

export function createSavedCards(client: StripeClient): SavedCards {
  return {
    createCustomer: async ({ accountId, name, email }) => {
      const fields = { name, email, metadata: { account_id: accountId } };
      // Stripe refuses a used key with other parameters for 24 h.
      const digest = createHash("sha256")
        .update(JSON.stringify([name, email]))
        .digest("hex");
      const options = { idempotencyKey: `customer ${accountId} ${digest}` };
      return (await asking(client.customers.create(fields, options))).id;
    },
    openCardSetup: async ({ customerId, returnUrl }) => {
      const session = await asking(
        client.checkout.sessions.create({
          ...{ mode: "setup", customer: customerId, payment_method_types: ["card"] },
          ...{ success_url: returnUrl, cancel_url: returnUrl },
        }),
      );
      if (session.url === null) throw new Error(`Stripe has opened ${session.id} without an address`);
      return { sessionId: session.id, url: session.url };
    },
    readCardSetup: async (sessionId) => {
      const { status, setup_intent: setup } = await asking(
        client.checkout.sessions.retrieve(sessionId, { expand: ["setup_intent.payment_method"] }),
      );
      const method = typeof setup === "object" ? setup?.payment_method : null;
      if (status === "complete" && typeof method === "object" && method?.card) {
        const { brand, last4, exp_month: month, exp_year: year } = method.card;
        const expires = `${String(month).padStart(2, "0")}/${String(year % 100).padStart(2, "0")}`;
        return { paymentMethodId: method.id, brand, last4, expires };
      }
      return status === "open" ? undefined : null;
    },
    chargeCard: (charge) => chargeCard(client, charge),
    findCharge: async (paymentId) => {
      const query = `metadata["payment_id"]:"${paymentId}"`;
      return (await asking(client.paymentIntents.search({ query, limit: 1 }))).data[0]?.id;
    },
    readCharge: (intentId) => asking(readCharge(client, intentId)),
    invoiceCharge: (charge) => asking(invoiceCharge(client, charge)),
    removeCards: (customerId, kept) => asking(removeCards(client, customerId, kept)),
    openPortal: async (customer, returnUrl) =>
      (await asking(client.billingPortal.sessions.create({ customer, return_url: returnUrl }))).url,
    readInvoice: async (invoiceId) => {
      const { number, hosted_invoice_url: url } = await asking(client.invoices.retrieve(invoiceId));
      return { number, url: url ?? null };
    },
  };
}

async function chargeCard(client: StripeClient, charge: CardCharge): Promise<ChargeAnswer> {
  const { paymentId, accountId, cents, customerId, paymentMethodId, email } = charge;
  try {
    const intent = await client.paymentIntents.create(
      {
        ...{ amount: cents, currency: "usd", description: "Generation credits, automatic top-up" },
        ...{ customer: customerId, payment_method: paymentMethodId, payment_method_types: ["card"] },
        ...{ off_session: true, confirm: true, receipt_email: email },
        metadata: { payment_id: paymentId, account_id: accountId },
      },
      { idempotencyKey: paymentId },
    );
    return { intentId: intent.id };
  } catch (error) {
    const { StripeError, StripeIdempotencyError, StripeRateLimitError } = StripeClient.errors;
    if (!(error instanceof StripeError)) throw error;
    const { payment_intent: intent, statusCode = 0 } = error;
    // A declined card has an intent, which is read like any other.
    if (intent !== undefined) return { intentId: intent.id };
    const mayPass = error instanceof StripeIdempotencyError || error instanceof StripeRateLimitError;
    if (mayPass || !REFUSED.has(statusCode)) return asking(Promise.reject(error));
    return { refusal: error.message };
  }
}

async function removeCards(client: StripeClient, customer: string, kept: string | undefined): Promise<void> {
  const found = client.customers.listPaymentMethods(customer, { type: "card", limit: 100 });
  for (const { id } of await found.autoPagingToArray({ limit: MOST_CARDS })) {
    if (id !== kept) await client.paymentMethods.detach(id);
  }
}

async function invoiceCharge(client: StripeClient, charge: InvoicedCharge): Promise<string> {
  const { paymentId, cents, customerId: customer, intentId } = charge;
  const once = (step: string) => ({ idempotencyKey: `${paymentId} ${step}` });
  const { id } = await client.invoices.create(
    {
      ...{ customer, currency: "usd", auto_advance: false, pending_invoice_items_behavior: "exclude" },
      metadata: { payment_id: paymentId },
    },
    once("invoice"),
  );
  if (id === undefined) throw new Error("Stripe has created an invoice without an id");
  const item = { customer, invoice: id, amount: cents, currency: "usd", description: "Generation credits" };
  await client.invoiceItems.create(item, once("item"));
  await client.invoices.finalizeInvoice(id, { auto_advance: false }, once("finalize"));
  // The payment is credited to the invoice at once, because it has succeeded.
  await client.invoices.attachPayment(id, { payment_intent: intentId }, once("attach"));
  return id;
}

/** States of a charge that its owner would have to continue. */
const WAITING = ["requires_payment_method", "requires_confirmation", "requires_action"];

async function readCharge(client: StripeClient, intentId: string): Promise<ChargeState> {
  const expand = ["latest_charge"];
  const found = await client.paymentIntents.retrieve(intentId, { expand });
  const failure = found.last_payment_error?.message ?? "The bank wants its customer to confirm the charge.";
  const intent = WAITING.includes(found.status)
    ? await client.paymentIntents.cancel(intentId, { cancellation_reason: "abandoned", expand })
    : found;
  const isPaid = intent.status === "succeeded";
  const hasFailed = intent.status === "canceled";
  const [refunds, disputes] = isPaid ? await reversalsOf(client, intentId) : [[], []];
  const charge = intent.latest_charge;
  return {
    session: "complete",
    total: { cents: intent.amount, currency: intent.currency },
    ...{ isPaid, hasFailed, refunds, disputes, intentId },
    invoiceId: null,
    receiptUrl: (typeof charge === "object" ? charge?.receipt_url : null) ?? null,
    failure: hasFailed ? failure : null,
  };
}

/** Returns refunds, oldest first, and disputes. */
export async function reversalsOf(client: StripeClient, intentId: string): Promise<[Reversal[], Reversal[]]> {
  const asked = { payment_intent: intentId, limit: 100 };
  const [refunds, disputes] = await Promise.all([
    client.refunds.list(asked).autoPagingToArray({ limit: MOST_REVERSALS }),
    client.disputes.list(asked).autoPagingToArray({ limit: MOST_REVERSALS }),
  ]);
  const oldestFirst = refunds.toSorted((a, b) => a.created - b.created || a.id.localeCompare(b.id));
  return [oldestFirst.map(reversalOf), disputes.map(reversalOf)];
}

function reversalOf(one: { id: string; amount: number; currency: string; status: string | null }): Reversal {
  return { id: one.id, cents: one.amount, currency: one.currency, status: one.status ?? "pending" };
}
