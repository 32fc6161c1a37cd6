// Guarantees of automatic top-ups on a real PostgreSQL with the fake Stripe. A crossing has one charge, regardless of processes,
// crashes and lost answers. A month never has more than its limit. A refused card is charged no second time. A refund or dispute
// has no next charge. No charge begins after the switch to off.
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { FakeBilling } from "@gr/ledger-model";
import { BillingService } from "@gr/proto/billing";
import {
  createLogger,
  type RunningProcess,
  type ServiceClient,
  startProcess,
  systemClock,
} from "@gr/runtime";
import { ManualClock } from "@gr/testing";
import { FakeStripe } from "@gr/testing/fake-stripe";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { Registry } from "prom-client";
import { v7 } from "uuid";
import { createAlertStore } from "../alerts/alert-store.ts";
import { sentenceOf } from "../alerts/alert-text.ts";
import { consoleConfig } from "../config.ts";
import { createConsoleEvents } from "../events.ts";
import { createPaymentStore } from "../payments/payment-store.ts";
import type { InvoicedCharge } from "../payments/saved-cards.ts";
import { createSettlePayments } from "../payments/settle-payment.ts";
import { createStripe, type Stripe } from "../payments/stripe.ts";
import { type ConsoleDatabase, startConsoleDatabase } from "../test/console-database.ts";
import { createAutoTopUpStore } from "./auto-top-up-store.ts";
import { type AutoTopUpsDeps, createAutoTopUps } from "./auto-top-ups.ts";
import { invoiceCharges } from "./invoice-charges.ts";
import { createPayerStore } from "./payer-store.ts";
import { createPayers } from "./payers.ts";

const EVERY_MS = 15_000;
const HOUR_MS = 3_600_000;
const RULE = { isOn: true, threshold: 250_000n, amount: 1_000_000n, monthlyLimit: 2_500_000n };
const running = new AbortController().signal;

let database: ConsoleDatabase;
let fake: FakeStripe;
let peers: RunningProcess;
let billing: ServiceClient<typeof BillingService>;
let stripe: Stripe;
let clock: ManualClock;
let accountId: string;

beforeAll(async () => {
  database = await startConsoleDatabase();
  fake = await FakeStripe.start();
  peers = await startProcess([new FakeBilling({ clock: systemClock, credit: 0n }).module], {
    env: {
      INTERNAL_AUTH_SECRET: "internal-secret-of-the-console-tests-0123456789",
      ...{ SERVICE_HTTP_PORT: "0", SERVICE_RPC_PORT: "0", LOG_LEVEL: "silent" },
    },
  });
  billing = peers.dial("billing", BillingService);
});
beforeEach(async () => {
  await begin();
});
afterAll(async () => {
  await peers?.stop();
  await fake?.close();
  await database?.stop();
});

/** An account with a card, a rule, and a balance of 30 USD. */
async function begin(): Promise<void> {
  clock = new ManualClock(Date.UTC(2026, 10, 10));
  const config = consoleConfig.parse({
    ...{ DATABASE_URL: database.url, CONSOLE_URL: "http://127.0.0.1:8080", CONSOLE_SECRET: "s".repeat(32) },
    ...fake.env,
  });
  const real = createStripe(config, clock);
  if (real === undefined) throw new Error("there are no payments");
  stripe = real;
  Object.assign(fake, { isDown: false });
  Object.assign(fake.cards, { behaviour: "pays", lostAnswers: 0 });
  for (const list of [fake.cards.intents, fake.cards.invoices, fake.cards.setups, fake.cards.methods])
    list.length = 0;
  await database.pool.query("TRUNCATE payment, payer, auto_top_up, alert CASCADE");
  accountId = randomUUID();
  await billing.openAccount({ accountId });
  await database.store.addAccount(accountId, "Acme");
  await payers().openSetup(accountId, "ada@example.com", "http://x/");
  const [setup] = fake.cards.setups;
  if (setup === undefined) throw new Error("no page was opened");
  fake.cards.saveCard(setup);
  expect((await payers().read(accountId))?.card).toMatchObject({
    brand: "visa",
    last4: "4242",
    expires: "08/28",
  });
  await save();
  await spend(-300_000n);
}

