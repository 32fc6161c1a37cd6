// Accounts through the whole router: an account of the command line is the same one in the operator area and for its owner.
import { randomUUID } from "node:crypto";
import { ConsoleOperatorService } from "@gr/proto/console";
import { tokenOf } from "@gr/testing/mail-server";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Browser } from "./console-client.ts";
import { call } from "./http.ts";
import { serviceOf } from "./operator.ts";
import { cliOf } from "./operator-cli.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

const OPERATOR = "operator@example.com";
const chat = { model: "sandbox/chat", max_tokens: 8, messages: [{ role: "user", content: "hi" }] };

describe.each(topologiesByDepth)("accounts (%s)", (topology) => {
  let router: Router;
  let operator: Browser;

  const cli = async (...words: string[]) => {
    const { code, out, err } = await cliOf(router.dataDir)(...words, "--json");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    return JSON.parse(out);
  };
  const signIn = async (link: string) => {
    const browser = new Browser(router);
    await browser.post("sign-in/link", { token: tokenOf(link) });
    return browser;
  };
  const spend = async (apiKey: string) => {
    const answer = await call({ ...router, apiKey }, "POST", "/v1/compat/chat/completions", { body: chat });
    return [answer.status, answer.body.error?.code ?? null];
  };

  beforeAll(async () => {
    router = await startRouter(topology, {
      inProcess: true,
      env: { RATE_LIMIT_ANONYMOUS_PER_SECOND: "0", RATE_LIMIT_OTHER_PER_SECOND: "0" },
    });
    const people = await serviceOf(router.dataDir, "console", ConsoleOperatorService);
    await people.addOperator({ email: OPERATOR });
    operator = await signIn((await people.createSignInLink({ email: OPERATOR })).url);
  });
  afterAll(() => router?.dispose());

  test("one command makes an account with credit, a key that works, and an owner who gets in", async () => {
    const asked = ["--name", "Acme", "--usd", "5", "--key", "first", "--owner", "ada@example.com"];
    const created = await cli("account", "create", ...asked);
    expect(created).toMatchObject({ name: "Acme", deposited: "5.0000" });
    expect(await spend(created.api_key)).toEqual([200, null]);
    const ada = await signIn(created.sign_in_link);
    expect((await ada.get("session")).body).toMatchObject({
      accounts: [{ account_id: created.account_id, account_name: "Acme", role: "owner" }],
    });
    await ada.ask("PATCH", `accounts/${created.account_id}/name`, { body: { name: "Acme Ltd" } });
    expect(await cli("account", "show", "--account", created.account_id)).toMatchObject({ name: "Acme Ltd" });
    await cli("account", "rename", "--account", created.account_id, "--name", "Acme Inc");
    expect((await ada.get("session")).body.accounts).toMatchObject([{ account_name: "Acme Inc" }]);
  });

  test("an account of the command line is listed, found by operators, suspended and resumed", async () => {
    const created = await cli("account", "create", "--name", "Bare", "--usd", "1", "--key", "only");
    const id = created.account_id;
    const { accounts } = await cli("account", "list");
    expect(accounts.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(["Demo", "Bare"]),
    );
    const found = (await operator.get("operator/accounts?text=bare")).body.data;
    expect(found).toMatchObject([{ id, name: "Bare", members: 0 }]);
    await cli("account", "suspend", "--account", id, "--reason", "stolen key");
    expect(await spend(created.api_key)).toEqual([403, "account_suspended"]);
    expect((await operator.get(`operator/accounts/${id}`)).body).toMatchObject({ is_suspended: true });
    await operator.ask("PATCH", `operator/accounts/${id}`, {
      body: { is_suspended: false, reason: "key deleted" },
    });
    expect(await spend(created.api_key)).toEqual([200, null]);
    const audit = (await operator.get(`operator/accounts/${id}/audit`)).body.data;
    expect(audit.map(({ action, detail }: { action: string; detail: object }) => [action, detail])).toEqual([
      ["operator.unsuspended", { reason: "key deleted", by: OPERATOR }],
      ["operator.suspended", { reason: "stolen key" }],
    ]);
    await cli("account", "suspend", "--account", id, "--reason", "again");
    expect(await cli("account", "resume", "--account", id, "--reason", "paid")).toMatchObject({
      is_suspended: false,
    });
    expect(await cli("account", "show", "--account", id)).toMatchObject({ is_suspended: false });
  });

  test("an account that does not exist is refused by each command, with one sentence", async () => {
    const account = ["--account", randomUUID()];
    for (const words of [["show"], ["rename", "--name", "x"], ["suspend", "--reason", "x"]]) {
      const { code, err } = await cliOf(router.dataDir)("account", ...words, ...account, "--json");
      expect(code).toBe(1);
      expect(JSON.parse(err)).toEqual({
        error: { message: expect.stringMatching(/^[^\n]+account with this id/), code: "not_found" },
      });
    }
  });
});
