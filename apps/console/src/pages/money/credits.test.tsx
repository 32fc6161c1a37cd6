// Guarantees of the credits page: amounts are exact, each line has the balance after it, and each tab has its own file. A card is
// charged by a rule that the dialog says in a sentence, and a refused charge is named.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import type { FakeRouter } from "../../test/fake-router.ts";
import { errorAnswer } from "../../test/fake-router.ts";
import { ACCOUNT, closeApp, openApp, routerFor, sessionOf } from "../../test/open-app.tsx";

const OF_ACCOUNT = `/console/api/accounts/${ACCOUNT}`;
const CREDITS = `/accounts/${ACCOUNT}/credits`;
const KEY = "0192f0c1-0000-7000-8000-00000000000a";
const REQUEST = "0192f0c1-0000-7000-8000-0000000000a1";
const PAYMENT = "0192f0c1-0000-7000-8000-0000000000b1";
const at = "2026-11-20T10:00:00.000Z";

afterEach(closeApp);

const charge = {
  ...{ id: "3", at, kind: "charge", amount: "-0.1200", balance_after: "182.4613", request_id: REQUEST },
  ...{ model: "acme/image", key_id: KEY, source: null, reason: null, payment_id: null },
};
const topUp = {
  ...{ id: "2", at, kind: "deposit", amount: "100.0000", balance_after: "182.5813", request_id: null },
  ...{ model: null, key_id: null, source: "stripe", reason: null, payment_id: PAYMENT },
};
const overdrawn = {
  ...{ id: "1", at, kind: "adjustment", amount: "-5.0000", balance_after: "-0.5000", request_id: null },
  ...{ model: null, key_id: null, source: null, reason: "double charge of Nov 19", payment_id: null },
};
const payment = {
  ...{
    id: PAYMENT,
    amount: "100.0000",
    status: "completed",
    reversed: "0.0000",
    asked_by: "ada@example.com",
  },
  ...{ is_automatic: true, created_at: at, changed_at: at, checkout_url: null, failure: null },
  ...{ receipt_url: "https://pay.example/r", has_invoice: true, needs_operator: false },
};
const refused = {
  ...{ ...payment, id: "p2", status: "failed", failure: "Your card was declined.", receipt_url: null },
  has_invoice: false,
};
const card = { brand: "visa", last4: "4242", expires: "08/28" };
const unset = {
  ...{ is_on: false, threshold: null, amount: null, monthly_limit: null, problem: null, card: null },
  spent_this_month: "0.0000",
};
const ruleOn = {
  ...{ is_on: true, threshold: "25.0000", amount: "100.0000", monthly_limit: "500.0000" },
  ...{ spent_this_month: "100.0000", problem: null, card },
};
const settings = {
  ...{ low_balance: "50.0000", budget_percents: [], failure_percent: null, by_mail: true, webhook_url: null },
  ...{ recipients: [], sends_mail: true, is_set: true },
};

let router: FakeRouter;
let rule: object;
beforeEach(() => {
  rule = unset;
  router = creditsRouter();
});

function creditsRouter(role = "owner"): FakeRouter {
  return routerFor(role)
    .on(`GET ${OF_ACCOUNT}/home`, () => ({
      ...{ balance: "182.4613", held: "0.5040", deposited: "300.0000", days_left: 19 },
      spend: { today: "1.0000", last_7_days: "40.0000", last_30_days: "207.8700" },
      first_steps: { has_deposit: true, has_key: true, has_request: true },
      open_alerts: [],
    }))
    .on(`GET ${OF_ACCOUNT}/ledger`, () => ({ data: [charge, topUp, overdrawn], next: null }))
    .on(`GET ${OF_ACCOUNT}/keys`, () => ({ data: [{ id: KEY, name: "Production" }], next: null }))
    .on("GET /v1/models", () => ({ data: [] }))
    .on(`GET ${OF_ACCOUNT}/payments`, () => ({ data: [payment, refused], next: null }))
    .on(`GET ${OF_ACCOUNT}/auto-top-up`, () => rule)
    .on(`GET ${OF_ACCOUNT}/alerts/settings`, () => settings);
}

