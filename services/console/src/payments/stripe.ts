// Stripe's functions for us: open a Checkout, read the state of a payment, and verify the signature of an event.
// https://docs.stripe.com/checkout/fulfillment
import { ServiceError } from "@gr/proto";
import { type Clock, OperatorError } from "@gr/runtime";
import type StripeClient from "stripe";
import type { ConsoleConfig } from "../config.ts";
import type { PaymentState } from "./payment-bookings.ts";
import { createSavedCards, reversalsOf, type SavedCards } from "./saved-cards.ts";
import { asking, createStripeClient, idOf } from "./stripe-client.ts";

const SESSIONS = ["complete", "expired"] as const;
/** Older signatures may be recorded and replayed. Later ones would stay valid for longer than these. */
const SIGNATURE_TOLERANCE_S = 300;

/** Objects of payments that we care about; all other content of an event is queried anew. */
const OF_PAYMENTS = /^(checkout\.session|refund|charge\.(refunded|refund|dispute)|payment_intent)\b/;

export interface CheckoutOrder {
  readonly paymentId: string;
  readonly accountId: string;
  readonly cents: number;
  /** Customer of the account at Stripe: its address and tax id are on the invoice. */
  readonly customerId: string;
  /** Page for the customer's return. */
  readonly returnUrl: string;
}

/** Objects of an event. */
export interface StripeEvent {
  readonly id: string;
  readonly sessionId: string | undefined;
  readonly intentId: string | undefined;
}

export interface Stripe extends SavedCards {
  /** @throws ServiceError service_unavailable */
  openCheckout(order: CheckoutOrder): Promise<{ sessionId: string; url: string }>;
  /** @throws ServiceError service_unavailable */
  readPayment(sessionId: string): Promise<PaymentState>;
  /** Returns the Checkout of an intent; undefined = it has none. @throws ServiceError service_unavailable */
  sessionOf(intentId: string): Promise<string | undefined>;
  /** @throws ServiceError invalid_signature */
  readEvent(body: Buffer, signature: string | undefined): StripeEvent;
}

/** Returns undefined without payment settings. @throws OperatorError if half of them is missing */
export function createStripe(config: ConsoleConfig, clock: Clock): Stripe | undefined {
  const { STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_API_URL: url } = config;
  if ((key === undefined) !== (webhookSecret === undefined)) {
    throw new OperatorError("Set both STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET, or neither.");
  }
  if (key === undefined || webhookSecret === undefined) return undefined;
  const client = createStripeClient(key, url);
  return {
    ...createSavedCards(client),
    openCheckout: (order) => asking(openCheckout(client, order)),
    readPayment: (sessionId) => asking(readPayment(client, sessionId)),
    sessionOf: async (intentId) => {
      const { data } = await asking(client.checkout.sessions.list({ payment_intent: intentId, limit: 1 }));
      return data[0]?.id;
    },
    readEvent: (body, signature) => {
      const event = verified(client, body, { signature, webhookSecret, now: clock.now() });
      const object = event.data.object as { id?: string; payment_intent?: string | { id: string } | null };
      if (!OF_PAYMENTS.test(event.type)) return { id: event.id, sessionId: undefined, intentId: undefined };
      const isSession = event.type.startsWith("checkout.session.");
      const isIntent = event.type.startsWith("payment_intent.");
      return {
        id: event.id,
        sessionId: isSession ? object.id : undefined,
        intentId: isIntent ? object.id : isSession ? undefined : idOf(object.payment_intent),
      };
    },
  };
}

async function openCheckout(
  client: StripeClient,
  { paymentId, accountId, cents, customerId, returnUrl }: CheckoutOrder,
): Promise<{ sessionId: string; url: string }> {
  const metadata = { payment_id: paymentId, account_id: accountId };
  const session = await client.checkout.sessions.create(
    {
      mode: "payment",
      line_items: [
        {
          quantity: 1,
          price_data: { currency: "usd", unit_amount: cents, product_data: { name: "Generation credits" } },
        },
      ],
      // Paid amounts equal requested ones, because a refund must be as exact as the payment.
      adaptive_pricing: { enabled: false },
      client_reference_id: paymentId,
      customer: customerId,
      // Stripe asks for the address and the tax id, and stores both for the next invoice.
      customer_update: { name: "auto", address: "auto" },
      billing_address_collection: "required",
      tax_id_collection: { enabled: true },
      invoice_creation: { enabled: true, invoice_data: { metadata } },
      metadata,
      payment_intent_data: { metadata },
      success_url: returnUrl,
      cancel_url: returnUrl,
    },
    { idempotencyKey: paymentId },
  );
  if (session.url === null) throw new Error(`Stripe has opened ${session.id} without an address`);
  return { sessionId: session.id, url: session.url };
}

async function readPayment(client: StripeClient, sessionId: string): Promise<PaymentState> {
  const session = await client.checkout.sessions.retrieve(sessionId, {
    expand: ["payment_intent.latest_charge"],
  });
  const { payment_intent: intent, status, payment_status: paid } = session;
  const intentId = idOf(intent) ?? null;
  const [refunds, disputes] =
    intentId === null || paid !== "paid" ? [[], []] : await reversalsOf(client, intentId);
  const charge = typeof intent === "object" ? intent?.latest_charge : null;
  return {
    session: SESSIONS.find((one) => one === status) ?? "open",
    total: { cents: session.amount_total ?? 0, currency: session.currency ?? "none" },
    isPaid: paid === "paid",
    hasFailed:
      status === "complete" &&
      typeof intent === "object" &&
      ["requires_payment_method", "canceled"].includes(intent?.status ?? ""),
    refunds,
    disputes,
    intentId,
    invoiceId: idOf(session.invoice) ?? null,
    receiptUrl: (typeof charge === "object" ? charge?.receipt_url : null) ?? null,
  };
}

interface Signed {
  readonly signature: string | undefined;
  readonly webhookSecret: string;
  /** Unix milliseconds. */
  readonly now: number;
}

function verified(client: StripeClient, body: Buffer, { signature = "", webhookSecret, now }: Signed) {
  try {
    // The library refuses old signatures only.
    for (const [, seconds] of signature.matchAll(/(?:^|,)\s*t=([^,]*)/g)) {
      if (!(Number(seconds) - now / 1_000 <= SIGNATURE_TOLERANCE_S))
        throw new Error("It is dated in the future");
    }
    return client.webhooks.constructEvent(
      body,
      signature,
      webhookSecret,
      SIGNATURE_TOLERANCE_S,
      undefined,
      now,
    );
  } catch (cause) {
    const message = "The signature is not Stripe's, or is dated too far from now.";
    throw new ServiceError("invalid_signature", message, { cause });
  }
}