const payers = () =>
  createPayers({ store: createPayerStore(database.pool), stripe, accounts: database.store, clock });
const store = () => createAutoTopUpStore(database.pool);
const now = () => new Date(clock.now());
const save = (changed: Partial<typeof RULE> = {}) =>
  store().save(accountId, { ...RULE, ...changed }, "ada@example.com", now());
const spend = (credits: bigint) =>
  billing.putAdjustment({ adjustmentId: randomUUID(), accountId, credits: -credits, reason: "spent" });
const balance = async () => (await billing.getCredits({ accountId })).remainingCredits;
const deposited = async () => (await billing.getCredits({ accountId })).depositedCredits;

/** A process of its own, which shares only the database. */
function startedProcess(books = billing) {
  const events = createConsoleEvents(createLogger("silent", "test"), new Registry());
  const payments = createPaymentStore(database.pool);
  const settling = createSettlePayments({ stripe, payments, billing: books, events, clock });
  const mailer = { sends: true };
  const deps = { topUps: store(), settling, billing, mailer, events, clock, everyMs: EVERY_MS };
  return { round: () => createAutoTopUps(deps).runDue(running), settling, payments };
}

/** The next check of an account, by a new process. */
async function nextRound(): Promise<void> {
  clock.advance(EVERY_MS);
  await startedProcess().round();
}

const listed = async () => {
  const { payments } = startedProcess();
  const found = await payments.list({ accountId, id: undefined, after: undefined, limit: 100 });
  return found.toReversed();
};
const statuses = async () => (await listed()).map(({ status }) => status);
const alerts = async () =>
  (await createAlertStore(database.pool).list(accountId, 100, undefined)).toReversed();
const paid = () => fake.cards.paid.length;

describe("a crossing of the threshold", () => {
  test("has one charge, which is booked, by however many processes", async () => {
    await startedProcess().round();
    expect(paid()).toBe(0);
    await spend(50_001n);
    clock.advance(EVERY_MS);
    await Promise.all([1, 2, 3, 4].map(() => startedProcess().round()));
    await Promise.all([1, 2, 3, 4].map(() => nextRound()));
    expect([paid(), await statuses(), await balance()]).toEqual([1, ["completed"], 1_249_999n]);
    expect(fake.cards.paid[0]).toMatchObject({ amount: 10_000, currency: "usd" });
    expect((await listed())[0]).toMatchObject({
      isAutomatic: true,
      askedBy: "ada@example.com",
      problem: null,
    });
    expect(await alerts()).toEqual([]);
  });

  test("at the threshold itself is none, and the next one has the next charge", async () => {
    await spend(50_000n);
    await nextRound();
    expect(paid()).toBe(0);
    for (const count of [1, 2]) {
      await spend((await balance()) - 1n);
      await nextRound();
      await nextRound();
      expect([paid(), await balance()]).toEqual([count, 1_000_001n]);
    }
  });

  test("has one charge if the answer of Stripe is lost, and it is booked later", async () => {
    await spend(100_000n);
    fake.cards.lostAnswers = 2;
    await nextRound();
    expect([paid(), await statuses(), await deposited()]).toEqual([1, ["pending"], 0n]);
    await nextRound();
    await nextRound();
    expect([paid(), await statuses(), await deposited()]).toEqual([1, ["completed"], 1_000_000n]);
  });

  test("has one charge if the process ends before it, or Stripe is away for a while", async () => {
    await spend(100_000n);
    const read = async () => ({ balance: 0n, isSuspended: false });
    expect((await store().decide(accountId, now(), read)).outcome).toBe("begun");
    fake.isDown = true;
    await nextRound();
    await nextRound();
    expect([paid(), await statuses()]).toEqual([0, ["pending"]]);
    fake.isDown = false;
    await nextRound();
    expect([paid(), await statuses(), await deposited()]).toEqual([1, ["completed"], 1_000_000n]);
  });

  test("has one charge that the bank may decide about for days", async () => {
    fake.cards.behaviour = "is slow";
    await spend(100_000n);
    await nextRound();
    for (let day = 0; day < 3; day += 1) {
      clock.advance(24 * HOUR_MS);
      await nextRound();
    }
    expect([fake.cards.intents.length, await statuses(), await deposited()]).toEqual([1, ["pending"], 0n]);
    const [intent] = fake.cards.intents;
    if (intent === undefined) throw new Error("nothing was charged");
    intent.status = "succeeded";
    await nextRound();
    expect([await statuses(), await deposited()]).toEqual([["completed"], 1_000_000n]);
  });

  test("after a day without an answer: a charge that was made is found, and one that was not is never made", async () => {
    await spend(100_000n);
    fake.cards.lostAnswers = 1;
    await nextRound();
    clock.advance(21 * HOUR_MS);
    await nextRound();
    expect([paid(), await statuses()]).toEqual([1, ["completed"]]);

    await spend(await balance());
    fake.isDown = true;
    await nextRound();
    clock.advance(21 * HOUR_MS);
    fake.isDown = false;
    await nextRound();
    expect([paid(), await statuses(), (await store().ruleOf(accountId))?.isOn]).toEqual([
      1,
      ["completed", "failed"],
      false,
    ]);
  });
});

