// Alerts through the whole router: an admin sets thresholds, requests cross them, and the alerts arrive once by mail, by
// signed webhook and in the history.
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ConsoleOperatorService } from "@gr/proto/console";
import { until } from "@gr/testing";
import { type MailServer, startMailServer, tokenOf } from "@gr/testing/mail-server";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Browser } from "./console-client.ts";
import { call } from "./http.ts";
import { serviceOf } from "./operator.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

const PATIENCE = { timeoutMs: 120_000 };
const OWNER = "demo@router.localhost";
const image = { model: "sandbox/image", prompt: "a kite", size: "1024x1024" };

interface Message {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

describe.each(topologiesByDepth)("alerts (%s)", (topology) => {
  let router: Router;
  let mails: MailServer;
  let owner: Browser;
  const messages: Message[] = [];
  const receiver = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    messages.push({ headers: request.headers, text });
    response.end();
  });

  beforeAll(async () => {
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    mails = await startMailServer();
    router = await startRouter(topology, {
      inProcess: true,
      env: {
        CONSOLE_SMTP_URL: mails.url,
        CONSOLE_ALERT_INTERVAL_MS: "200",
        WEBHOOK_PRIVATE_ORIGINS: hookOrigin(),
      },
    });
    owner = await signedIn(OWNER);
  });
  afterAll(async () => {
    await router?.dispose();
    await mails?.close();
    receiver.closeAllConnections();
    receiver.close();
  });

  const hookOrigin = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const people = () => serviceOf(router.dataDir, "console", ConsoleOperatorService);
  const signedIn = async (email: string) => {
    const browser = new Browser(router);
    await browser.post("sign-in/link", {
      token: tokenOf((await (await people()).createSignInLink({ email })).url),
    });
    return browser;
  };
  const of = (path: string) => `accounts/${router.accountId}/${path}`;
  const off = {
    low_balance: null,
    budget_percents: [],
    failure_percent: null,
    by_mail: false,
    webhook_url: null,
  };
  const set = (settings: object) =>
    owner.ask("PATCH", of("alerts/settings"), { body: { ...off, ...settings } });
  const history = async () => (await owner.get(of("alerts"))).body.data as Record<string, string>[];
  const eventsOf = (type: string) =>
    messages.map(({ text }) => JSON.parse(text)).filter((event) => event.type === type);

  test("nobody has alerts before an admin sets them", async () => {
    expect((await owner.get(of("alerts/settings"))).body).toEqual({
      ...off,
      recipients: [OWNER],
      sends_mail: true,
      is_set: false,
    });
    expect((await owner.get(of("alerts"))).body).toEqual({ data: [], next: null });
    expect((await owner.post(of("alerts/test"))).body.error.param).toBe("by_mail");
  });

  test.each([
    ["low_balance", "0"],
    ["low_balance", 5],
    ["budget_percents", [60]],
    ["budget_percents", "80"],
    ["failure_percent", 0],
    ["failure_percent", 101],
    ["failure_percent", 1.5],
    ["by_mail", "yes"],
    ["webhook_url", ""],
    ["webhook_url", "no address"],
    ["webhook_url", "http://169.254.169.254/"],
    ["webhook_url", "ftp://example.com/"],
  ])("a bad %s is refused with its name (%p)", async (field, value) => {
    const refused = await set({ [field]: value });
    expect([refused.status, refused.body.error.param.replace(/\[0\]$/, "")]).toEqual([400, field]);
  });