const region = async (name: string) => within(await screen.findByRole("region", { name }));
const click = (name: string | RegExp) => fireEvent.click(screen.getByRole("button", { name }));

test("the balance is cut to cents and exact, without the held part, and a line has the balance after it", async () => {
  openApp(CREDITS);
  const balance = await region("Balance");
  await balance.findByText("$182.46");
  for (const part of ["exactly $182.4613", "$0.5040", "$181.95", "$207.87"]) balance.getByText(part);
  const link = await screen.findByRole("link", { name: "acme/image" });
  expect(link.getAttribute("href")).toContain(REQUEST);
  const row = within(link.closest("tr") as HTMLElement);
  for (const part of ["−$0.1200", "$182.4613", "Charge"]) row.getByText(part);
  await row.findByText("Production");
  screen.getByText("+$100.0000");
  screen.getByText("Top-up");
  const debt = within(screen.getByText("double charge of Nov 19").closest("tr") as HTMLElement);
  debt.getByText("−$0.5000");
});

test("each tab has its own file, and filters of the ledger are in it", async () => {
  openApp(`${CREDITS}?kind=charge&from=2026-11-01&to=2026-11-30`);
  const file = () => screen.getByRole("link", { name: /CSV$/ }).getAttribute("href");
  await screen.findByRole("link", { name: "Ledger CSV" });
  expect(file()).toBe(`${OF_ACCOUNT}/ledger.csv?kind=charge&from=2026-11-01&to=2026-11-30`);
  fireEvent.click(screen.getByRole("tab", { name: "Payments" }));
  await screen.findByRole("link", { name: "Payments CSV" });
  expect(file()).toBe(`${OF_ACCOUNT}/payments.csv`);
  fireEvent.click(screen.getByRole("tab", { name: "Invoices" }));
  await screen.findByRole("link", { name: "Invoices CSV" });
  expect(file()).toBe(`${OF_ACCOUNT}/payments.csv?is_invoiced=true`);
  await waitFor(() =>
    expect(router.callsOf(`GET ${OF_ACCOUNT}/payments`).at(-1)?.query.get("is_invoiced")).toBe("true"),
  );
});

test("a usual amount or another one is sent as it stands, with the balance afterwards", async () => {
  router.on(`POST ${OF_ACCOUNT}/payments`, () => errorAnswer(503, "service_unavailable", "Stripe is away."));
  openApp(CREDITS);
  const form = await region("Top up");
  fireEvent.click(await form.findByLabelText("$100"));
  await form.findByText("$282.46");
  fireEvent.change(form.getByLabelText("Amount, USD"), { target: { value: "0.50" } });
  click("Continue to payment");
  await form.findByText("It must be from 1 to 10000 USD.");
  fireEvent.change(form.getByLabelText("Amount, USD"), { target: { value: " $7.77 " } });
  await form.findByText("$190.23");
  click("Continue to payment");
  await screen.findByText("Stripe is away.");
  expect(router.callsOf(`POST ${OF_ACCOUNT}/payments`).map(({ body }) => body)).toEqual([{ amount: "7.77" }]);
});

