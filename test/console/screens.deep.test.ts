// Every screen of the console with content in a real browser, at the size of a desk and of a phone, light and dark. No
// page breaks its own policy, throws, has a serious accessibility finding, or is wider than the screen.
import { until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Browser } from "../e2e/console-client.ts";
import { call } from "../e2e/http.ts";
import { ConsoleInBrowser } from "./console-in-browser.ts";

const OPERATOR = "operator@example.com";
const LONG =
  "A lighthouse at dawn, seen from a small boat in high waves, with every window lit and gulls around the lamp";

let at: ConsoleInBrowser;
/** Text request with a saved prompt and answer. */
let savedId: string;
beforeAll(async () => {
  at = await ConsoleInBrowser.start();
  await (await at.people()).addOperator({ email: OPERATOR });
  await fill();
});
afterAll(() => at?.stop());
beforeEach(async () => {
  await at.open();
});
afterEach(() => at.close());

/** Creates the content of each screen. */
async function fill(): Promise<void> {
  const make = async (path: string, wanted: number, body: object, headers: Record<string, string> = {}) => {
    const { status } = await call(at.router, "POST", `/v1/compat/${path}`, { body, headers });
    expect([body, status]).toEqual([body, wanted]);
  };
  const later = { prefer: "respond-async" };
  const chat = (model: string) => ({ model, messages: [{ role: "user", content: "Hello" }] });
  await make("images/generations", 200, { model: "sandbox/image", prompt: LONG, n: 2 });
  await make("videos/generations", 200, { model: "sandbox/video", prompt: "A kite in the wind", seconds: 2 });
  await make("images/generations", 502, { model: "sandbox/image-error", prompt: "What fails" });
  await make("images/generations", 400, { model: "sandbox/image-blocked", prompt: "What is blocked" });
  await make(
    "videos/generations",
    202,
    { model: "sandbox/video-hang", prompt: "What runs", seconds: 2 },
    later,
  );
  await make("chat/completions", 200, chat("sandbox/chat"));
  await make("chat/completions", 502, chat("sandbox/chat-error"));
  await until(async () => (await requestsOf("kind=text")).length === 2, { timeoutMs: 300_000 });

  const owner = await signedIn("demo@router.localhost");
  const account = `accounts/${at.router.accountId}`;
  await owner.post(`${account}/keys`, {
    name: "A key with a name that is as long as people make them",
    spend_limit: "12.50",
    spend_limit_period: "month",
    expires_at: "2099-01-01T00:00:00Z",
  });
  await owner.post(`${account}/keys`, { name: "used up", spend_limit: "0" });
  const { secret } = (await owner.post(`${account}/keys`, { name: "debugging", saves_texts: true })).body;
  const messages = [
    { role: "system", content: "Answer in one sentence." },
    { role: "user", content: LONG },
  ];
  const saved = { key: secret, body: { model: "sandbox/chat", messages } };
  const { status, headers } = await call(at.router, "POST", "/v1/compat/chat/completions", saved);
  expect(status).toBe(200);
  savedId = headers.get("x-request-id") ?? "";
  const isSaved = async () => (await owner.get(`${account}/requests/${savedId}/text`)).body.text !== null;
  await until(isSaved, { timeoutMs: 300_000 });
  await owner.post(`${account}/keys`, { name: "provisioning", kind: "management" });
  await owner.post(`${account}/invitations`, { email: "somebody.new@example.com", role: "developer" });
  await owner.post(`${account}/payments`, { amount: "25.00" });
  const operator = await signedIn(OPERATOR);
  await operator.post(`operator/${account}/deposits`, {
    id: crypto.randomUUID(),
    amount: "1234.5",
    reason: "Paid by bank transfer, invoice 4711",
  });
}

async function signedIn(email: string): Promise<Browser> {
  const browser = new Browser(at.router);
  const { url } = await (await at.people()).createSignInLink({ email });
  const token = decodeURIComponent(new URL(url).hash.replace("#token=", ""));
  expect((await browser.post("sign-in/link", { token })).status).toBe(200);
  return browser;
}

async function requestsOf(query: string): Promise<{ id: string }[]> {
  return (await call(at.router, "GET", `/v1/generations?${query}`)).body.data;
}

