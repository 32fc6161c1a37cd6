// Cards of the fake Stripe: customers, Checkouts that save a card, charges without the customer, invoices. A charge with a used
// idempotency key is answered as before, also after a refusal; with other parameters it is refused. https://docs.stripe.com/api/idempotent_requests
import { randomUUID } from "node:crypto";

export interface FakeSetup {
  readonly id: string;
  readonly customer: string;
  readonly success_url: string;
  status: "open" | "complete" | "expired";
  /** Payment method, once a card is saved. */
  method: FakeMethod | null;
}

export interface FakeMethod {
  readonly id: string;
  readonly customer: string;
  readonly card: { brand: string; last4: string; exp_month: number; exp_year: number };
  isAttached: boolean;
}

export interface FakeIntent {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  readonly customer: string;
  readonly payment_method: string;
  readonly metadata: Readonly<Record<string, string>>;
  status: "succeeded" | "processing" | "requires_payment_method" | "canceled";
  last_payment_error: { message: string } | null;
}

export interface FakeInvoice {
  readonly id: string;
  readonly customer: string;
  amount: number;
  isFinal: boolean;
  /** Payments that are credited to it. */
  readonly intents: string[];
}

/** Behaviour of the bank at the next charges. */
export type CardBehaviour = "pays" | "declines" | "wants the customer" | "is slow";

export interface FakeAnswer {
  readonly status: number;
  readonly body: object;
}

const DECLINED = "Your card was declined.";
const ABSENT = "Your card was declined. This transaction requires authentication.";

export class FakeCards {
  readonly customers: { readonly id: string; readonly email: string }[] = [];
  readonly setups: FakeSetup[] = [];
  readonly methods: FakeMethod[] = [];
  readonly intents: FakeIntent[] = [];
  readonly invoices: FakeInvoice[] = [];
  behaviour: CardBehaviour = "pays";
  /** Number of answers of charges that get lost; the charge exists. */
  lostAnswers = 0;
  readonly #answers = new Map<string, { readonly answer: FakeAnswer; readonly form: string }>();

  /** Charges that have moved money. */
  get paid(): FakeIntent[] {
    return this.intents.filter(({ status }) => status === "succeeded");
  }

  openSetup(form: URLSearchParams, url: string): object {
    const id = `cs_setup_${randomUUID()}`;
    const customer = form.get("customer") ?? "";
    const success_url = form.get("success_url") ?? "";
    this.setups.push({ id, customer, success_url, status: "open", method: null });
    return { id, object: "checkout.session", mode: "setup", status: "open", url: `${url}/pay/${id}` };
  }

  /** Saves a card as a person does on Stripe's page. */
  saveCard(setup: FakeSetup, last4 = "4242"): FakeMethod {
    const card = { brand: "visa", last4, exp_month: 8, exp_year: 2028 };
    const method = { id: `pm_${randomUUID()}`, customer: setup.customer, card, isAttached: true };
    this.methods.push(method);
    Object.assign(setup, { status: "complete", method });
    return method;
  }

  setupOf(id: string | undefined): FakeSetup | undefined {
    return this.setups.find((one) => one.id === id);
  }

  setupSession({ id, status, customer, method }: FakeSetup): object {
    const setup_intent =
      method === null ? null : { id: `seti_${id}`, payment_method: { ...method, type: "card" } };
    return { id, object: "checkout.session", mode: "setup", status, customer, setup_intent };
  }

  /** @returns undefined for a path of something else */
  answer(
    method: string,
    path: string,
    form: URLSearchParams,
    key: string | undefined,
  ): FakeAnswer | undefined {
    const [, kind, id, act] = /^\/v1\/([a-z_]+)(?:\/([^/]+))?(?:\/([a-z_]+))?$/.exec(path) ?? [];
    if (path === "/v1/customers" && method === "POST")
      return this.#once(key, form, () => this.#addCustomer(form));
    if (path === "/v1/payment_intents" && method === "POST") return this.#charge(form, key);
    if (path === "/v1/payment_intents/search") {
      const data = this.intents.filter(({ metadata }) =>
        form.get("query")?.includes(`"${metadata["payment_id"]}"`),
      );
      return {
        status: 200,
        body: { object: "search_result", has_more: false, url: path, data: data.map(intentOf) },
      };
    }
    if (kind === "payment_intents") {
      const intent = this.intents.find((one) => one.id === id);
      if (intent === undefined) return missing("payment_intent");
      if (act === "cancel") intent.status = "canceled";
      return { status: 200, body: intentOf(intent) };
    }
    if (kind === "customers" && act === "payment_methods") {
      const own = this.methods.filter(({ customer, isAttached }) => customer === id && isAttached);
      const data = own.map((one) => ({ ...one, object: "payment_method", type: "card" }));
      return { status: 200, body: { object: "list", has_more: false, url: path, data } };
    }
    if (kind === "payment_methods" && act === "detach") {
      const found = this.methods.find((one) => one.id === id);
      if (found === undefined) return missing("payment_method");
      found.isAttached = false;
      return { status: 200, body: { id, object: "payment_method" } };
    }
    if (path === "/v1/invoiceitems" || (kind === "invoices" && method === "POST")) {
      return this.#once(key, form, () => this.#changeInvoice(form, id, act));
    }
    if (kind === "invoices") {
      const body = {
        id,
        object: "invoice",
        number: `GR-${id}`,
        hosted_invoice_url: `https://pay.example/i/${id}`,
      };
      return { status: 200, body };
    }
    if (path === "/v1/billing_portal/sessions") {
      return { status: 200, body: { url: `https://pay.example/p/${form.get("customer")}` } };
    }
    return undefined;
  }