  test("a budget is reported once at each of its percents: by mail, signed webhook, and history", async () => {
    const { secret } = (await owner.post(of("alerts/webhook-secret"))).body;
    const webhook_url = `${hookOrigin()}/alerts`;
    expect((await set({ budget_percents: [100, 50], by_mail: true, webhook_url })).body).toMatchObject({
      budget_percents: [50, 100],
      webhook_url,
      is_set: true,
    });
    const created = await owner.post(of("keys"), { name: "capped", spend_limit: "0.02" });
    const spend = async () =>
      (await call(router, "POST", "/v1/compat/images/generations", { key: created.body.secret, body: image }))
        .status;
    expect(await spend()).toBe(200);
    await until(() => eventsOf("alert.budget").length === 1, PATIENCE);
    expect(await mails.linkTo(OWNER)).toBe(`${router.baseUrl}/accounts/${router.accountId}/alerts`);
    expect(await spend()).toBe(200);
    await until(() => eventsOf("alert.budget").length === 2, PATIENCE);
    const [half, whole] = eventsOf("alert.budget");
    expect(half.data).toMatchObject({
      kind: "budget",
      account_id: router.accountId,
      key_id: created.body.key.id,
      key_name: "capped",
      percent: 50,
      spent: "0.0100",
      spend_limit: "0.0200",
    });
    expect(whole.data).toMatchObject({ percent: 100, spent: "0.0200" });
    const [message] = messages;
    const {
      "webhook-id": id,
      "webhook-timestamp": sentAt,
      "webhook-signature": signature,
    } = message?.headers ?? {};
    const key = Buffer.from(String(secret).replace("whsec_", ""), "base64");
    const expected = createHmac("sha256", key).update(`${id}.${sentAt}.${message?.text}`).digest("base64");
    expect(String(signature).split(" ")).toContain(`v1,${expected}`);
    await until(async () => (await history()).every(({ mail }) => mail === "sent"), PATIENCE);
    const shown = await history();
    expect(shown.map(({ kind, key_id, webhook }) => [kind, key_id, webhook])).toEqual(
      Array(2).fill(["budget", created.body.key.id, "sent"]),
    );
    expect(shown[1]?.["text"]).toBe('The key "capped" has spent 50 % of its budget: $0.01 of $0.02.');
  });

  test("a low balance and failures are reported to the page alone, where no other way is set", async () => {
    for (let at = 0; at < 20; at += 1) {
      const body = { ...image, model: "sandbox/image-error" };
      expect((await call(router, "POST", "/v1/compat/images/generations", { body })).status).toBe(502);
    }
    await set({ low_balance: "1000000", failure_percent: 50 });
    await until(async () => (await history()).length === 4, PATIENCE);
    const newest = (await history()).slice(0, 2);
    expect(newest.map(({ kind, mail, webhook }) => [kind, mail, webhook])).toEqual([
      ["failure_rate", "none", "none"],
      ["low_balance", "none", "none"],
    ]);
    expect(newest[0]?.["text"]).toMatch(/^20 of the last 2\d requests within an hour have failed/);
  });

  test("the budget of a member is reported as that of a key, with its level and name, by mail and signed webhook", async () => {
    const { secret } = (await owner.post(of("keys"), { name: "of the member" })).body;
    const [member] = (await owner.get(of("members"))).body.data;
    const limit = { spend_limit: "0.02", spend_limit_period: "month" };
    const put = await owner.ask("PATCH", of(`members/${member.person_id}/budget`), { body: limit });
    expect([put.status, put.body.level]).toEqual([200, "member"]);
    await set({ budget_percents: [50], by_mail: true, webhook_url: `${hookOrigin()}/alerts` });
    const spend = await call(router, "POST", "/v1/compat/images/generations", { key: secret, body: image });
    expect(spend.status).toBe(200);
    const ofMember = () => eventsOf("alert.budget").filter(({ data }) => data.level === "member");
    await until(() => ofMember().length === 1, PATIENCE);
    const name = put.body.name;
    expect(ofMember()[0].data).toMatchObject({
      ...{ kind: "budget", account_id: router.accountId, budget_id: member.person_id, budget_name: name },
      ...{ percent: 50, spent: "0.0100", spend_limit: "0.0200" },
      text: `The member "${name}" has spent 50 % of its budget: $0.01 of $0.02.`,
    });
    const reported = async () => (await history()).find(({ text }) => text?.startsWith("The member"));
    await until(async () => (await reported())?.["mail"] === "sent", PATIENCE);
    expect(await reported()).toMatchObject({ kind: "budget", key_id: null, webhook: "sent" });
  });

  test("an admin sends a test; a member below may read the history alone", async () => {
    await set({ webhook_url: `${hookOrigin()}/alerts` });
    expect((await owner.post(of("alerts/test"))).status).toBe(204);
    await until(() => eventsOf("alert.test").length === 1, PATIENCE);
    for (let at = 0; at < 10; at += 1) await owner.post(of("alerts/test"));
    expect((await owner.post(of("alerts/test"))).body.error.code).toBe("too_many_attempts");
  });
});