describe("a month", () => {
  test("has no charge above its limit, one alert about it, and the next month has charges again", async () => {
    for (let count = 0; count < 4; count += 1) {
      await spend(await balance());
      await nextRound();
      await nextRound();
    }
    expect([paid(), await balance(), await store().spentInMonth(accountId, now())]).toEqual([
      2,
      0n,
      2_000_000n,
    ]);
    expect((await alerts()).map(sentenceOf)).toEqual([
      "The balance is $0.00, below $25.00. There is no automatic top-up: the limit of $250.00 in this month (UTC) is reached.",
    ]);
    clock.advance(Date.UTC(2026, 11, 1) - clock.now());
    await nextRound();
    expect([paid(), (await alerts()).length]).toEqual([3, 1]);
  });

  test("counts refunded charges and not refused ones", async () => {
    await save({ monthlyLimit: 1_000_000n });
    fake.cards.behaviour = "declines";
    await spend(await balance());
    await nextRound();
    fake.cards.behaviour = "pays";
    await save({ monthlyLimit: 1_000_000n });
    await nextRound();
    const [intent] = fake.cards.paid;
    fake.refund({ intentId: intent?.id ?? "", currency: "usd" } as never, 10_000);
    const [, payment] = await listed();
    await startedProcess().settling.settle(payment?.id ?? "");
    expect([await statuses(), await deposited()]).toEqual([["failed", "refunded"], 0n]);
    await save({ monthlyLimit: 1_000_000n });
    await nextRound();
    expect(paid()).toBe(1);
  });
});