test("a saved card is charged by a rule that is checked, said in a sentence, and sent exactly", async () => {
  rule = { ...unset, card };
  router.on(`PATCH ${OF_ACCOUNT}/auto-top-up`, ({ body }) => {
    rule = { ...ruleOn, ...(body as object) };
    return rule;
  });
  openApp(CREDITS);
  const auto = await region("Auto top-up");
  await auto.findByText("Visa ending 4242");
  expect(auto.queryByRole("switch")).toBeNull();
  fireEvent.click(auto.getByRole("button", { name: "Set up" }));
  const dialog = within(await screen.findByRole("dialog"));
  const type = (label: string, value: string) =>
    fireEvent.change(dialog.getByLabelText(label), { target: { value } });
  type("Add, USD", "10");
  fireEvent.click(dialog.getByRole("button", { name: "Switch on" }));
  await dialog.findByText("It must be at least the threshold, so that one top-up is enough.");
  type("Add, USD", "300.50");
  type("When the balance falls below, USD", "200");
  type("At most each month (UTC), USD", "1000");
  dialog.getByText(
    /Visa ending 4242 is charged \$300.50 when the balance falls below \$200.00, and never more than \$1,000.00/,
  );
  dialog.getByText(/the card is charged at once/);
  fireEvent.click(dialog.getByRole("button", { name: "Switch on" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(router.callsOf(`PATCH ${OF_ACCOUNT}/auto-top-up`).map(({ body }) => body)).toEqual([
    { is_on: true, threshold: "200", amount: "300.50", monthly_limit: "1000" },
  ]);
});

test("the switch keeps the rule, and a removed card is a question whose default is Cancel", async () => {
  rule = ruleOn;
  router
    .on(`PATCH ${OF_ACCOUNT}/auto-top-up`, ({ body }) => (rule = { ...ruleOn, ...(body as object) }))
    .on(`DELETE ${OF_ACCOUNT}/card`, () => new Response(null, { status: 204 }));
  openApp(CREDITS);
  const auto = await region("Auto top-up");
  await auto.findByText(/falls below \$25.00, add \$100.00, at most \$500.00 a month/);
  auto.getByText("$100.00 of $500.00");
  await auto.findByText(/below \$50.00/);
  fireEvent.click(auto.getByRole("switch"));
  await auto.findByText(/^Off/);
  expect(router.callsOf(`PATCH ${OF_ACCOUNT}/auto-top-up`).map(({ body }) => body)).toEqual([
    { is_on: false, threshold: "25", amount: "100", monthly_limit: "500" },
  ]);
  fireEvent.click(auto.getByRole("button", { name: "Remove" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Remove the saved card?" }));
  await waitFor(() => expect(document.activeElement?.textContent).toBe("Cancel"));
  expect(router.callsOf(`DELETE ${OF_ACCOUNT}/card`)).toEqual([]);
  fireEvent.click(dialog.getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(router.callsOf(`DELETE ${OF_ACCOUNT}/card`)).toHaveLength(1));
});

test("a refused charge is named at the card and in the payments", async () => {
  rule = { ...ruleOn, is_on: false, problem: "Your card was declined." };
  openApp(`${CREDITS}?view=payments`);
  const auto = await region("Auto top-up");
  within(await auto.findByRole("alert")).getByText("Your card was declined.");
  await screen.findByText("Failed");
  expect(screen.getAllByText("Your card was declined.")).toHaveLength(2);
  expect(screen.getAllByText("Auto top-up, set by ada@example.com")).toHaveLength(2);
  expect(screen.getAllByRole("button", { name: "Invoice" })).toHaveLength(1);
});

test("a viewer sees balance and ledger, and neither card nor invoice; without payments the operator books", async () => {
  router = creditsRouter("viewer");
  openApp(`${CREDITS}?view=invoices`);
  await screen.findByText("An admin of the account tops it up.");
  await screen.findByText("Receipt");
  expect(screen.queryByRole("region", { name: "Auto top-up" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Invoice" })).toBeNull();
  expect(router.callsOf(`GET ${OF_ACCOUNT}/auto-top-up`)).toEqual([]);
  closeApp();
  creditsRouter()
    .on("GET /console/api/session", () => ({ ...sessionOf("owner"), takes_payments: false }))
    .on(`GET ${OF_ACCOUNT}/ledger`, () => ({ data: [], next: null }));
  openApp(CREDITS);
  await screen.findByText(/The operator of this router books it/);
  expect(screen.queryByRole("region", { name: "Top up" })).toBeNull();
});
