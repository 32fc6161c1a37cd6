// Stripe for the console's calls only: Checkouts that a test, or a browser, pays, their refunds and disputes, and
// events with Stripe's signature. https://docs.stripe.com/webhooks#verify-manually
import { createHmac, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { FakeCards, type FakeSetup } from "./fake-cards.ts";

export interface FakeCheckout {
  readonly id: string;
  readonly intentId: string;
  amount_total: number;
  currency: string;
  status: "open" | "complete" | "expired";
  payment_status: "paid" | "unpaid";
  intentStatus: string;
  readonly client_reference_id: string | null;
  readonly success_url: string;
}

export interface FakeReversal {
  readonly id: string;
  readonly object: "refund" | "dispute";
  readonly payment_intent: string;
  readonly amount: number;
  readonly currency: string;
  readonly created: number;
  status: string;
}

export interface SignedEvent {
  readonly body: string;
  readonly signature: string;
}

export interface EventOptions {
  /** Id of a repeated event. */
  readonly id?: string;
  readonly secret?: string;
  /** Unix seconds of the signature. */
  readonly at?: number;
}

const EVENT_OF = { refund: "refund.updated", dispute: "charge.dispute.updated" } as const;

export class FakeStripe {
  static readonly webhookSecret = "whsec_for_tests_only";
  readonly checkouts: FakeCheckout[] = [];
  readonly reversals: FakeReversal[] = [];
  readonly cards = new FakeCards();
  /** While true, every answer is 500. */
  isDown = false;
  /** Address of events after a payment in a browser. */
  webhookUrl: string | undefined;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      response.writeHead(500, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { type: "api_error", message: String(error) } }));
    });
  });

  static async start(): Promise<FakeStripe> {
    const stripe = new FakeStripe();
    await new Promise<void>((resolve) => stripe.#server.listen(0, "127.0.0.1", resolve));
    return stripe;
  }

  /** Settings of a router that uses it. */
  get env(): Record<string, string> {
    return {
      STRIPE_SECRET_KEY: "sk_test_nothing_real",
      STRIPE_WEBHOOK_SECRET: FakeStripe.webhookSecret,
      STRIPE_API_URL: this.url,
    };
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  checkoutOf(paymentId: string): FakeCheckout {
    const found = this.checkouts.find(({ client_reference_id: id }) => id === paymentId);
    if (found === undefined) throw new Error(`nobody has opened a Checkout for ${paymentId}`);
    return found;
  }

  pay(checkout: FakeCheckout): FakeCheckout {
    return Object.assign(checkout, { status: "complete", payment_status: "paid", intentStatus: "succeeded" });
  }

  refund({ intentId, currency }: FakeCheckout, amount: number, status = "succeeded"): FakeReversal {
    return this.#reverse("re", { object: "refund", payment_intent: intentId, currency, amount, status });
  }

  dispute({ intentId, currency }: FakeCheckout, amount: number, status = "needs_response"): FakeReversal {
    return this.#reverse("dp", { object: "dispute", payment_intent: intentId, currency, amount, status });
  }

  eventOfCheckout(type: string, checkout: FakeCheckout, options?: EventOptions): SignedEvent {
    return this.event(`checkout.session.${type}`, sessionOf(checkout), options);
  }

  eventOfReversal(reversal: FakeReversal, options?: EventOptions): SignedEvent {
    return this.event(EVENT_OF[reversal.object], reversal, options);
  }

  event(type: string, object: object, options: EventOptions = {}): SignedEvent {
    const { id = `evt_${randomUUID()}`, secret = FakeStripe.webhookSecret } = options;
    const { at = Math.floor(Date.now() / 1_000) } = options;
    const body = JSON.stringify({ id, object: "event", type, data: { object } });
    const digest = createHmac("sha256", secret).update(`${at}.${body}`).digest("hex");
    return { body, signature: `t=${at},v1=${digest}` };
  }

  #reverse(prefix: string, fields: Omit<FakeReversal, "id" | "created">): FakeReversal {
    const reversal = { id: `${prefix}_${randomUUID()}`, created: this.reversals.length, ...fields };
    this.reversals.push(reversal);
    return reversal;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", this.url);
    const sent = await bodyOf(request);
    const json = (status: number, body: object) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    const list = (data: object[]) => json(200, { object: "list", has_more: false, url: pathname, data });
    const ofIntent = searchParams.get("payment_intent");
    const [, page, id] = /^\/(pay|v1\/checkout\/sessions)\/([^/]+)$/.exec(pathname) ?? [];
    if (this.isDown) return json(500, { error: { type: "api_error", message: "down" } });
    const setup = this.cards.setupOf(id);
    if (page === "pay" && setup !== undefined) return this.#cardPage(setup, request, response);
    if (page === "pay") return this.#payPage(this.#checkout(id), request, response);
    if (request.headers.authorization === undefined) return json(401, { error: { message: "no key" } });
    if (page !== undefined && setup !== undefined) return json(200, this.cards.setupSession(setup));
    if (page !== undefined) return json(200, sessionOf(this.#checkout(id)));
    const form = new URLSearchParams(sent === "" ? searchParams : sent);
    const key = request.headers["idempotency-key"];
    if (pathname === "/v1/checkout/sessions" && request.method === "POST") {
      const isSetup = form.get("mode") === "setup";
      return json(200, isSetup ? this.cards.openSetup(form, this.url) : sessionOf(this.#open(form, key)));
    }
    const { method = "GET" } = request;
    const ofCards = this.cards.answer(method, pathname, form, typeof key === "string" ? key : undefined);
    if (ofCards !== undefined) return json(ofCards.status, ofCards.body);
    if (pathname === "/v1/checkout/sessions") {
      return list(this.checkouts.filter(({ intentId }) => intentId === ofIntent).map(sessionOf));
    }
    const kind = { "/v1/refunds": "refund", "/v1/disputes": "dispute" }[pathname];
    if (kind === undefined) return json(404, { error: { message: `no ${pathname} here` } });
    const found = this.reversals.filter(({ object, payment_intent: intent }) => {
      return object === kind && intent === ofIntent;
    });
    // Newest first, as Stripe lists.
    return list(found.toReversed());
  }

  #checkout(id: string | undefined): FakeCheckout {
    const found = this.checkouts.find((one) => one.id === id);
    if (found === undefined) throw new Error(`there is no Checkout ${id}`);
    return found;
  }

  #open(form: URLSearchParams, idempotencyKey: unknown): FakeCheckout {
    const price = "line_items[0][price_data]";
    if (form.get("mode") !== "payment" || typeof idempotencyKey !== "string") {
      throw new Error("a Checkout is opened for a payment, with an idempotency key");
    }
    if (!form.get("customer") || form.get("invoice_creation[enabled]") !== "true") {
      throw new Error("a Checkout is for a customer, who gets an invoice");
    }
    const known = this.checkouts.find(({ id }) => id === `cs_test_${idempotencyKey}`);
    if (known !== undefined) return known;
    const checkout: FakeCheckout = {
      id: `cs_test_${idempotencyKey}`,
      intentId: `pi_${randomUUID()}`,
      amount_total: Number(form.get(`${price}[unit_amount]`)) * Number(form.get("line_items[0][quantity]")),
      currency: form.get(`${price}[currency]`) ?? "",
      status: "open",
      payment_status: "unpaid",
      intentStatus: "requires_payment_method",
      client_reference_id: form.get("client_reference_id"),
      success_url: form.get("success_url") ?? "",
    };
    this.checkouts.push(checkout);
    return Object.assign(checkout, { url: `${this.url}/pay/${checkout.id}` });
  }

  eventOfSetup(setup: FakeSetup, options?: EventOptions): SignedEvent {
    return this.event("checkout.session.completed", this.cards.setupSession(setup), options);
  }

  /** Serves the page that saves a card, and the effect of its button. */
  async #cardPage(setup: FakeSetup, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") {
      response.writeHead(200, { "content-type": "text/html" });
      response.end(`<h1>Test card</h1><form method="post"><button>Save card</button></form>`);
      return;
    }
    this.cards.saveCard(setup);
    await this.#send(this.eventOfSetup(setup));
    response.writeHead(303, { location: setup.success_url });
    response.end();
  }

  async #send({ body, signature }: SignedEvent): Promise<void> {
    if (this.webhookUrl === undefined) return;
    const headers = { "content-type": "application/json; charset=utf-8", "stripe-signature": signature };
    await fetch(this.webhookUrl, { method: "POST", headers, body });
  }

  /** Serves the page of a payment, and the effect of its button. */
  async #payPage(checkout: FakeCheckout, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") {
      response.writeHead(200, { "content-type": "text/html" });
      response.end(`<h1>Test payment</h1><form method="post"><button>Pay</button></form>`);
      return;
    }
    await this.#send(this.eventOfCheckout("completed", this.pay(checkout)));
    response.writeHead(303, { location: checkout.success_url });
    response.end();
  }
}

function sessionOf({ intentId, intentStatus, ...checkout }: FakeCheckout): object {
  const { status, payment_status: paid } = checkout;
  const charge =
    paid === "paid" ? { id: `ch_${intentId}`, receipt_url: `https://pay.example/${intentId}` } : null;
  const intent = { id: intentId, object: "payment_intent", status: intentStatus, latest_charge: charge };
  // An intent exists after the first try to pay, an invoice after the payment.
  const invoice = paid === "paid" ? `in_${intentId}` : null;
  return {
    object: "checkout.session",
    ...checkout,
    invoice,
    payment_intent: status === "complete" ? intent : null,
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += chunk;
  return body;
}