describe("a reversed charge", () => {
  /** Reverses the last charge, and settles its payment as an event of Stripe does. */
  async function reverse(kind: "refund" | "dispute", cents: number) {
    const intentId = fake.cards.paid.at(-1)?.id ?? "";
    const reversal = fake[kind]({ intentId, currency: "usd" } as never, cents);
    await startedProcess().settling.settle((await listed()).at(-1)?.id ?? "");
    return reversal;
  }

  test.each([
    ["refund", 10_000, "refunded"],
    ["refund", 9_000, "completed"],
    ["dispute", 10_000, "completed"],
  ] as const)(
    "by a %s of %d cents has no next charge, and switches off with a mail",
    async (kind, cents, status) => {
      await spend(300_000n);
      await nextRound();
      await reverse(kind, cents);
      for (let count = 0; count < 3; count += 1) await nextRound();
      expect([paid(), await statuses()]).toEqual([1, [status]]);
      const rule = await store().ruleOf(accountId);
      expect([rule?.isOn, rule?.problem]).toEqual([false, "The charge was refunded or disputed."]);
      expect((await alerts()).map((alert) => [alert.kind, alert.mail, sentenceOf(alert)])).toEqual([
        [
          "top_up_failed",
          "pending",
          "The automatic top-up of $100.00 was refunded or disputed, and automatic top-ups are switched off.",
        ],
      ]);
    },
  );

  test("of a Checkout has no charge that replaces the returned money, and switches off with a mail", async () => {
    const { payments, settling } = startedProcess();
    const payment = { id: v7(), accountId, credits: 500_000n, askedBy: "ada@example.com" };
    await payments.add(payment);
    const customerId = (await payers().read(accountId))?.customerId ?? "";
    const order = { paymentId: payment.id, accountId, cents: 5_000, customerId, returnUrl: "http://x/" };
    const opened = await stripe.openCheckout(order);
    await payments.setCheckout(payment.id, opened.sessionId, opened.url);
    const checkout = fake.checkoutOf(payment.id);
    fake.pay(checkout);
    await settling.settle(payment.id);
    await spend(550_000n);
    fake.refund(checkout, 5_000);
    await settling.settle(payment.id);
    for (let count = 0; count < 3; count += 1) await nextRound();
    const rule = await store().ruleOf(accountId);
    expect([paid(), rule?.isOn, rule?.problem]).toEqual([0, false, "A payment was refunded or disputed."]);
    expect((await alerts()).map((alert) => [alert.kind, alert.mail, sentenceOf(alert)])).toEqual([
      [
        ...["top_up_failed", "pending"],
        "The top-up of $50.00 was refunded or disputed, and automatic top-ups are switched off.",
      ],
    ]);
  });

  test("leaves a rule on that a person has switched on again, also when the dispute is won", async () => {
    await spend(300_000n);
    await nextRound();
    const dispute = await reverse("dispute", 10_000);
    await save();
    dispute.status = "won";
    await startedProcess().settling.settle((await listed())[0]?.id ?? "");
    expect([(await store().ruleOf(accountId))?.isOn, await balance()]).toEqual([true, 1_000_000n]);
    await nextRound();
    expect([paid(), (await alerts()).length]).toEqual([1, 1]);
  });

  test("has no next charge by a process that decides while the reversal is booked", async () => {
    await spend(300_000n);
    await nextRound();
    let rounds: Promise<void> | undefined;
    const meanwhile: typeof billing = {
      ...billing,
      putAdjustment: async (adjustment) => {
        const answer = await billing.putAdjustment(adjustment);
        clock.advance(EVERY_MS);
        rounds = startedProcess().round();
        await setTimeout(200);
        return answer;
      },
    };
    fake.dispute({ intentId: fake.cards.paid[0]?.id ?? "", currency: "usd" } as never, 10_000);
    await startedProcess(meanwhile).settling.settle((await listed())[0]?.id ?? "");
    await rounds;
    await nextRound();
    expect([paid(), await statuses()]).toEqual([1, ["completed"]]);
  });
});

