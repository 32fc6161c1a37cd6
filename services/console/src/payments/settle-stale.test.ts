// Guarantees for payments without events: each without a query for an hour is queried once, and none waits for another.
import { randomUUID } from "node:crypto";
import { FakeBilling } from "@gr/ledger-model";
import { BillingService } from "@gr/proto/billing";
import { createLogger, type RunningProcess, startProcess, systemClock } from "@gr/runtime";
import { FakeStripe } from "@gr/testing/fake-stripe";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import { consoleConfig } from "../config.ts";
import { createConsoleEvents } from "../events.ts";
import { type ConsoleDatabase, startConsoleDatabase } from "../test/console-database.ts";
import { createPaymentStore, type PaymentStore } from "./payment-store.ts";
import { createSettlePayments, type SettlePayments } from "./settle-payment.ts";
import { createStripe, type Stripe } from "./stripe.ts";

let database: ConsoleDatabase;
let fake: FakeStripe;
let billing: FakeBilling;
let peers: RunningProcess;
let payments: PaymentStore;
let stripe: Stripe;
let settling: SettlePayments;
/** Ids of Checkouts in queries to Stripe. */
let asked: string[];

beforeAll(async () => {
  database = await startConsoleDatabase();
  fake = await FakeStripe.start();
  billing = new FakeBilling({ clock: systemClock });
  const secret = "internal-secret-of-the-console-tests-0123456789";
  peers = await startProcess([billing.module], {
    env: {
      INTERNAL_AUTH_SECRET: secret,
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      LOG_LEVEL: "silent",
    },
  });
  payments = createPaymentStore(database.pool);
  const config = consoleConfig.parse({
    DATABASE_URL: database.url,
    CONSOLE_URL: "http://127.0.0.1:8080",
    CONSOLE_SECRET: "s".repeat(32),
    ...fake.env,
  });
  const real = createStripe(config, systemClock);
  if (real === undefined) throw new Error("there are no payments");
  stripe = {
    ...real,
    readPayment: (sessionId) => {
      asked.push(sessionId);
      return real.readPayment(sessionId);
    },
  };
  const events = createConsoleEvents(createLogger("silent", "test"), new Registry());
  const rpc = peers.dial("billing", BillingService);
  settling = createSettlePayments({ stripe, payments, billing: rpc, events, clock: systemClock });
});
beforeEach(async () => {
  asked = [];
  fake.isDown = false;
  await database.pool.query("DELETE FROM payment");
});
afterAll(async () => {
  await peers?.stop();
  await fake?.close();
  await database?.stop();
});

interface Begun {
  readonly id: string;
  readonly accountId: string;
  readonly sessionId: string;
}

/** Begins a payment that is open at Stripe, with the last query these minutes ago. */
async function begin(minutes: number): Promise<Begun> {
  const [id, accountId] = [randomUUID(), randomUUID()];
  const rpc = peers.dial("billing", BillingService);
  await rpc.openAccount({ accountId });
  await database.store.addAccount(accountId, "A");
  await payments.add({ id, accountId, credits: 250_000n, askedBy: "a@example.com" });
  const order = { paymentId: id, accountId, cents: 2_500, customerId: "cus_1", returnUrl: "http://x/" };
  const { sessionId, url } = await stripe.openCheckout(order);
  await payments.setCheckout(id, sessionId, url);
  await age(id, minutes);
  return { id, accountId, sessionId };
}

async function age(id: string, minutes: number): Promise<void> {
  const sql = "UPDATE payment SET checked_at = now() - $2 * interval '1 minute' WHERE id = $1";
  await database.pool.query(sql, [id, minutes]);
}

async function stateOf({ id, accountId }: Begun): Promise<[status: string | undefined, credits: bigint]> {
  const [payment] = await payments.list({ accountId, id, after: undefined, limit: 1 });
  const { depositedCredits } = await peers.dial("billing", BillingService).getCredits({ accountId });
  return [payment?.status, depositedCredits];
}

test("one that was paid without a word of it is booked once; one that was asked about within the hour is not looked at", async () => {
  const [old, recent] = [await begin(61), await begin(59)];
  for (const { id } of [old, recent]) fake.pay(fake.checkoutOf(id));
  await settling.settleStale();
  expect([await stateOf(old), await stateOf(recent)]).toEqual([
    ["completed", 250_000n],
    ["pending", 0n],
  ]);
  await settling.settleStale();
  expect(asked).toEqual([old.sessionId]);
  expect(await stateOf(old)).toEqual(["completed", 250_000n]);
});

test("one that is not paid yet is asked about again an hour later, and fails when its Checkout has", async () => {
  const open = await begin(61);
  await settling.settleStale();
  await settling.settleStale();
  expect([asked, await stateOf(open)]).toEqual([[open.sessionId], ["pending", 0n]]);
  fake.checkoutOf(open.id).status = "expired";
  await age(open.id, 61);
  await settling.settleStale();
  expect(await stateOf(open)).toEqual(["failed", 0n]);
});

test("one that nobody could ever pay, since Stripe was not reached when it began, is failed without a question", async () => {
  const [id, accountId] = [randomUUID(), randomUUID()];
  await peers.dial("billing", BillingService).openAccount({ accountId });
  await database.store.addAccount(accountId, "A");
  await payments.add({ id, accountId, credits: 10n, askedBy: "a@example.com" });
  await age(id, 61);
  await settling.settleStale();
  expect([asked, await stateOf({ id, accountId, sessionId: "" })]).toEqual([[], ["failed", 0n]]);
});

test("one that Stripe knows nothing of keeps no other waiting, and is told of", async () => {
  const [unknown, paid] = [await begin(120), await begin(61)];
  await payments.setCheckout(unknown.id, "cs_test_of_another_time", "http://x/");
  fake.pay(fake.checkoutOf(paid.id));
  await expect(settling.settleStale()).rejects.toThrow("1 of 2 payments");
  expect([await stateOf(unknown), await stateOf(paid)]).toEqual([
    ["pending", 0n],
    ["completed", 250_000n],
  ]);
  // The payment is due again after an hour, after those with a longer wait.
  asked = [];
  await settling.settleStale();
  expect(asked).toEqual([]);
});

test("while Stripe does not answer nothing is booked, and afterwards everything is, once", async () => {
  const paid = await begin(61);
  fake.pay(fake.checkoutOf(paid.id));
  fake.isDown = true;
  await expect(settling.settleStale()).rejects.toThrow("1 of 1 payments");
  expect(await stateOf(paid)).toEqual(["pending", 0n]);
  fake.isDown = false;
  await age(paid.id, 61);
  await settling.settleStale();
  expect(await stateOf(paid)).toEqual(["completed", 250_000n]);
});