  /** Creates an invoice, adds an item to one, finalizes it, or attaches a payment. */
  #changeInvoice(form: URLSearchParams, id: string | undefined, act: string | undefined): FakeAnswer {
    const invoice = this.invoices.find((one) => one.id === (id ?? form.get("invoice")));
    if (invoice === undefined) {
      const made = {
        id: `in_${randomUUID()}`,
        customer: form.get("customer") ?? "",
        amount: 0,
        isFinal: false,
      };
      this.invoices.push({ ...made, intents: [] });
      return { status: 200, body: { ...made, object: "invoice" } };
    }
    if (act === undefined) invoice.amount += Number(form.get("amount"));
    if (act === "finalize") invoice.isFinal = true;
    if (act === "attach_payment" && invoice.isFinal) invoice.intents.push(form.get("payment_intent") ?? "");
    return { status: 200, body: { id: invoice.id, object: "invoice" } };
  }

  #addCustomer(form: URLSearchParams): FakeAnswer {
    const customer = { id: `cus_${randomUUID()}`, email: form.get("email") ?? "" };
    this.customers.push(customer);
    return { status: 200, body: { ...customer, object: "customer" } };
  }

  #charge(form: URLSearchParams, key: string | undefined): FakeAnswer {
    if (key === undefined) throw new Error("a charge has an idempotency key");
    if (form.get("off_session") !== "true" || form.get("confirm") !== "true") {
      throw new Error("a charge without the customer is off_session and confirmed");
    }
    const answer = this.#once(key, form, () => this.#newCharge(form));
    if (this.lostAnswers === 0) return answer;
    this.lostAnswers -= 1;
    return { status: 500, body: { error: { type: "api_error", message: "lost" } } };
  }

  #newCharge(form: URLSearchParams): FakeAnswer {
    const method = this.methods.find(({ id }) => id === form.get("payment_method"));
    if (method === undefined || !method.isAttached || method.customer !== form.get("customer")) {
      return missing("payment_method");
    }
    const message = this.behaviour === "declines" ? DECLINED : this.behaviour === "pays" ? "" : ABSENT;
    const isRefused = this.behaviour === "declines" || this.behaviour === "wants the customer";
    const metadata = { payment_id: form.get("metadata[payment_id]") ?? "" };
    const intent: FakeIntent = {
      ...{
        id: `pi_${randomUUID()}`,
        amount: Number(form.get("amount")),
        currency: form.get("currency") ?? "",
      },
      ...{ customer: method.customer, payment_method: method.id, metadata },
      status: isRefused
        ? "requires_payment_method"
        : this.behaviour === "is slow"
          ? "processing"
          : "succeeded",
      last_payment_error: isRefused ? { message } : null,
    };
    this.intents.push(intent);
    if (!isRefused) return { status: 200, body: intentOf(intent) };
    const error = { type: "card_error", code: "card_declined", message, payment_intent: intentOf(intent) };
    return { status: 402, body: { error } };
  }

  #once(key: string | undefined, form: URLSearchParams, act: () => FakeAnswer): FakeAnswer {
    if (key === undefined) return act();
    const known = this.#answers.get(key);
    if (known !== undefined && known.form !== form.toString()) {
      const message = "Keys for idempotent requests can only be used with the same parameters.";
      return { status: 400, body: { error: { type: "idempotency_error", message } } };
    }
    const answer = known?.answer ?? act();
    this.#answers.set(key, { answer, form: form.toString() });
    return answer;
  }
}

function intentOf(intent: FakeIntent): object {
  const isPaid = intent.status === "succeeded";
  const latest_charge = isPaid
    ? { id: `ch_${intent.id}`, receipt_url: `https://pay.example/r/${intent.id}` }
    : null;
  return { object: "payment_intent", ...intent, latest_charge };
}

function missing(what: string): FakeAnswer {
  const error = { type: "invalid_request_error", code: "resource_missing", message: `No such ${what}.` };
  return { status: what === "payment_method" ? 400 : 404, body: { error } };
}