describe("a begun payment without a known charge", () => {
  const settleAll = async () => {
    for (const { id } of await listed())
      await startedProcess()
        .settling.settle(id)
        .catch(() => undefined);
  };
  const obstacles = {
    "its rule was switched off": () => store().switchOff(accountId),
    "its account was suspended": async () => {
      await billing.setSuspended({ accountId, suspended: true });
    },
  };

  test.each(Object.entries(obstacles))(
    "is not charged after %s, and fails 10 minutes after the last attempt",
    async (_, obstruct) => {
      await spend(100_000n);
      fake.isDown = true;
      await nextRound();
      clock.advance(HOUR_MS);
      await nextRound();
      await obstruct();
      fake.isDown = false;
      await settleAll();
      clock.advance(10 * 60_000);
      await settleAll();
      expect([fake.cards.intents, await statuses()]).toEqual([[], ["pending"]]);
      clock.advance(1);
      await settleAll();
      expect([fake.cards.intents, await statuses(), await deposited()]).toEqual([[], ["failed"], 0n]);
      // A failed payment is not charged again, also after the rule is on and the account is not suspended.
      await billing.setSuspended({ accountId, suspended: false });
      await save();
      await settleAll();
      expect([fake.cards.intents, await statuses()]).toEqual([[], ["failed"]]);
    },
  );

  test.each(Object.entries(obstacles))("is booked after %s if Stripe has the charge", async (_, obstruct) => {
    await spend(100_000n);
    fake.cards.lostAnswers = 1;
    await nextRound();
    await obstruct();
    await settleAll();
    expect([paid(), await statuses(), await deposited()]).toEqual([1, ["completed"], 1_000_000n]);
  });

  test("is found after 20 hours if the last attempt was less than 10 minutes ago", async () => {
    await spend(100_000n);
    fake.isDown = true;
    await nextRound();
    fake.isDown = false;
    fake.cards.lostAnswers = 1;
    clock.advance(20 * HOUR_MS - EVERY_MS);
    await nextRound();
    expect(paid()).toBe(1);
    // Stripe's search contains a charge only some time after it.
    const { findCharge } = stripe;
    stripe = { ...stripe, findCharge: async () => undefined };
    await nextRound();
    expect(await statuses()).toEqual(["pending"]);
    stripe = { ...stripe, findCharge };
    clock.advance(60_000);
    await nextRound();
    expect([paid(), await statuses(), await deposited()]).toEqual([1, ["completed"], 1_000_000n]);
  });
});

test("a customer is created after a lost answer, also with another name or address", async () => {
  const account = { accountId: randomUUID(), name: "Acme", email: "ada@example.com" };
  const id = await stripe.createCustomer(account);
  expect(await stripe.createCustomer(account)).toBe(id);
  await expect(stripe.createCustomer({ ...account, name: "Acme Inc." })).resolves.toEqual(expect.any(String));
  await expect(stripe.createCustomer({ ...account, email: "bob@example.com" })).resolves.toEqual(
    expect.any(String),
  );
});

test("a round that lasts longer than the time between two checks ends, and stores its alerts", async () => {
  const stopping = new AbortController();
  let [dueAt, claims, reports] = [clock.now(), 0, 0];
  const topUps: AutoTopUpsDeps["topUps"] = {
    claimDue: async (at, nextDue) => {
      if (at.getTime() < dueAt) return undefined;
      dueAt = nextDue.getTime();
      claims += 1;
      if (claims === 3) stopping.abort();
      return accountId;
    },
    decide: async () => {
      clock.advance(2 * EVERY_MS);
      return { outcome: "enough" };
    },
    report: async () => {
      reports += 1;
      return undefined;
    },
  };
  const events = createConsoleEvents(createLogger("silent", "test"), new Registry());
  const { settling } = startedProcess();
  const mailer = { sends: true };
  await createAutoTopUps({ topUps, settling, billing, mailer, events, clock, everyMs: EVERY_MS }).runDue(
    stopping.signal,
  );
  expect([claims, reports]).toEqual([1, 1]);
});

