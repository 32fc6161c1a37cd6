// The Stripe webhook accepts events with Stripe's signature over the exact bytes.
// The answer's status decides whether Stripe repeats the event.
import { ServiceError } from "@gr/proto";
import { anyone, type RestRoute, restRoute } from "@gr/runtime";
import { z } from "zod";
import type { ConsoleEvents } from "../events.ts";
import type { PaymentStore } from "./payment-store.ts";
import type { SettlePayments } from "./settle-payment.ts";
import type { Stripe, StripeEvent } from "./stripe.ts";

export const STRIPE_WEBHOOK_PATH = "/webhooks/stripe";

const BODY_LIMIT = 512 * 1024;

export interface StripeWebhookDeps {
  readonly stripe: Stripe;
  readonly payments: Pick<PaymentStore, "findBySession" | "findByIntent" | "hasEvent" | "keepEvent">;
  readonly settling: Pick<SettlePayments, "settle">;
  readonly payers: {
    /** Ends the Checkout that saves a card. @returns false if the Checkout is not one of ours */
    settleSetup(sessionId: string): Promise<boolean>;
  };
  readonly events: ConsoleEvents;
}

export function stripeWebhook({ stripe, payments, settling, payers, events }: StripeWebhookDeps): RestRoute {
  return restRoute({
    method: "POST",
    path: STRIPE_WEBHOOK_PATH,
    access: anyone,
    summary: "Events of Stripe",
    body: z.unknown(),
    bodyAs: "bytes",
    bodyLimit: BODY_LIMIT,
    responses: { 200: { description: "Stripe need not repeat it" } },
    handle: async ({ http }) => {
      const { "stripe-signature": signature } = http.headers;
      const event = readEvent(http.body as Buffer, typeof signature === "string" ? signature : undefined);
      if (await payments.hasEvent(event.id)) {
        events.stripeEvent("repeated");
        return { received: true };
      }
      try {
        const paymentId = await paymentOf(event);
        if (paymentId !== undefined) await settling.settle(paymentId);
        const { sessionId } = event;
        const isSetup =
          paymentId === undefined && sessionId !== undefined && (await payers.settleSetup(sessionId));
        await payments.keepEvent(event.id);
        events.stripeEvent(paymentId === undefined && !isSetup ? "not_ours" : "done");
      } catch (error) {
        events.stripeEvent("failed");
        throw error;
      }
      return { received: true };
    },
  });

  function readEvent(body: Buffer, signature: string | undefined): StripeEvent {
    try {
      return stripe.readEvent(body, signature);
    } catch (error) {
      if (error instanceof ServiceError) events.stripeEvent("bad_signature");
      throw error;
    }
  }

  /** Undefined: the event belongs to another payment, or to none. */
  async function paymentOf({ sessionId, intentId }: StripeEvent): Promise<string | undefined> {
    if (sessionId !== undefined) return payments.findBySession(sessionId);
    if (intentId === undefined) return undefined;
    const known = await payments.findByIntent(intentId);
    if (known !== undefined) return known;
    // The event overtook the one that would have stored the intent.
    const session = await stripe.sessionOf(intentId);
    return session === undefined ? undefined : payments.findBySession(session);
  }
}
