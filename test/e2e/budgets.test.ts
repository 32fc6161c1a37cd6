// Budgets that many keys share, through the whole router: no parallel request overruns one, and a refusal names its level alone.
import type { Role } from "@gr/console-api";
import { ConsoleOperatorService } from "@gr/proto/console";
import { tokenOf } from "@gr/testing/mail-server";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Browser } from "./console-client.ts";
import { type Answer, call } from "./http.ts";
import { serviceOf } from "./operator.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

/** Costs 0.01 USD. */
const image = {
  model: "sandbox/image",
  prompt: "a kite",
  size: "1024x1024",
  response_format: "b64_ephemeral",
};
const chat = { model: "sandbox/chat", messages: [{ role: "user", content: "hi" }], max_tokens: 16 };

describe.each(topologiesByDepth)("budgets (%s)", (topology) => {
  let router: Router;
  let owner: Browser;
  beforeAll(async () => {
    router = await startRouter(topology, { inProcess: true });
    owner = await signedIn("demo@router.localhost");
  });
  afterAll(() => router?.dispose());

  const manage = (method: string, path: string, body?: object) =>
    call(router, method, path, { key: router.managementKey, ...(body && { body }) });
  const mint = async (budget_id: string) =>
    (await manage("POST", "/v1/api-keys", { name: "k", budget_id })).body.key as string;
  const send = (key: string, path = "images/generations", body: object = image) =>
    call(router, "POST", `/v1/compat/${path}`, { key, body });
  const refusalOf = ({ status, body }: Answer) => [status, body.error?.code, body.error?.param];
  async function signedIn(email: string): Promise<Browser> {
    const people = await serviceOf(router.dataDir, "console", ConsoleOperatorService);
    const browser = new Browser(router);
    await browser.post("sign-in/link", { token: tokenOf((await people.createSignInLink({ email })).url) });
    return browser;
  }

  test("keys of a customer share its limit; raised, closed and opened it is in force at once", async () => {
    const { body: budget } = await manage("POST", "/v1/budgets", {
      ...{ name: "Customer 4711", spend_limit: 0.03, spend_limit_period: "month" },
    });
    const change = (body: object) => manage("PATCH", `/v1/budgets/${budget.id}`, body);
    const keys = await Promise.all(Array.from({ length: 5 }, () => mint(budget.id)));
    const answers = await Promise.all(keys.flatMap((key) => [send(key), send(key)]));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    const [key = ""] = keys;
    for (const answer of [
      await send(key),
      await send(key, "chat/completions", { ...chat, max_tokens: 100_000 }),
    ]) {
      expect(refusalOf(answer)).toEqual([402, "spend_limit_exceeded", "budget"]);
      const { message } = answer.body.error;
      expect(message).toMatch(
        /^The limit of the customer's budget above this key .*It resets at .*-01T00:00:00/,
      );
      expect(message).not.toMatch(/4711|0\.03/);
    }
    const { data } = (await manage("GET", "/v1/budgets")).body;
    expect(data.at(-1)).toMatchObject({ id: budget.id, period_spend: "0.0300", period_held: "0.0000" });
    expect((await change({ spend_limit: 0.04 })).status).toBe(200);
    expect((await send(key)).status).toBe(200);
    expect(refusalOf(await send(key))).toEqual([402, "spend_limit_exceeded", "budget"]);
    await change({ spend_limit: null, is_open: false });
    expect(refusalOf(await send(key))).toEqual([402, "budget_closed", "budget"]);
    await change({ is_open: true });
    expect((await send(key)).status).toBe(200);
  });

  test("all levels above a key admit a request, or none counts it", async () => {
    const whole = (await manage("POST", "/v1/budgets", { name: "all", level: "account", spend_limit: 0.01 }))
      .body;
    const parent = { name: "customer", parent_id: whole.id, spend_limit: 1 };
    const customer = (await manage("POST", "/v1/budgets", parent)).body;
    const key = await mint(customer.id);
    expect((await send(key)).status).toBe(200);
    const refused = await send(key);
    expect([...refusalOf(refused), refused.body.error.message]).toEqual([
      ...[402, "spend_limit_exceeded", "budget"],
      expect.stringMatching(
        /^The limit of the account's budget above this key does not allow this request\./,
      ),
    ]);
    const { data } = (await manage("GET", "/v1/budgets")).body;
    expect(data.slice(-2).map((each: { credit_usage: string }) => each.credit_usage)).toEqual([
      "0.0100",
      "0.0100",
    ]);
  });

  describe("of members", () => {
    const of = (path: string) => `accounts/${router.accountId}/${path}`;
    const join = async (email: string, role: Role) => {
      const people = await serviceOf(router.dataDir, "console", ConsoleOperatorService);
      const { personId } = await people.addOperator({ email });
      await people.removeOperator({ email });
      const browser = await signedIn(email);
      const { body: invited } = await owner.post(of("invitations"), { email, role });
      expect((await browser.post("invitations/accept", { token: tokenOf(invited.link) })).status).toBe(200);
      return { browser, personId };
    };
    const newKey = async (browser: Browser) =>
      (await browser.post(of("keys"), { name: "k" })).body as { key: { id: string }; secret: string };
    const set = (browser: Browser, person: string, body: object) =>
      browser.ask("PATCH", of(`members/${person}/budget`), { body });

    test("existing keys and new ones of the member share it, and its use is shown", async () => {
      const { browser, personId } = await join("developer@example.com", "developer");
      const before = await newKey(browser);
      const foreign = await newKey(owner);
      const set3 = await set(owner, personId, { spend_limit: "0.03", spend_limit_period: "day" });
      expect(set3.body).toMatchObject({ level: "member", spend_limit: "0.0300", remaining: "0.0300" });
      const after = await newKey(browser);
      for (const { secret } of [before, after, before]) expect((await send(secret)).status).toBe(200);
      const refused = await send(after.secret);
      expect(refusalOf(refused)).toEqual([402, "spend_limit_exceeded", "budget"]);
      expect(refused.body.error.message).toMatch(/^The limit of the member's budget above this key/);
      expect((await send(foreign.secret)).status).toBe(200);
      const { budgets } = (await browser.get(of("members"))).body;
      expect(budgets).toMatchObject([{ id: personId, period_spend: "0.0300", remaining: "0.0000" }]);
      const { data: keys } = (await browser.get(of("keys"))).body;
      expect(keys.find(({ id }: { id: string }) => id === after.key.id)).toMatchObject({
        ...{ status: "blocked", available: "0.0000", limited_by: "budget", budget: { id: personId } },
      });
      const playground = async (person: Browser) => send((await person.post(of("web-token"))).body.token);
      expect(refusalOf(await playground(browser))).toEqual([402, "spend_limit_exceeded", "budget"]);
      expect((await playground(owner)).status).toBe(200);
      await set(owner, personId, { spend_limit: "0.04", spend_limit_period: "day" });
      expect((await playground(browser)).status).toBe(200);
      expect(refusalOf(await send(before.secret))).toEqual([402, "spend_limit_exceeded", "budget"]);
      expect((await set(owner, personId, { spend_limit: null })).body.spend_limit).toBeNull();
      expect((await send(before.secret)).status).toBe(200);
    });

    test("are set by admins, those of owners by owners, and for members only", async () => {
      const { browser: admin, personId } = await join("admin@example.com", "admin");
      const me = (await owner.get("session")).body.person.id;
      expect((await set(admin, personId, { spend_limit: "5" })).status).toBe(200);
      expect((await set(admin, me, { spend_limit: "5" })).body.error.code).toBe("role_required");
      const nobody = "00000000-0000-4000-8000-000000000000";
      expect((await set(admin, nobody, { spend_limit: "5" })).status).toBe(404);
      for (const [param, body] of [
        ["spend_limit", {}],
        ["spend_limit", { spend_limit: "-1" }],
        ["spend_limit_period", { spend_limit: null, spend_limit_period: "day" }],
      ] as const) {
        expect((await set(owner, personId, body)).body.error.param).toBe(param);
      }
      const { data } = (await owner.get(of("audit?limit=1"))).body;
      expect(data).toMatchObject([{ action: "member.budget_set", subject: personId }]);
    });
  });
});