describe("a refused card", () => {
  test.each(["declines", "wants the customer"] as const)(
    "that %s is charged once, switches off with a mail, and is charged again only after a person's change",
    async (behaviour) => {
      fake.cards.behaviour = behaviour;
      await spend(100_000n);
      for (let count = 0; count < 3; count += 1) await nextRound();
      expect([fake.cards.intents.map(({ status }) => status), await statuses()]).toEqual([
        ["canceled"],
        ["failed"],
      ]);
      const rule = await store().ruleOf(accountId);
      expect([rule?.isOn, rule?.problem]).toEqual([false, expect.stringContaining("declined")]);
      const [alert, ...others] = await alerts();
      expect([alert?.kind, alert?.mail, others]).toEqual(["top_up_failed", "pending", []]);
      expect(alert && sentenceOf(alert)).toMatch(
        /^The automatic top-up of \$100.00 failed, and automatic top-ups are switched off. The reason: .*declined/,
      );
      expect(await deposited()).toBe(0n);
      const open = () => createAlertStore(database.pool).open(accountId, now());
      expect((await open()).map(({ kind }) => kind)).toEqual(["top_up_failed"]);
      fake.cards.behaviour = "pays";
      await save();
      expect(await open()).toEqual([]);
      await nextRound();
      expect([await statuses(), await deposited()]).toEqual([["failed", "completed"], 1_000_000n]);
      expect((await store().ruleOf(accountId))?.problem).toBeNull();
    },
  );

  test("a card that was removed at Stripe is refused, and no charge exists", async () => {
    for (const method of fake.cards.methods) method.isAttached = false;
    await spend(100_000n);
    await nextRound();
    await nextRound();
    expect([fake.cards.intents, await statuses()]).toEqual([[], ["failed"]]);
    expect((await alerts()).map(({ kind }) => kind)).toEqual(["top_up_failed"]);
  });
});

test("no charge: without a card, switched off, or for a suspended account", async () => {
  await spend(100_000n);
  await billing.setSuspended({ accountId, suspended: true });
  await nextRound();
  await billing.setSuspended({ accountId, suspended: false });
  await save({ isOn: false });
  await nextRound();
  await save();
  const method = fake.cards.methods[0];
  await payers().removeCard(accountId);
  expect(method?.isAttached).toBe(false);
  await nextRound();
  expect([fake.cards.intents, await statuses()]).toEqual([[], []]);
});

test("a removal that Stripe did not answer is repeated, and removes each card of the account at Stripe", async () => {
  const setup = fake.cards.setups[0];
  if (setup === undefined) throw new Error("no page was opened");
  // A card that no table has: of a page that another one replaced.
  const orphan = fake.cards.saveCard({ ...setup }, "0009");
  const [saved] = fake.cards.methods;
  fake.isDown = true;
  await expect(payers().removeCard(accountId)).rejects.toMatchObject({ reason: "service_unavailable" });
  fake.isDown = false;
  expect([(await payers().read(accountId))?.card?.last4, saved?.isAttached]).toEqual(["4242", true]);
  await payers().removeOtherCards(accountId);
  expect([saved?.isAttached, orphan.isAttached]).toEqual([true, false]);
  orphan.isAttached = true;
  expect(await payers().removeCard(accountId)).toMatchObject({ last4: "4242" });
  expect([saved?.isAttached, orphan.isAttached]).toEqual([false, false]);
  expect((await payers().read(accountId))?.card).toBeNull();
});

test("a new card replaces the earlier one, which Stripe forgets; an abandoned page changes nothing", async () => {
  for (const isSaved of [false, true]) {
    await payers().openSetup(accountId, "bob@example.com", "http://x/");
    const setup = fake.cards.setups.at(-1);
    if (setup === undefined) throw new Error("no page was opened");
    if (isSaved) fake.cards.saveCard(setup, "0005");
    else setup.status = "expired";
    clock.advance(EVERY_MS);
    const read = await payers().read(accountId);
    expect([read?.card?.last4, read?.setupSessionId]).toEqual([isSaved ? "0005" : "4242", null]);
  }
  expect(fake.cards.methods.map(({ isAttached }) => isAttached)).toEqual([false, true]);
  const [entry] = await database.store.listAudit(accountId, 1, undefined);
  expect(entry).toMatchObject({
    actor: "bob@example.com",
    action: "card.saved",
    detail: { card: "visa 0005" },
  });
});

