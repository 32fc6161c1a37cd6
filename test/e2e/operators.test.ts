// The operator area through the whole router. No role of an account grants access to it. An action is executed once and
// has a reason, and its account sees it. A suspended account spends nothing.
import { randomUUID } from "node:crypto";
import { type ConsoleRoute, consoleRoutes, type RouterHealth } from "@gr/console-api";
import { ReleaseReason } from "@gr/proto/billing";
import { ConsoleOperatorService } from "@gr/proto/console";
import { until } from "@gr/testing";
import { tokenOf } from "@gr/testing/mail-server";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Browser } from "./console-client.ts";
import { call } from "./http.ts";
import { billingOf, serviceOf } from "./operator.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

const OPERATOR = "operator@example.com";
const image = { model: "sandbox/image", prompt: "a kite", size: "1024x1024" };

describe.each(topologiesByDepth)("operators (%s)", (topology) => {
  let router: Router;
  let owner: Browser;
  let operator: Browser;

  beforeAll(async () => {
    router = await startRouter(topology, {
      inProcess: true,
      env: {
        RATE_LIMIT_ANONYMOUS_PER_SECOND: "0",
        RATE_LIMIT_OTHER_PER_SECOND: "0",
        CONSOLE_CONTACT: "help@example.com",
      },
    });
    const people = await serviceOf(router.dataDir, "console", ConsoleOperatorService);
    await people.addOperator({ email: OPERATOR });
    await people.addOperator({ email: OPERATOR });
    const signIn = async (email: string) => {
      const browser = new Browser(router);
      await browser.post("sign-in/link", { token: tokenOf((await people.createSignInLink({ email })).url) });
      return browser;
    };
    owner = await signIn("demo@router.localhost");
    operator = await signIn(OPERATOR);
  });
  afterAll(() => router?.dispose());

  const of = (path = "") => `operator/accounts/${router.accountId}${path}`;
  const read = async () => (await operator.get(of())).body;

  test("no role of an account lets anybody in, and nothing but the operators' list lets an operator in", async () => {
    const area = Object.values<ConsoleRoute>(consoleRoutes).filter(({ access }) => access === "operator");
    expect(area.length).toBeGreaterThan(0);
    for (const { method, path } of area) {
      const refused = await owner.ask(method, path.replace(":id", router.accountId), {
        ...(method === "GET" ? {} : { body: {} }),
      });
      expect([refused.status, refused.body.error.code]).toEqual([403, "role_required"]);
    }
    expect((await owner.get("session")).body.is_operator).toBe(false);
    expect((await operator.get("session")).body).toMatchObject({ is_operator: true, accounts: [] });
    expect((await operator.get(`accounts/${router.accountId}/home`)).status).toBe(404);
  });

  test("an account is found by its id, its name and its people, and by nothing else", async () => {
    for (const text of [router.accountId, "deMO", "demo@router"]) {
      const { data } = (await operator.get(`operator/accounts?text=${encodeURIComponent(text)}`)).body;
      expect(data).toMatchObject([{ id: router.accountId, name: "Demo", members: 1 }]);
    }
    expect((await operator.get("operator/accounts?text=nothing%25")).body).toEqual({ data: [], next: null });
    const missing = await operator.get(`operator/accounts/${randomUUID()}`);
    expect([missing.status, missing.body.error.code]).toEqual([404, "not_found"]);
    expect(await read()).toMatchObject({
      is_suspended: false,
      people: [{ email: "demo@router.localhost", role: "owner" }],
    });
  });

  test("health has the attempts and breakers of all processes, and margins have charges beside costs", async () => {
    const chat = (model: string) => ({ model, messages: [{ role: "user", content: "Hello" }] });
    const ask = async (path: string, body: object) =>
      (await call(router, "POST", `/v1/compat/${path}`, { body })).status;
    expect(await ask("images/generations", image)).toBe(200);
    expect(await ask("chat/completions", chat("sandbox/chat"))).toBe(200);
    expect(await ask("chat/completions", chat("sandbox/chat-error"))).toBe(502);
    // Processes report every 10 s.
    const health = async () => (await operator.get("operator/health?range=hour")).body;
    const sum = (body: RouterHealth, end: "delivered" | "failed") =>
      body.providers.reduce((total, provider) => total + provider[end], 0);
    await until(async () => sum(await health(), "delivered") >= 2 && sum(await health(), "failed") >= 1, {
      timeoutMs: 120_000,
    });
    const { processes, providers, states, window_minutes } = await health();
    const services = processes.map(({ service }: { service: string }) => service).toSorted();
    expect([services, window_minutes]).toEqual([["media-generation", "text-proxy"], 5]);
    expect(processes.every(({ is_alive }: { is_alive: boolean }) => is_alive)).toBe(true);
    expect(states).toEqual([]);
    for (const { windows, median_ms } of providers) {
      expect([windows.length, median_ms === null || median_ms > 0]).toEqual([12, true]);
    }
    const { data, total } = (await operator.get("operator/margins?days=1")).body;
    expect(total.charged).toBe((await operator.get("operator/accounts?text=demo")).body.data[0].spend);
    expect(data.map(({ provider }: { provider: string }) => provider)).toContain("openai");
  });

  test("an operator sees the requests, the keys and the ledger of an account", async () => {
    const listOf = async (part: string) => (await operator.get(of(part))).body.data;
    expect((await listOf("/requests")).length).toBeGreaterThan(0);
    expect(await listOf("/keys")).toMatchObject([{ name: expect.any(String), kind: "normal" }]);
    const ledger = await listOf("/ledger");
    expect(ledger.map(({ kind }: { kind: string }) => kind)).toEqual(
      expect.arrayContaining(["charge", "deposit"]),
    );
    const missing = await operator.get(`operator/accounts/${randomUUID()}/ledger`);
    expect([missing.status, missing.body.error.code]).toEqual([404, "not_found"]);
  });

  test("credit is given and taken once for each id, with a reason that the account can read", async () => {
    const before = (await call(router, "GET", "/v1/credits")).body;
    const deposit = { id: randomUUID(), amount: "5", reason: "bank transfer 17" };
    const adjustment = { id: randomUUID(), amount: "-1.5", reason: "double booked" };
    for (let time = 0; time < 2; time += 1) {
      expect((await operator.post(of("/deposits"), deposit)).status).toBe(201);
      expect((await operator.post(of("/adjustments"), adjustment)).status).toBe(201);
    }
    const after = (await call(router, "GET", "/v1/credits")).body;
    const change = (field: string) => (Number(after[field]) - Number(before[field])).toFixed(4);
    expect([change("remaining_credits"), change("total_deposits")]).toEqual(["3.5000", "5.0000"]);
    const { data: lines } = (await owner.get(`accounts/${router.accountId}/ledger?limit=2`)).body;
    expect(lines).toMatchObject([
      { kind: "adjustment", amount: "-1.5000", reason: "double booked" },
      { kind: "deposit", amount: "5.0000", source: "operator: bank transfer 17" },
    ]);
    const { data: audit } = (await owner.get(`accounts/${router.accountId}/audit`)).body;
    expect(audit).toContainEqual(
      expect.objectContaining({
        actor: null,
        action: "operator.deposit",
        detail: expect.objectContaining({ amount: "5.0000", reason: "bank transfer 17", by: OPERATOR }),
      }),
    );
    expect((await operator.get(of("/audit"))).body.data).toEqual(audit);
  });

  test.each([
    ["deposits", { amount: "0" }, "amount"],
    ["deposits", { amount: "-1" }, "amount"],
    ["deposits", { reason: "  " }, "reason"],
    ["deposits", { id: "1" }, "id"],
    ["adjustments", { amount: "0.0000" }, "amount"],
    ["adjustments", { amount: "1.00001" }, "amount"],
    ["adjustments", { reason: undefined }, "reason"],
  ])("of %s with %j nothing is booked, and the field is named", async (path, fields, param) => {
    const before = await read();
    const body = { id: randomUUID(), amount: "1", reason: "a reason", ...fields };
    const refused = await operator.post(of(`/${path}`), body);
    expect([refused.status, refused.body.error.param]).toEqual([400, param]);
    expect(await read()).toEqual(before);
  });

  test("a suspended account spends nothing, by key or in the playground, and reads on", async () => {
    const suspend = (is_suspended: boolean) =>
      operator.ask("PATCH", of(), { body: { is_suspended, reason: "unpaid invoice" } });
    const { token } = (await owner.post(`accounts/${router.accountId}/web-token`)).body;
    const ask = (key: string) => call(router, "POST", "/v1/compat/images/generations", { body: image, key });
    const spend = async (key: string) => (await ask(key)).status;
    expect([await spend(router.apiKey), await spend(token)]).toEqual([200, 200]);
    expect((await suspend(true)).body).toMatchObject({ is_suspended: true });
    const chat = { model: "sandbox/chat", messages: [{ role: "user", content: "Hi" }] };
    const refusals = [
      await ask(router.apiKey),
      await ask(token),
      await call(router, "POST", "/v1/compat/chat/completions", { body: chat }),
    ];
    for (const { status, body } of refusals) {
      expect([status, body.error]).toEqual([403, expect.objectContaining({ code: "account_suspended" })]);
      expect(body.error.message).toMatch(/suspended.*ask the operator/);
    }
    expect((await call(router, "GET", "/v1/credits")).status).toBe(200);
    const standing = async () => (await owner.get(`accounts/${router.accountId}/standing`)).body;
    expect(await standing()).toEqual({
      suspension: { since: expect.any(String), reason: "unpaid invoice", contact: "help@example.com" },
    });
    expect((await suspend(false)).body).toMatchObject({ is_suspended: false });
    expect(await spend(router.apiKey)).toBe(200);
    expect(await standing()).toEqual({ suspension: null });
    const actions = (await operator.get(of("/audit?limit=2"))).body.data;
    expect(actions.map(({ action }: { action: string }) => action)).toEqual([
      "operator.unsuspended",
      "operator.suspended",
    ]);
    expect((await (await billingOf(router.dataDir)).verifyLedger({})).differences).toEqual([]);
  });

  test("who is taken off the list is out at once, with the session that is open", async () => {
    const people = await serviceOf(router.dataDir, "console", ConsoleOperatorService);
    await people.removeOperator({ email: OPERATOR });
    expect((await operator.get(of())).status).toBe(403);
    await people.addOperator({ email: OPERATOR });
    expect((await operator.get(of())).status).toBe(200);
  });

  test("what holds credit is seen, oldest first, what is overdue, and who makes what", async () => {
    expect((await operator.get("operator/requests")).body).toEqual({ data: [], is_cut: false });
    const billing = await billingOf(router.dataDir);
    const { data: keys } = (await owner.get(`accounts/${router.accountId}/keys`)).body;
    const ids = [randomUUID(), randomUUID()];
    const hourMs = 3_600_000;
    // Of a service without a process, so no resolver looks up its outcome.
    const place = (holdId: string, afterMs: number) => ({
      case: "place" as const,
      value: {
        ...{ holdId, accountId: router.accountId, spenderId: keys[0].id, credits: 7n, model: "sandbox/chat" },
        ...{ service: "elsewhere", provider: "slow", upstreamModel: "chat", priceVersion: "v1" },
        deadlineAt: BigInt(Date.now() + afterMs),
      },
    });
    await billing.post({ operations: [{ operation: place(ids[0] ?? "", -hourMs) }] });
    await billing.post({ operations: [{ operation: place(ids[1] ?? "", hourMs) }] });
    const open = (await operator.get("operator/requests")).body.data;
    expect(open).toMatchObject([
      { id: ids[0], account_id: router.accountId, provider: "slow", held: "0.0007", is_overdue: true },
      { id: ids[1], model: "sandbox/chat", attempt: 1, is_overdue: false },
    ]);
    const reason = ReleaseReason.NOT_SENT;
    await billing.post({
      operations: ids.map((holdId) => ({ operation: { case: "release", value: { holdId, reason } } })),
    });
    expect((await operator.get("operator/requests")).body.data).toEqual([]);
    const { body } = await operator.get("operator/providers");
    expect(body.text_import).toEqual({ state: "done", problem: null });
    expect(body.providers.length).toBeGreaterThan(0);
    const texts = body.providers.reduce((sum: number, each: { texts: number }) => sum + each.texts, 0);
    expect(texts).toBeGreaterThan(0);
    const preview = await operator.post("operator/catalogue/preview");
    expect(preview.body).toMatchObject({ added: [], removed: [], repriced: [] });
  });
});