/** Visits each page, and collects the faults of all. */
async function visit(pages: Readonly<Record<string, string>>): Promise<void> {
  const findings: string[] = [];
  for (const [name, path] of Object.entries(pages)) {
    await at.goto(path);
    findings.push(...(await at.findings(name)));
  }
  expect(findings).toEqual([]);
  expect(at.troubles).toEqual([]);
}

const inAccount = (pages: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(pages).map(([name, part]) => [name, `/accounts/${at.router.accountId}/${part}`]),
  );

describe("every look of", () => {
  test("the pages for everybody", async () => {
    await visit({
      "sign in": "/sign-in",
      "sign up": "/sign-up",
      "forgot password": "/forgot-password",
      "reset password": "/reset-password",
      "verify email": "/verify-email",
      invitation: "/invitation",
      models: "/models",
      "model of images": "/models/sandbox/image",
      "model of videos": "/models/sandbox/video",
      "model of text": "/models/sandbox/chat",
      "no such page": "/nothing/here",
    });
  });

  test("the pages of an account", async () => {
    await at.signIn();
    await visit(
      inAccount({
        home: "",
        keys: "keys",
        "management keys": "keys?kind=management",
        credits: "credits",
        payments: "credits?view=payments",
        invoices: "credits?view=invoices",
        usage: "usage",
        "usage, hours by key": "usage?range=24h&group_by=key&metric=latency",
        "usage, nothing": "usage?provider=nothing",
        logs: "logs",
        "logs, nothing": "logs?model=nothing&provider=nothing&member=00000000-0000-4000-8000-000000000000",
        gallery: "logs?view=gallery",
        "playground, images": "playground?tab=image",
        "playground, edits": "playground?tab=edit",
        "playground, videos": "playground?tab=video",
        "playground, text": "playground?tab=text",
        "playground, compare": "playground?tab=compare",
        "alerts, none": "alerts",
        team: "team",
        audit: "audit",
        person: "person",
        "no such page of an account": "nothing",
      }),
    );
  });

  test("a request, of each kind", async () => {
    await at.signIn();
    const findings: string[] = [];
    const requests = {
      "an image": await requestsOf("kind=image&status=succeeded"),
      "a video": await requestsOf("kind=video&status=succeeded"),
      "a blocked one": await requestsOf("status=blocked"),
      "a running one": await requestsOf("status=running"),
      "a text": await requestsOf("kind=text&status=succeeded"),
      "a failed text": await requestsOf("kind=text&status=failed"),
      "a text with a saved prompt": [{ id: savedId }],
    };
    for (const [name, [request]] of Object.entries(requests)) {
      expect([name, request]).toEqual([name, expect.anything()]);
      await at.to(`logs?request=${request?.id}`);
      await at.page
        .getByRole("dialog")
        .getByText(request?.id ?? "")
        .waitFor();
      await at.settle();
      findings.push(...(await at.findings(`request, ${name}`)));
    }
    expect(findings).toEqual([]);
    expect(at.troubles).toEqual([]);
  });

  test("the dialogs and the menus", async () => {
    await at.signIn();
    const { page } = at;
    const findings: string[] = [];
    for (const [part, button] of [
      ["keys", "New key"],
      ["keys?kind=management", "New key"],
      ["team", "Invite"],
      ["alerts", "Set up alerts"],
    ] as const) {
      await at.to(part);
      await page.getByRole("button", { name: button, exact: true }).click();
      await page.getByRole("dialog").waitFor();
      findings.push(...(await at.findings(`dialog, ${button} in ${part}`)));
    }
    for (const choice of ["Edit", "Rotate", "Delete saved prompts", "Delete"]) {
      await at.to("keys");
      await page.getByRole("button", { name: "Actions for used up" }).click();
      await page.getByRole("menuitem", { name: choice, exact: true }).click();
      await page.getByRole("dialog").waitFor();
      findings.push(...(await at.findings(`dialog, ${choice} a key`)));
    }
    await at.to("team");
    await page.getByRole("button", { name: "Settings" }).click();
    await page
      .getByRole("dialog")
      .getByText(/^Keys save them/)
      .waitFor();
    findings.push(...(await at.findings("dialog, Settings of the account")));
    await page.setViewportSize({ width: 375, height: 812 });
    await at.to("");
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("link", { name: "Audit log" }).waitFor();
    await at.shoot("menu of a phone");
    expect(findings).toEqual([]);
    expect(at.troubles).toEqual([]);
  });

  test("a saved card, its rule, and a charge that was refused", async () => {
    await at.signIn();
    const { page } = at;
    await at.to("credits");
    const card = page.getByRole("region", { name: "Auto top-up" });
    const findings = await at.findings("credits, no card");
    await card.getByRole("button", { name: "Save a card" }).click();
    await page.getByRole("button", { name: "Save card" }).click();
    await card.getByText("Visa ending 4242").waitFor();
    await card.getByRole("button", { name: "Set up" }).click();
    const dialog = page.getByRole("dialog");
    const fill = async (label: string, amount: string) => dialog.getByLabel(label).fill(amount);
    await fill("When the balance falls below, USD", "5000");
    await fill("Add, USD", "5000");
    await fill("At most each month (UTC), USD", "10000");
    await dialog.getByText(/the card is charged at once/).waitFor();
    findings.push(...(await at.findings("dialog, auto top-up")));
    at.stripe.cards.behaviour = "declines";
    await dialog.getByRole("button", { name: "Switch on" }).click();
    await card.getByText("Your card was declined.").waitFor();
    findings.push(...(await at.findings("credits, refused card")));
    await at.to("credits?view=payments");
    await page.getByText(/^Auto top-up, set by/).waitFor();
    await at.to("");
    await page
      .getByRole("region", { name: "Needs attention" })
      .getByText(/automatic top-up/)
      .waitFor();
    findings.push(...(await at.findings("home, needs attention")));
    expect(findings).toEqual([]);
    expect(at.troubles).toEqual([]);
  });

  test("alerts with a history, and their settings", async () => {
    await at.signIn();
    const { page } = at;
    await at.to("alerts");
    await page.getByRole("button", { name: "Set up alerts" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Balance below, USD").fill("1000000");
    await dialog.getByRole("button", { name: "New secret" }).click();
    await dialog.getByText("whsec_").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "hidden" });
    await page.getByText("Balance below $1,000,000.00").waitFor();
    const owner = await signedIn("demo@router.localhost");
    const history = `accounts/${at.router.accountId}/alerts`;
    await until(async () => (await owner.get(history)).body.data[0]?.mail === "sent", { timeoutMs: 300_000 });
    await at.to("alerts");
    await page.getByText(/^The balance is/).waitFor();
    const findings = await at.findings("alerts");
    await page.getByRole("button", { name: "Change alerts" }).click();
    await dialog.waitFor();
    findings.push(...(await at.findings("dialog, Change alerts")));
    expect(findings).toEqual([]);
    expect(at.troubles).toEqual([]);
  });

  test("the operator's area", async () => {
    await at.signIn(OPERATOR);
    await visit({
      "operator, health": "/operator",
      "operator, health of a week": "/operator?range=week",
      "operator, accounts": "/operator/accounts",
      "operator, an account": `/operator/accounts/${at.router.accountId}`,
      "operator, open requests": "/operator/requests",
      "operator, keys of an account": `/operator/accounts/${at.router.accountId}?view=keys`,
      "operator, ledger of an account": `/operator/accounts/${at.router.accountId}?view=ledger`,
      "operator, requests of an account": `/operator/accounts/${at.router.accountId}?view=requests`,
      "operator, margin": "/operator/margin?days=1",
      "operator, reconciliation": "/operator/reconciliation",
      "operator, catalogue": "/operator/catalogue",
    });
    const { page } = at;
    const findings: string[] = [];
    await page.getByRole("button", { name: "Compare with files and upstreams" }).click();
    await page.getByText("Nothing was changed.").waitFor();
    findings.push(...(await at.findings("operator, changes of the catalogue")));
    for (const action of ["Book a deposit", "Adjust", "Suspend"]) {
      await at.goto(`/operator/accounts/${at.router.accountId}`);
      await page.getByRole("button", { name: action }).click();
      await page.getByLabel("Reason").waitFor();
      findings.push(...(await at.findings(`operator, ${action}`)));
    }
    expect(findings).toEqual([]);
    expect(at.troubles).toEqual([]);
  });
});