test("a completed charge gets one invoice, also after a stop in the middle, and a refused one gets none", async () => {
  await spend(100_000n);
  await nextRound();
  fake.cards.behaviour = "declines";
  await spend(await balance());
  await nextRound();
  const { payments } = startedProcess();
  const write = (writer: Stripe = stripe) => invoiceCharges({ payments, stripe: writer, clock });
  const stops = {
    ...stripe,
    invoiceCharge: async (charge: InvoicedCharge) => {
      await stripe.invoiceCharge(charge);
      throw new Error("the process has stopped");
    },
  };
  await expect(write(stops)).rejects.toThrow("1 of 1");
  await write();
  await write();
  const [charged] = fake.cards.paid;
  expect(fake.cards.invoices).toMatchObject([{ amount: 10_000, isFinal: true, intents: [charged?.id] }]);
  expect((await listed()).map(({ invoiceId }) => invoiceId)).toEqual([fake.cards.invoices[0]?.id, null]);
});

/** Steps of a history: spending, rounds of processes, faults of Stripe and of the bank, time, and a person's changes. */
const step = fc.oneof(
  fc.record({ kind: fc.constant("spend" as const), cents: fc.integer({ min: 1, max: 12_000 }) }),
  fc.record({ kind: fc.constant("rounds" as const), processes: fc.integer({ min: 1, max: 3 }) }),
  fc.record({
    kind: fc.constant("bank" as const),
    does: fc.constantFrom("pays" as const, "pays" as const, "declines" as const, "is slow" as const),
  }),
  fc.record({ kind: fc.constant("lose" as const) }),
  fc.record({ kind: fc.constant("down" as const), isDown: fc.boolean() }),
  fc.record({ kind: fc.constant("wait" as const), hours: fc.constantFrom(1, 30, 400) }),
  fc.record({ kind: fc.constant("switch on" as const) }),
  fc.record({ kind: fc.constant("stop early" as const) }),
);

test("whatever happens: books equal charges, months stay within the limit, and no charge is without a low balance", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      await begin();
      const decide = () =>
        store().decide(accountId, now(), async () => ({ balance: await balance(), isSuspended: false }));
      for (const each of steps) {
        const isLow = (await balance()) < RULE.threshold || (await statuses()).includes("pending");
        const before = fake.cards.intents.length;
        if (each.kind === "spend") await spend(BigInt(each.cents) * 100n);
        if (each.kind === "bank") fake.cards.behaviour = each.does;
        if (each.kind === "lose") fake.cards.lostAnswers += 1;
        if (each.kind === "down") fake.isDown = each.isDown;
        if (each.kind === "wait") clock.advance(each.hours * HOUR_MS);
        if (each.kind === "switch on") await save();
        if (each.kind === "stop early") await decide();
        if (each.kind === "rounds") {
          clock.advance(EVERY_MS);
          await Promise.all(Array.from({ length: each.processes }, () => startedProcess().round()));
        }
        expect(fake.cards.intents.length - before).toBeLessThanOrEqual(isLow ? 1 : 0);
        expect((await statuses()).filter((status) => status === "pending").length).toBeLessThanOrEqual(1);
      }
      // In the end all services answer, and slow banks decide.
      Object.assign(fake, { isDown: false });
      Object.assign(fake.cards, { lostAnswers: 0 });
      await save({ isOn: false });
      for (const intent of fake.cards.intents)
        if (intent.status === "processing") intent.status = "succeeded";
      for (const { id } of await listed()) await startedProcess().settling.settle(id);
      const charged = fake.cards.paid.reduce((sum, { amount }) => sum + BigInt(amount) * 100n, 0n);
      expect(await deposited()).toBe(charged);
      const months = new Map<string, bigint>();
      for (const { status, credits, createdAt } of await listed()) {
        const month = createdAt.toISOString().slice(0, 7);
        if (status !== "failed") months.set(month, (months.get(month) ?? 0n) + credits);
      }
      for (const spent of months.values()) expect(spent).toBeLessThanOrEqual(RULE.monthlyLimit);
    }),
    { seed: Number(process.env["PROPERTY_SEED"] ?? 20_261_127), numRuns: 40 },
  );
}, 300_000);
