// Top-ups through the whole router, with the fake Stripe of test/kit. Events may be repeated and in any order. The
// account is credited with the paid amount once, and a refund is deducted once.
import { consoleRoutes } from "@gr/console-api";
import { creditsOf, formatCredits } from "@gr/money";
import { ConsoleOperatorService } from "@gr/proto/console";
import { until } from "@gr/testing";
import { type FakeCheckout, FakeStripe, type SignedEvent } from "@gr/testing/fake-stripe";
import { tokenOf } from "@gr/testing/mail-server";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Browser } from "./console-client.ts";
import { call } from "./http.ts";
import { billingOf, serviceOf } from "./operator.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

describe.each(topologiesByDepth)("payments (%s)", (topology) => {
  let stripe: FakeStripe;
  let router: Router;
  let owner: Browser;

  beforeAll(async () => {
    stripe = await FakeStripe.start();
    const env = {
      ...stripe.env,
      ...{ RATE_LIMIT_ANONYMOUS_PER_SECOND: "0", RATE_LIMIT_OTHER_PER_SECOND: "0" },
      CONSOLE_ALERT_INTERVAL_MS: "200",
    };
    router = await startRouter(topology, { inProcess: true, env });
    owner = new Browser(router);
    const people = await serviceOf(router.dataDir, "console", ConsoleOperatorService);
    const { url } = await people.createSignInLink({ email: "demo@router.localhost" });
    await owner.post("sign-in/link", { token: tokenOf(url) });
  });
  afterAll(async () => {
    await router?.dispose();
    await stripe?.close();
  });

  const of = (path: string) => `accounts/${router.accountId}/${path}`;
  const tell = ({ body, signature }: SignedEvent, headers: Record<string, string> = {}) =>
    call(router, "POST", "/webhooks/stripe", {
      key: null,
      body,
      headers: { "stripe-signature": signature, ...headers },
    });
  const deliver = async (event: SignedEvent) => {
    const answer = await tell(event);
    expect([answer.status, answer.body]).toEqual([200, { received: true }]);
  };
  const credits = async () => {
    const { body } = await call(router, "GET", "/v1/credits");
    return { remaining: creditsOf(body.remaining_credits), deposited: creditsOf(body.total_deposits) };
  };
  /** Returns the change since then, in USD. */
  const watch = async () => {
    const before = await credits();
    return async () => {
      const now = await credits();
      return [
        formatCredits(now.remaining - before.remaining),
        formatCredits(now.deposited - before.deposited),
      ];
    };
  };
  const begin = async (amount = "25.00") => {
    // The limit is 30 an hour, enough for people.
    const begun = await owner.post(of("payments"), { amount });
    expect([begun.status, begun.body.payment?.status]).toEqual([201, "pending"]);
    return { id: begun.body.payment.id as string, checkout: stripe.checkoutOf(begun.body.payment.id) };
  };
  const paid = async (amount?: string) => {
    const begun = await begin(amount);
    await deliver(stripe.eventOfCheckout("completed", stripe.pay(begun.checkout)));
    return begun;
  };
  const read = async (id: string) => (await owner.get(of(`payments?id=${id}`))).body.data[0];
  const linesOf = async (id: string) => {
    const { data } = (await owner.get(of("ledger?limit=100"))).body;
    return data
      .filter((line: { payment_id: string | null }) => line.payment_id === id)
      .map(({ kind, amount }: { kind: string; amount: string }) => [kind, amount]);
  };

  describe("a top-up", () => {
    test("counts when it is paid and not before, and its line leads to it", async () => {
      const changed = await watch();
      const { id, checkout } = await begin("12.34");
      expect(checkout).toMatchObject({ amount_total: 1234, currency: "usd" });
      await deliver(stripe.eventOfCheckout("completed", checkout));
      expect([await changed(), (await read(id)).status]).toEqual([["0.0000", "0.0000"], "pending"]);
      await deliver(stripe.eventOfCheckout("completed", stripe.pay(checkout)));
      expect(await changed()).toEqual(["12.3400", "12.3400"]);
      expect(await read(id)).toMatchObject({
        amount: "12.3400",
        status: "completed",
        reversed: "0.0000",
        checkout_url: null,
        receipt_url: expect.stringContaining("https://"),
        needs_operator: false,
      });
      expect(await linesOf(id)).toEqual([["deposit", "12.3400"]]);
      expect((await owner.get(of("ledger.csv"))).body).toContain(id);
    });

    test("is booked once, however often and by how many events at once we are told", async () => {
      const changed = await watch();
      const { id, checkout } = await begin();
      stripe.pay(checkout);
      const same = stripe.eventOfCheckout("completed", checkout, { id: "evt_same" });
      const others = ["completed", "async_payment_succeeded"].flatMap((type) =>
        [1, 2, 3].map(() => stripe.eventOfCheckout(type, checkout)),
      );
      const answers = await Promise.all([same, same, same, ...others].map((event) => tell(event)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      await deliver(same);
      expect([await changed(), await linesOf(id)]).toEqual([
        ["25.0000", "25.0000"],
        [["deposit", "25.0000"]],
      ]);
    });

    test("that is given up, or fails after days, is failed and gives nothing", async () => {
      const changed = await watch();
      const expired = await begin();
      expired.checkout.status = "expired";
      await deliver(stripe.eventOfCheckout("expired", expired.checkout));
      const late = await begin();
      Object.assign(late.checkout, { status: "complete", intentStatus: "processing" });
      await deliver(stripe.eventOfCheckout("completed", late.checkout));
      expect((await read(late.id)).status).toBe("pending");
      late.checkout.intentStatus = "requires_payment_method";
      await deliver(stripe.eventOfCheckout("async_payment_failed", late.checkout));
      expect([(await read(expired.id)).status, (await read(late.id)).status]).toEqual(["failed", "failed"]);
      expect(await changed()).toEqual(["0.0000", "0.0000"]);
    });

    test("is not lost when Stripe or we were away: the event comes again", async () => {
      const changed = await watch();
      const { checkout } = await begin();
      const event = stripe.eventOfCheckout("completed", stripe.pay(checkout));
      stripe.isDown = true;
      const refused = await tell(event);
      stripe.isDown = false;
      expect([refused.status, refused.body.error.code]).toEqual([503, "service_unavailable"]);
      expect(await changed()).toEqual(["0.0000", "0.0000"]);
      await deliver(event);
      expect(await changed()).toEqual(["25.0000", "25.0000"]);
    });

    test("of which no Checkout could be opened is nobody's to pay", async () => {
      stripe.isDown = true;
      const refused = await owner.post(of("payments"), { amount: "10" });
      stripe.isDown = false;
      expect([refused.status, refused.body.error.code]).toEqual([503, "service_unavailable"]);
      const [newest] = (await owner.get(of("payments?limit=1"))).body.data;
      expect(newest).toMatchObject({ amount: "10.0000", status: "pending", checkout_url: null });
    });

    test.each(["0.99", "10000.01", "1e3", "-5", "5.001", 25, null])(
      "of %j is refused, and the field named",
      async (amount) => {
        const opened = stripe.checkouts.length;
        const refused = await owner.post(of("payments"), { amount });
        expect([refused.status, refused.body.error.param]).toEqual([400, "amount"]);
        expect(stripe.checkouts).toHaveLength(opened);
      },
    );
  });

  describe("what goes back", () => {
    test("a whole refund takes the deposit back, however often we are told", async () => {
      const changed = await watch();
      const { id, checkout } = await paid();
      const refund = stripe.refund(checkout, 2_500);
      const events = [stripe.eventOfReversal(refund), stripe.event("charge.refunded", refund)];
      await Promise.all(events.flatMap((event) => [deliver(event), deliver(event)]));
      expect(await changed()).toEqual(["0.0000", "0.0000"]);
      expect(await read(id)).toMatchObject({ status: "refunded", reversed: "25.0000" });
      expect(await linesOf(id)).toEqual([
        ["refund", "-25.0000"],
        ["deposit", "25.0000"],
      ]);
    });

    test("a refund that overtakes the payment takes nothing that was never given", async () => {
      const changed = await watch();
      const whole = await begin();
      stripe.pay(whole.checkout);
      await deliver(stripe.eventOfReversal(stripe.refund(whole.checkout, 2_500)));
      await deliver(stripe.eventOfCheckout("completed", whole.checkout));
      expect([(await read(whole.id)).status, await changed()]).toEqual(["refunded", ["0.0000", "0.0000"]]);
      const part = await begin();
      stripe.pay(part.checkout);
      await deliver(stripe.eventOfReversal(stripe.refund(part.checkout, 500)));
      await deliver(stripe.eventOfCheckout("completed", part.checkout));
      expect([(await read(part.id)).status, await changed()]).toEqual(["completed", ["20.0000", "25.0000"]]);
    });

    test("parts go back exactly, in any order, and one that fails comes back", async () => {
      const changed = await watch();
      const { id, checkout } = await paid();
      const [first, second] = [stripe.refund(checkout, 1), stripe.refund(checkout, 1_000, "pending")];
      await deliver(stripe.eventOfReversal(second));
      await deliver(stripe.eventOfReversal(first));
      expect((await changed())[0]).toBe("14.9900");
      second.status = "failed";
      await deliver(stripe.eventOfReversal(second));
      expect((await changed())[0]).toBe("24.9900");
      expect(await read(id)).toMatchObject({ status: "completed", reversed: "0.0100" });
      expect((await linesOf(id)).map(([kind]: [string]) => kind)).toEqual([
        "adjustment",
        "adjustment",
        "adjustment",
        "deposit",
      ]);
    });

    test("a dispute takes its amount while it lasts; won, it comes back, and lost, it stays away", async () => {
      const changed = await watch();
      const { checkout } = await paid();
      const dispute = stripe.dispute(checkout, 2_500, "warning_needs_response");
      const say = () => deliver(stripe.eventOfReversal(dispute));
      await say();
      expect((await changed())[0]).toBe("25.0000");
      for (const [status, left] of [
        ["needs_response", "0.0000"],
        ["under_review", "0.0000"],
        ["won", "25.0000"],
      ] as const) {
        dispute.status = status;
        await say();
        await say();
        expect([status, (await changed())[0]]).toEqual([status, left]);
      }
      const lost = stripe.dispute(checkout, 2_000, "lost");
      await deliver(stripe.eventOfReversal(lost));
      expect((await changed())[0]).toBe("5.0000");
    });
  });

  describe("who tells", () => {
    const untouched = async (checkout: FakeCheckout, send: () => ReturnType<typeof tell>) => {
      stripe.pay(checkout);
      const changed = await watch();
      const answer = await send();
      expect(await changed()).toEqual(["0.0000", "0.0000"]);
      return answer;
    };

    test("is Stripe by the signature over the very bytes, and not for long", async () => {
      const { checkout } = await begin();
      const now = Math.floor(Date.now() / 1_000);
      const event = (options: object) => stripe.eventOfCheckout("completed", checkout, options);
      const right = event({});
      const forged = [
        event({ secret: "whsec_another" }),
        event({ at: now - 3_600 }),
        { ...right, body: `${right.body} ` },
        { ...right, body: right.body.replace("evt_", "evt_x") },
        { ...right, signature: right.signature.replace(/v1=.*/, "v1=00") },
        { ...right, signature: "" },
      ];
      for (const one of forged) {
        const refused = await untouched(checkout, () => tell(one));
        expect([refused.status, refused.body.error.code]).toEqual([400, "invalid_signature"]);
      }
    });

    test("of another amount or currency than was asked for is not believed, and an operator is asked for", async () => {
      for (const change of [{ amount_total: 2_400 }, { currency: "eur" }]) {
        const { id, checkout } = await begin();
        Object.assign(checkout, change);
        await untouched(checkout, () => tell(stripe.eventOfCheckout("completed", checkout)));
        expect(await read(id)).toMatchObject({ status: "pending", needs_operator: true });
      }
    });

    test("of what is not ours is heard and left alone", async () => {
      const { checkout } = await begin();
      const foreign = { ...checkout, id: "cs_test_of_somebody_else", intentId: "pi_of_somebody_else" };
      const events = [
        stripe.eventOfCheckout("completed", foreign),
        stripe.eventOfReversal(stripe.refund(foreign, 2_500)),
        stripe.event("customer.created", { id: "cus_1", object: "customer" }),
      ];
      for (const event of events) expect((await untouched(checkout, () => tell(event))).status).toBe(200);
    });
  });

  test("a paid top-up has an invoice, and payments and invoices are files for spreadsheets", async () => {
    const { id } = await paid("12.00");
    const { status, body } = await owner.get(of(`payments/${id}/invoice`));
    expect([status, body.url]).toEqual([200, expect.stringContaining("https://pay.example/i/")]);
    const open = await begin();
    const none = await owner.get(of(`payments/${open.id}/invoice`));
    expect([none.status, none.body.error.param]).toEqual([404, "id"]);
    const csv = (await owner.get(of("payments.csv"))).body as string;
    const invoices = (await owner.get(of("payments.csv?is_invoiced=true"))).body as string;
    expect([csv.includes(id), csv.includes(open.id)]).toEqual([true, true]);
    expect([invoices.includes(id), invoices.includes(open.id)]).toEqual([true, false]);
    expect((await owner.post(of("billing-details"))).body.url).toContain("https://pay.example/p/cus_");
  });

  test("each line of the ledger has the balance after it, in pages and as CSV", async () => {
    await paid("1.00");
    const { data, next } = (await owner.get(of("ledger?limit=3"))).body;
    const more = (await owner.get(of(`ledger?limit=3&after=${next}`))).body.data;
    const lines = [...data, ...more];
    expect(creditsOf(lines[0].balance_after)).toBe((await credits()).remaining);
    for (const [index, line] of lines.slice(1).entries()) {
      const later = lines[index];
      expect(creditsOf(line.balance_after)).toBe(creditsOf(later.balance_after) - creditsOf(later.amount));
    }
    const today = new Date().toISOString().slice(0, 10);
    const csv = (await owner.get(of(`ledger.csv?to=${today}`))).body as string;
    expect(csv.split("\r\n")[1]?.endsWith(`,${lines[0].balance_after}`)).toBe(true);
    const [deposit] = (await owner.get(of("ledger?kind=deposit&limit=1"))).body.data;
    expect(deposit.balance_after).toBeNull();
    expect((await owner.get(of("ledger?after=x_1"))).body.error.param).toBe("after");
  });

  test("a saved card is charged once when the balance is low, and its removal switches that off", async () => {
    const rule = { is_on: true, threshold: "20.00", amount: "20.00", monthly_limit: "40.00" };
    const change = (body: object) => owner.ask("PATCH", of("auto-top-up"), { body });
    expect((await change(rule)).body.error.param).toBe("is_on");
    expect((await owner.post(of("card"))).body.url).toContain("/pay/cs_setup_");
    const setup = stripe.cards.setups.at(-1);
    if (setup === undefined) throw new Error("no page was opened");
    stripe.cards.saveCard(setup);
    await deliver(stripe.eventOfSetup(setup));
    expect((await owner.get(of("auto-top-up"))).body).toMatchObject({
      ...{ is_on: false, threshold: null, spent_this_month: "0.0000", problem: null },
      card: { brand: "visa", last4: "4242", expires: "08/28" },
    });
    for (const [wrong, param] of [
      [{ amount: "19.99" }, "amount"],
      [{ amount: "0.50", threshold: "0.10" }, "amount"],
      [{ monthly_limit: "19.00" }, "monthly_limit"],
      [{ threshold: "0" }, "threshold"],
      [{ threshold: "1.005" }, "threshold"],
    ] as const) {
      expect((await change({ ...rule, ...wrong })).body.error.param).toBe(param);
    }
    const above = (await credits()).remaining / 10_000n;
    // A threshold above the balance: the charge begins at once.
    const low = {
      ...rule,
      threshold: `${above + 1n}.00`,
      amount: `${above + 1n}.00`,
      monthly_limit: "100000.00",
    };
    const changed = await watch();
    expect((await change(low)).body).toMatchObject({ is_on: true, amount: `${above + 1n}.0000` });
    await until(async () => (await changed())[0] === low.amount.padEnd(low.amount.length + 2, "0"), {
      timeoutMs: 120_000,
    });
    expect(stripe.cards.paid).toHaveLength(1);
    const [payment] = (await owner.get(of("payments?limit=1"))).body.data;
    expect(payment).toMatchObject({
      is_automatic: true,
      status: "completed",
      asked_by: "demo@router.localhost",
    });
    expect(await linesOf(payment.id)).toEqual([["deposit", payment.amount]]);
    expect((await owner.ask("DELETE", of("card"))).status).toBe(204);
    expect((await owner.get(of("auto-top-up"))).body).toMatchObject({ is_on: false, card: null });
    expect(stripe.cards.methods.every(({ isAttached }) => !isAttached)).toBe(true);
  });

  test("members see the payments in pages, and the books are right after all of it", async () => {
    const all = (await owner.get(of("payments?limit=100"))).body.data;
    const first = (await owner.get(of("payments?limit=2"))).body;
    const second = (await owner.get(of(`payments?limit=2&after=${first.next}`))).body;
    expect([...first.data, ...second.data]).toEqual(all.slice(0, 4));
    expect((await owner.get(of("payments?after=x"))).body.error.param).toBe("after");
    expect(consoleRoutes.createPayment.access).toBe("admin");
    const { differences } = await (await billingOf(router.dataDir)).verifyLedger({});
    expect(differences).toEqual([]);
  });
});
