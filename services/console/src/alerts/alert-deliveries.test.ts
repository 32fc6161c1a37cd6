// Guarantees of deliveries on a real PostgreSQL: one process sends each alert, alerts of one moment share a mail, a
// failed try is repeated, and an account has a bounded number of mails a day.
import { randomUUID } from "node:crypto";
import { ServiceError } from "@gr/proto";
import { createLogger } from "@gr/runtime";
import { ManualClock } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import { createAttempts } from "../door/attempts.ts";
import { createConsoleEvents } from "../events.ts";
import { linksTo } from "../mail/links.ts";
import type { Report } from "../mail/mailer.ts";
import { type ConsoleDatabase, startConsoleDatabase } from "../test/console-database.ts";
import { createAlertDeliveries } from "./alert-deliveries.ts";
import { type AlertSettings, createAlertStore } from "./alert-store.ts";
import { mailText, sentenceOf, subjectOf } from "./alert-text.ts";

const MINUTE_MS = 60_000;
const URL_OF_HOOK = "https://hooks.example.com/alerts";
const running = new AbortController().signal;
const ways: AlertSettings = {
  lowBalance: null,
  budgetPercents: [],
  failurePercent: null,
  byMail: true,
  webhookUrl: URL_OF_HOOK,
};

let database: ConsoleDatabase;
let accountId: string;
const clock = new ManualClock(Date.UTC(2026, 10, 27));
let mails: Report[];
let sentEvents: { id?: string; type?: string; data?: string; url?: string }[];
/** Failures of the next tries. */
let mailFails: number;
let hookFailure: ServiceError | undefined;

beforeAll(async () => {
  database = await startConsoleDatabase();
});
beforeEach(async () => {
  await database.pool.query("TRUNCATE alert");
  accountId = randomUUID();
  await database.store.addAccount(accountId, 'Acme "\r\nBcc: all@example.com"');
  await join("owner@example.com", "owner");
  mails = [];
  sentEvents = [];
  mailFails = 0;
  hookFailure = undefined;
});
afterAll(() => database.stop());

async function join(email: string, role: "owner" | "admin" | "developer"): Promise<void> {
  const { rows } = await database.pool.query<{ id: string }>(
    `INSERT INTO person (id, email, name, email_verified, created_at, updated_at)
     VALUES ($1, $2, 'Somebody', true, now(), now())
     ON CONFLICT (email) DO UPDATE SET name = excluded.name RETURNING id`,
    [randomUUID(), email],
  );
  await database.store.addMember(accountId, rows[0]?.id ?? "", role);
}

const store = () => createAlertStore(database.pool);
const raise = (facts: Record<string, string | number> = {}, settings = ways) =>
  store().add(accountId, { kind: "low_balance", facts }, settings, new Date(clock.now()));
const states = async () =>
  (await store().list(accountId, 100, undefined)).map(({ mail, webhook }) => [mail, webhook]);

function startedProcess(sends = true) {
  const deliveries = createAlertDeliveries({
    alerts: store(),
    mailer: {
      sends,
      deliver: async (mail) => {
        if (mailFails > 0) {
          mailFails -= 1;
          throw new Error("the mail server is away");
        }
        mails.push(mail);
      },
    },
    links: linksTo("https://console.example.com"),
    attempts: createAttempts(database.store, clock),
    webhooks: {
      sendEvent: async (event) => {
        if (hookFailure !== undefined) throw hookFailure;
        sentEvents.push(event);
        return { $typeName: "router.webhooks.v1.SendEventResponse", accepted: true };
      },
    },
    events: createConsoleEvents(createLogger("silent", "test"), new Registry()),
    clock,
  });
  return () => deliveries.sendDue(running);
}

test("one of several processes sends an alert, once, to owners and admins, and by webhook", async () => {
  await join("admin@example.com", "admin");
  await join("developer@example.com", "developer");
  await raise({ balance: "4.2000", threshold: "5.0000" });
  await Promise.all([startedProcess()(), startedProcess()(), startedProcess()()]);
  expect(mails).toMatchObject([
    {
      to: ["owner@example.com", "admin@example.com"],
      link: `https://console.example.com/accounts/${accountId}/alerts`,
      text: expect.stringContaining("- The balance is $4.20, below $5.00."),
    },
  ]);
  const [event] = sentEvents;
  expect(sentEvents).toMatchObject([{ type: "alert.low_balance", url: URL_OF_HOOK, accountId }]);
  expect(JSON.parse(event?.data ?? "")).toMatchObject({
    id: event?.id,
    kind: "low_balance",
    balance: "4.2000",
    threshold: "5.0000",
  });
  expect(await states()).toEqual([["sent", "sent"]]);
  await startedProcess()();
  expect([mails.length, sentEvents.length]).toEqual([1, 1]);
});

test("a name of an account begins no header and no line", async () => {
  await raise();
  await startedProcess()();
  expect(mails[0]?.subject).not.toMatch(/[\r\n]/);
  expect(mails[0]?.text.split("\n")[0]).toContain("Bcc: all@example.com");
});

test("alerts of one moment share a mail, and each has an event", async () => {
  for (const balance of ["3.0000", "2.0000", "1.0000"]) await raise({ balance, threshold: "5.0000" });
  await startedProcess()();
  expect(mails).toHaveLength(1);
  expect(mails[0]?.subject).toMatch(/^3 alerts · /);
  expect(mails[0]?.text.match(/\$\d\.00, below/g)).toEqual(["$3.00, below", "$2.00, below", "$1.00, below"]);
  expect(sentEvents).toHaveLength(3);
});

test("a try that fails is repeated with growing pauses; the event keeps its id", async () => {
  mailFails = 2;
  hookFailure = new ServiceError("service_unavailable", "away");
  await raise();
  const send = startedProcess();
  await send();
  expect(await states()).toEqual([["pending", "pending"]]);
  clock.advance(MINUTE_MS - 1);
  await send();
  expect(mailFails).toBe(1);
  clock.advance(1);
  await send();
  expect([mailFails, mails.length]).toEqual([0, 0]);
  hookFailure = undefined;
  clock.advance(2 * MINUTE_MS);
  await send();
  expect([mails.length, sentEvents.length, await states()]).toEqual([1, 1, [["sent", "sent"]]]);
});

test("a process that ends before it has recorded a mail leaves it to another one, a minute later", async () => {
  await raise();
  await store().claimMails(new Date(clock.now()), new Date(clock.now() + MINUTE_MS));
  await startedProcess()();
  expect(mails).toHaveLength(0);
  clock.advance(MINUTE_MS);
  await startedProcess()();
  expect(mails).toHaveLength(1);
});

test("a mail server that stays away ends the tries", async () => {
  mailFails = 1_000;
  await raise({}, { ...ways, webhookUrl: null });
  const send = startedProcess();
  for (let tries = 0; tries < 30; tries += 1) {
    await send();
    clock.advance(60 * MINUTE_MS);
  }
  expect(1_000 - mailFails).toBe(16);
  expect(await states()).toEqual([["failed", "none"]]);
});

test("an address that is refused is not tried again", async () => {
  hookFailure = new ServiceError("url_not_allowed", "private", { param: "url" });
  await raise({}, { ...ways, byMail: false });
  const send = startedProcess();
  await send();
  hookFailure = undefined;
  clock.advance(60 * MINUTE_MS);
  await send();
  expect([sentEvents, await states()]).toEqual([[], [["none", "refused"]]]);
});

test("an account gets at most 20 mails about alerts in 24 hours; the history has the others", async () => {
  const send = startedProcess();
  for (let at = 0; at < 22; at += 1) {
    await raise({}, { ...ways, webhookUrl: null });
    await send();
  }
  expect(mails).toHaveLength(20);
  expect((await states()).filter(([mail]) => mail === "limited")).toHaveLength(2);
});

test("without a mail server, or without an owner, no mail is tried", async () => {
  await raise({}, { ...ways, webhookUrl: null });
  await startedProcess(false)();
  expect(await states()).toEqual([["failed", "none"]]);
});

test.each([
  [{ key_id: "k", key_name: "CI" }, "Budget of a key", 'The key "CI" has spent 80 % of its budget'],
  [
    { level: "key", key_id: "k", key_name: "CI" },
    "Budget of a key",
    'The key "CI" has spent 80 % of its budget',
  ],
  [
    { level: "member", budget_name: "Ann" },
    "Budget of a member",
    'The member "Ann" has spent 80 % of its budget',
  ],
  [
    { level: "customer", budget_name: "Acme" },
    "Budget of a customer",
    'The customer "Acme" has spent 80 % of its budget',
  ],
  [
    { level: "account", budget_name: "All" },
    "Budget of the account",
    'The budget "All" of the account has spent 80 % of its limit',
  ],
])("a mail about the budget of %j has its level and name", (owner, title, sentence) => {
  const facts = { ...owner, percent: 80, spent: "8.0000", spend_limit: "10.0000" };
  const alerts = [{ kind: "budget", facts }] as const;
  expect(subjectOf("Shop", alerts)).toBe(`${title} · Shop`);
  expect(mailText("Shop", alerts)).toContain(`- ${sentence}: $8.00 of $10.00.`);
});

test.each([
  ["-1234567.0000", "-$1,234,567.00"],
  ["0.0512", "$0.0512"],
  ["5000.0000", "$5,000.00"],
])("an alert shows %s as %s", (balance, text) => {
  expect(sentenceOf({ kind: "low_balance", facts: { balance, threshold: "1.0000" } })).toContain(
    `is ${text}, `,
  );
});
