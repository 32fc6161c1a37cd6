// The console's API through the whole router: sign-in, permissions, and agreement with the ledger.

import { type ConsoleRoute, consoleRoutes, type Role, roles } from "@gr/console-api";
import { creditsOf, formatCredits } from "@gr/money";
import { ConsoleOperatorService } from "@gr/proto/console";
import { until } from "@gr/testing";
import { type MailServer, startMailServer, tokenOf } from "@gr/testing/mail-server";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Browser } from "./console-client.ts";
import { call } from "./http.ts";
import { serviceOf } from "./operator.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

const PASSWORD = "correct horse battery";
const NOBODY = "00000000-0000-4000-8000-000000000000";
const image = { model: "sandbox/image", prompt: "a kite", size: "1024x1024" };

describe.each(topologiesByDepth)("the console (%s)", (topology) => {
  let router: Router;
  let mails: MailServer;
  let owner: Browser;
  /** Of another account. */
  let stranger: Browser;
  let strangersAccount: string;

  beforeAll(async () => {
    mails = await startMailServer();
    const env = {
      CONSOLE_SMTP_URL: mails.url,
      CONSOLE_SIGN_UP: "open",
      RATE_LIMIT_ANONYMOUS_PER_SECOND: "0",
      RATE_LIMIT_OTHER_PER_SECOND: "10000",
    };
    router = await startRouter(topology, { inProcess: true, env });
    owner = new Browser(router);
    await owner.post("sign-in/link", { token: await linkToken("demo@router.localhost") });
    stranger = await signUp("stranger@example.com");
    strangersAccount = (await stranger.post("accounts", { name: "Elsewhere" })).body.account_id;
  });
  afterAll(async () => {
    await router?.dispose();
    await mails?.close();
  });

  const of = (path: string) => `accounts/${router.accountId}/${path}`;
  const linkToken = async (email: string) => {
    const people = await serviceOf(router.dataDir, "console", ConsoleOperatorService);
    return tokenOf((await people.createSignInLink({ email })).url);
  };
  const signUp = async (email: string) => {
    const browser = new Browser(router);
    const asked = await browser.post("sign-up", { email });
    expect([asked.status, asked.body]).toEqual([202, ""]);
    const token = tokenOf(await mails.linkTo(email));
    const verified = await browser.post("verify-email", { token, password: PASSWORD, name: "Somebody" });
    expect([verified.status, verified.body.person.email]).toEqual([200, email]);
    return browser;
  };
  const join = async (email: string, role: Role) => {
    const browser = await signUp(email);
    const invited = await owner.post(of("invitations"), { email, role });
    expect([invited.status, invited.body.link]).toEqual([201, null]);
    const accepted = await browser.post("invitations/accept", { token: tokenOf(await mails.linkTo(email)) });
    expect(accepted.body).toMatchObject({ account_id: router.accountId, role });
    return browser;
  };

  describe("sessions", () => {
    test("calls of a signed-in person count for the person, which no answer names", async () => {
      const answers = [await owner.get("session"), await owner.get("session")];
      // RATE_LIMIT_OTHER_PER_SECOND of two seconds.
      expect(answers[1]?.headers.get("x-ratelimit-limit-requests")).toBe("20000");
      const nobody = await new Browser(router).get("session");
      expect(nobody.headers.get("x-ratelimit-limit-requests")).toBeNull();
      for (const { status, headers } of [...answers, nobody]) {
        expect([status, headers.get("x-signed-in-person")]).toEqual([200, null]);
      }
    });

    test("a sign-in link works once, and its cookie is out of reach for scripts and other sites", async () => {
      const token = await linkToken("demo@router.localhost");
      const browser = new Browser(router);
      const first = await browser.post("sign-in/link", { token });
      expect(first.body).toMatchObject({
        person: { email: "demo@router.localhost" },
        accounts: [{ account_id: router.accountId, account_name: "Demo", role: "owner" }],
      });
      expect(first.headers.get("cache-control")).toBe("no-store");
      const [cookie = ""] = browser.lastCookies;
      for (const flag of ["HttpOnly", "SameSite=Strict", "Path=/"]) {
        expect(cookie.toLowerCase()).toContain(flag.toLowerCase());
      }
      const second = await new Browser(router).post("sign-in/link", { token });
      expect([second.status, second.body.error.code]).toEqual([400, "invalid_link"]);
    });

    test("a password opens a session until it is ended here, or everywhere by a new password", async () => {
      const email = "walker@example.com";
      const here = await signUp(email);
      const there = new Browser(router);
      expect((await there.post("sign-in", { email, password: PASSWORD })).status).toBe(200);
      expect((await here.get("sessions")).body.data).toHaveLength(2);
      await there.post("sign-out");
      expect((await there.get("sessions")).body.error.code).toBe("not_signed_in");
      await here.post("password-reset", { email });
      const token = tokenOf(await mails.linkTo(email));
      const reset = { token, password: "another password" };
      expect((await new Browser(router).post("password-reset/confirm", reset)).status).toBe(204);
      expect((await here.get("sessions")).status).toBe(401);
      expect((await there.post("sign-in", { email, password: PASSWORD })).status).toBe(401);
      expect((await there.post("sign-in", { email, password: "another password" })).status).toBe(200);
      expect((await new Browser(router).post("password-reset/confirm", reset)).body.error.code).toBe(
        "invalid_link",
      );
    });

    test("nobody learns which addresses are known, and who signs up is nobody until the link is used", async () => {
      const known = await new Browser(router).post("sign-up", { email: "demo@router.localhost" });
      const reset = await new Browser(router).post("password-reset", { email: "nobody@example.com" });
      expect([known.status, known.body, reset.status, reset.body]).toEqual([202, "", 202, ""]);
      const browser = new Browser(router);
      await browser.post("sign-up", { email: "late@example.com", password: PASSWORD, name: "Late" });
      const early = await browser.post("sign-in", { email: "late@example.com", password: PASSWORD });
      expect([early.status, early.body.error.code]).toEqual([401, "invalid_credentials"]);
    });

    test("ten wrong passwords close the door for a while, also for the right one", async () => {
      const email = "guessed@example.com";
      await signUp(email);
      const guesser = new Browser(router);
      for (let guess = 0; guess < 10; guess += 1) {
        const wrong = await guesser.post("sign-in", { email, password: `guess number ${guess}` });
        expect([wrong.status, wrong.body.error.code]).toEqual([401, "invalid_credentials"]);
      }
      const closed = await guesser.post("sign-in", { email, password: PASSWORD });
      expect([closed.status, closed.body.error.code]).toEqual([429, "too_many_attempts"]);
      expect(Number(closed.headers.get("retry-after"))).toBeGreaterThan(0);
    });
  });

  describe("every route", () => {
    const table = Object.entries<ConsoleRoute>(consoleRoutes);
    const pathOf = ({ path }: ConsoleRoute, account: string) =>
      path.replace(":account", account).replace(/:\w+/g, NOBODY);
    /** Sends a request that could not be executed: a person without the permission is refused earlier. */
    const tryOut = (browser: Browser, route: ConsoleRoute, account: string, headers = {}) =>
      browser.ask(route.method, pathOf(route, account), { ...(route.body ? { body: {} } : {}), headers });

    test.each(table.filter(([, { method }]) => method !== "GET"))(
      "%s changes nothing for a page of another site",
      async (_name, route) => {
        const sites = [
          { origin: "https://evil.example" },
          { origin: "null" },
          { "sec-fetch-site": "same-site" },
          { "sec-fetch-site": "cross-site" },
        ];
        for (const headers of sites) {
          const refused = await tryOut(owner, route, router.accountId, headers);
          expect([refused.status, refused.body.error.code]).toEqual([403, "cross_site_request"]);
        }
      },
    );

    test.each(table.filter(([, { access }]) => access !== "open"))(
      "%s needs a session",
      async (_name, route) => {
        const refused = await tryOut(new Browser(router), route, router.accountId);
        expect([refused.status, refused.body.error.code]).toEqual([401, "not_signed_in"]);
        const forged = new Browser(router);
        for (const [name, value] of owner.cookies) forged.cookies.set(name, `${value.slice(0, -4)}AAAA`);
        expect((await tryOut(forged, route, router.accountId)).status).toBe(401);
      },
    );

    const ofAccounts = table.filter(([, { path }]) => path.includes(":account/"));
    test.each(ofAccounts)("%s knows no account but one's own", async (_name, route) => {
      for (const account of [router.accountId, NOBODY, "x", "%27"]) {
        const refused = await tryOut(stranger, route, account);
        expect([refused.status, refused.body.error.code]).toEqual([404, "not_found"]);
      }
      expect((await tryOut(owner, route, strangersAccount)).status).toBe(404);
    });

    test("refuses a member whose role is less, and lets nobody be refused whose role is enough", async () => {
      for (const role of roles) {
        const browser = role === "owner" ? owner : await join(`${role}@example.com`, role);
        for (const [name, route] of ofAccounts) {
          const answer = await tryOut(browser, route, router.accountId);
          const isEnough = roles.indexOf(role) >= roles.indexOf(route.access as Role);
          // Members remove themselves, so the least role may call it; other members are not found, or forbidden.
          if (name === "removeMember" && role !== "owner" && role !== "admin")
            expect(answer.status).toBe(403);
          else
            expect([role, name, answer.body?.error?.code === "role_required"]).toEqual([
              role,
              name,
              !isEnough,
            ]);
        }
      }
    });
  });

  describe("members", () => {
    test("an owner always stays, and only owners make owners", async () => {
      const admin = await join("second-admin@example.com", "admin");
      const me = (await owner.get("session")).body.person.id;
      const change = (browser: Browser, person: string, role: Role) =>
        browser.ask("PATCH", of(`members/${person}`), { body: { role } });
      expect((await change(owner, me, "admin")).body.error.code).toBe("last_owner");
      expect((await owner.ask("DELETE", of(`members/${me}`))).body.error.code).toBe("last_owner");
      expect((await change(admin, me, "viewer")).body.error.code).toBe("role_required");
      expect((await admin.post(of("invitations"), { email: "x@example.com", role: "owner" })).status).toBe(
        403,
      );
      const adminId = (await admin.get("session")).body.person.id;
      expect((await change(admin, adminId, "owner")).status).toBe(403);
      expect((await change(owner, adminId, "developer")).body).toMatchObject({ role: "developer" });
      expect((await admin.ask("DELETE", of(`members/${adminId}`))).status).toBe(204);
      expect((await admin.get(of("home"))).status).toBe(404);
      const { data } = (await owner.get(of("audit?limit=2"))).body;
      expect(data.map(({ action }: { action: string }) => action)).toEqual([
        "member.left",
        "member.role_changed",
      ]);
    });

    test("a person without an account joins by the mailed invitation alone", async () => {
      const email = "new-colleague@example.com";
      await owner.post(of("invitations"), { email, role: "developer" });
      const token = tokenOf(await mails.linkTo(email));
      const browser = new Browser(router);
      expect((await browser.post("invitations/read", { token })).body).toMatchObject({
        email,
        role: "developer",
        is_for_new_person: true,
      });
      const joined = await browser.post("invitations/join", { token, name: "New", password: PASSWORD });
      expect(joined.body).toMatchObject({
        person: { email },
        accounts: [{ account_id: router.accountId, role: "developer" }],
      });
      expect((await browser.get(of("home"))).status).toBe(200);
    });

    test("an invitation is for one address, and can be withdrawn", async () => {
      await owner.post(of("invitations"), { email: "invited@example.com", role: "viewer" });
      const token = tokenOf(await mails.linkTo("invited@example.com"));
      expect((await stranger.post("invitations/accept", { token })).body.error.code).toBe("invalid_link");
      const { invitations } = (await owner.get(of("members"))).body;
      const found = invitations.find(({ email }: { email: string }) => email === "invited@example.com");
      expect(JSON.stringify(invitations)).not.toContain(token);
      expect((await owner.ask("DELETE", of(`invitations/${found.id}`))).status).toBe(204);
      expect((await owner.ask("DELETE", of(`invitations/${found.id}`))).status).toBe(404);
    });
  });

  describe("keys", () => {
    test("a key lives here as it does in the API: created, capped, rotated, disabled, deleted", async () => {
      const created = await owner.post(of("keys"), {
        name: "mine",
        spend_limit: "2.50",
        spend_limit_period: "day",
      });
      expect([created.status, created.body.key.status, created.body.key.spend_limit]).toEqual([
        201,
        "active",
        "2.5000",
      ]);
      const { key, secret } = created.body;
      const works = async (tested: string) =>
        (await call(router, "POST", "/v1/auth/test", { key: tested })).status;
      expect(await works(secret)).toBe(200);
      const change = (body: object) => owner.ask("PATCH", of(`keys/${key.id}`), { body });
      expect((await change({ spend_limit: "0" })).body).toMatchObject({
        status: "blocked",
        limited_by: "key",
      });
      expect((await change({ spend_limit: null })).body).toMatchObject({
        spend_limit: null,
        spend_limit_period: null,
        limited_by: "balance",
      });
      expect((await change({ spend_limit_period: "week" })).body.error.param).toBe("spend_limit_period");
      expect((await change({ spend_limit: "-1" })).body.error.param).toBe("spend_limit");
      expect((await change({ is_active: false })).body.status).toBe("disabled");
      expect(await works(secret)).toBe(401);
      expect((await change({ is_active: true })).body.status).toBe("active");
      const rotated = await owner.post(of(`keys/${key.id}/rotate`), { overlap_hours: 0 });
      expect([rotated.status, rotated.body.key.id]).toEqual([201, key.id]);
      expect([await works(secret), await works(rotated.body.secret)]).toEqual([401, 200]);
      const overlapping = await owner.post(of(`keys/${key.id}/rotate`), {});
      expect([await works(rotated.body.secret), await works(overlapping.body.secret)]).toEqual([200, 200]);
      expect(overlapping.body.key.former_secret.hint).toBe(rotated.body.key.hint);
      expect((await owner.ask("DELETE", of(`keys/${key.id}`))).status).toBe(204);
      for (const ended of [rotated, overlapping]) expect(await works(ended.body.secret)).toBe(401);
      const listed = JSON.stringify((await owner.get(of("keys"))).body);
      for (const shown of [secret, rotated.body.secret]) expect(listed).not.toContain(shown);
    });

    test("a key has allow-lists, which a rotation keeps, a change replaces, and null removes", async () => {
      const lists = { allowed_models: ["sandbox/chat", "sandbox/image*"], allowed_providers: ["openai"] };
      const created = await owner.post(of("keys"), { name: "bound", ...lists });
      expect([created.status, created.body.key]).toEqual([201, expect.objectContaining(lists)]);
      const rotated = await owner.post(of(`keys/${created.body.key.id}/rotate`), { overlap_hours: 0 });
      expect(rotated.body.key).toMatchObject(lists);
      const change = (body: object) => owner.ask("PATCH", of(`keys/${rotated.body.key.id}`), { body });
      expect((await change({ name: "still bound" })).body).toMatchObject(lists);
      const freed = { ...lists, allowed_models: null };
      expect((await change({ allowed_models: null })).body).toMatchObject(freed);
      for (const allowed_models of [[], ["*/image"], ["no/such-model"]]) {
        expect((await change({ allowed_models })).body.error).toMatchObject({
          code: "invalid_value",
          param: "allowed_models",
        });
      }
      const { key, secret } = (await owner.post(of("keys"), { name: "k", allowed_models: ["sandbox/chat"] }))
        .body;
      const refused = await call(router, "POST", "/v1/compat/images/generations", {
        key: secret,
        body: image,
      });
      expect([refused.status, refused.body.error.code]).toEqual([403, "model_not_allowed"]);
      expect((await owner.ask("DELETE", of(`keys/${key.id}`))).status).toBe(204);
      expect((await owner.ask("DELETE", of(`keys/${rotated.body.key.id}`))).status).toBe(204);
    });

    test("a key of another account is not found, and a management key takes an admin", async () => {
      const foreign = await stranger.post(`accounts/${strangersAccount}/keys`, { name: "theirs" });
      const { id } = foreign.body.key;
      for (const [method, path, body] of [
        ["PATCH", `keys/${id}`, { name: "x" }],
        ["POST", `keys/${id}/rotate`, {}],
        ["DELETE", `keys/${id}`, undefined],
      ] as const) {
        expect((await owner.ask(method, of(path), { body })).status).toBe(404);
      }
      const developer = await join("key-developer@example.com", "developer");
      const management = { name: "minting", kind: "management" };
      expect((await developer.post(of("keys"), management)).body.error.code).toBe("role_required");
      const response = await owner.post(of("keys"), management);
      expect(response.status).toBe(201);
      expect((await developer.ask("DELETE", of(`keys/${response.body.key.id}`))).status).toBe(403);
    });

    test("lists come in pages that have each key once", async () => {
      const all: string[] = [];
      const pages = async (after?: string): Promise<void> => {
        const { body } = await owner.get(of(`keys?limit=1${after === undefined ? "" : `&after=${after}`}`));
        all.push(...body.data.map(({ id }: { id: string }) => id));
        if (body.next !== null) await pages(body.next);
      };
      await pages();
      const { data } = (await owner.get(of("keys?limit=100"))).body;
      expect(all).toEqual(data.map(({ id }: { id: string }) => id));
      expect(new Set(all).size).toBe(all.length);
    });
  });

  test("an admin renames the account, everybody sees it, and the audit log has both names", async () => {
    const admin = await join("renaming-admin@example.com", "admin");
    const developer = await join("renaming-developer@example.com", "developer");
    const rename = (browser: Browser, name: string) => browser.ask("PATCH", of("name"), { body: { name } });
    expect((await rename(developer, "Ours")).body.error.code).toBe("role_required");
    const bad = await rename(admin, " ");
    expect([bad.status, bad.body.error.param]).toEqual([400, "name"]);
    expect((await rename(admin, "Ours")).status).toBe(204);
    expect((await developer.get("session")).body.accounts).toMatchObject([{ account_name: "Ours" }]);
    const [entry] = (await owner.get(of("audit?limit=1"))).body.data;
    expect(entry).toMatchObject({
      actor: "renaming-admin@example.com",
      action: "account.renamed",
      detail: { from: "Demo", to: "Ours" },
    });
    expect((await rename(owner, "Demo")).status).toBe(204);
  });

  test("an admin sets the form of answers without a response_format, and requests of the account follow it", async () => {
    const { body: account } = await stranger.post("accounts", { name: "Pictures" });
    const at = (path: string) => `accounts/${account.account_id}/${path}`;
    const change = (body: object) => stranger.ask("PATCH", at("settings"), { body });
    const wanted = { default_response_format: "b64_json" };
    expect((await stranger.get(at("settings"))).body).toEqual({ default_response_format: null });
    const bad = await change({ default_response_format: "png" });
    expect([bad.status, bad.body.error.param]).toEqual([400, "default_response_format"]);
    expect((await change(wanted)).status).toBe(204);
    expect((await stranger.get(at("settings"))).body).toEqual(wanted);
    const [entry] = (await stranger.get(at("audit?limit=1"))).body.data;
    expect(entry).toMatchObject({
      action: "account.settings_changed",
      detail: { setting: "default_response_format", from: "url", to: "b64_json" },
    });
    const minted = await stranger.ask("POST", at("keys"), { body: { name: "pictures" } });
    const free = { model: "sandbox/image-free", prompt: "a fox" };
    const asked = { key: minted.body.secret, body: free };
    const { body } = await call(router, "POST", "/v1/compat/images/generations", asked);
    expect(Object.keys(body.data[0])).toEqual(["b64_json"]);
  });

  test("a rotated key keeps its default response_format", async () => {
    const body = { name: "base64", default_response_format: "b64_json" };
    const { body: minted } = await call(router, "POST", "/v1/api-keys", { key: router.managementKey, body });
    const rotated = await owner.ask("POST", of(`keys/${minted.id}/rotate`), { body: { overlap_hours: 0 } });
    const { body: keys } = await call(router, "GET", "/v1/api-keys", { key: router.managementKey });
    const copy = keys.data.find(({ id }: { id: string }) => id === rotated.body.key.id);
    expect(copy.default_response_format).toBe("b64_json");
  });

  test("a web token names the person whom it was issued to, by whom Idempotency-Keys are told apart", async () => {
    const developer = await join("tokens@example.com", "developer");
    const personIn = async (browser: Browser) => {
      const [, payload = ""] = (await browser.post(of("web-token"))).body.token.split(".");
      return JSON.parse(Buffer.from(payload, "base64url").toString()).person;
    };
    const people = [await personIn(owner), await personIn(owner), await personIn(developer)];
    expect(people).toEqual([expect.any(String), people[0], expect.any(String)]);
    expect(people[2]).not.toBe(people[0]);
  });

  describe("money", () => {
    test("home, ledger, usage and log say what the requests were charged", async () => {
      const response = await call(router, "POST", "/v1/compat/images/generations", { body: image });
      const { token } = (await owner.post(of("web-token"))).body;
      const played = await call(router, "POST", "/v1/compat/images/generations", { body: image, key: token });
      expect([response.status, played.status]).toEqual([200, 200]);
      const spent = creditsOf(String(response.body.cost)) + creditsOf(String(played.body.cost));

      const credits = (await call(router, "GET", "/v1/credits")).body;
      const home = (await owner.get(of("home"))).body;
      expect(home).toMatchObject({
        balance: credits.remaining_credits,
        deposited: credits.total_deposits,
        first_steps: { has_deposit: true, has_key: true, has_request: true },
      });
      expect(home.spend.today).toBe(credits.credit_usage);
      expect(creditsOf(home.spend.today)).toBe(spent);

      const { data: keys } = (await owner.get(of("keys?limit=100"))).body;
      const used = keys.filter((key: { total_requests: number }) => key.total_requests > 0);
      expect(used).toMatchObject([
        { name: "Demo key", last_used_on: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) },
      ]);

      const { data: lines } = (await owner.get(of("ledger"))).body;
      const sum = lines.reduce((all: bigint, { amount }: { amount: string }) => all + creditsOf(amount), 0n);
      expect(formatCredits(sum)).toBe(credits.remaining_credits);
      expect(lines[0]).toMatchObject({ kind: "charge", key_id: "web_token", model: "sandbox/image" });
      const first = (await owner.get(of("ledger?limit=1"))).body;
      const second = (await owner.get(of(`ledger?limit=1&after=${first.next}`))).body;
      expect([...first.data, ...second.data]).toEqual(lines.slice(0, 2));
      expect((await owner.get(of("ledger?kind=deposit"))).body.data).toHaveLength(1);
      const csv = await owner.get(of("ledger.csv"));
      expect(csv.body.trim().split("\r\n")).toHaveLength(lines.length + 1);

      for (const [group, names] of [
        ["model", ["sandbox/image"]],
        ["key", ["Demo key", "Playground"]],
      ] as const) {
        const { groups, total } = (await owner.get(of(`activity?group_by=${group}`))).body;
        expect(groups.map(({ label }: { label: string }) => label).toSorted()).toEqual([...names].toSorted());
        expect([total.requests, total.spend]).toEqual([2, formatCredits(spent)]);
      }
      const byProvider = (await owner.get(of("activity?group_by=provider"))).body;
      expect(byProvider.data).toMatchObject([
        { begins_at: byProvider.buckets.at(-1), requests: 2, spend: formatCredits(spent) },
      ]);
      expect((await owner.get(of("activity?from=2026-02-30"))).body.error.param).toBe("from");

      const log = (await owner.get(of("requests?limit=1"))).body;
      expect(log.data).toMatchObject([
        {
          id: lines[0].request_id,
          api_key_id: router.accountId,
          status: "succeeded",
          progress: null,
          data: [{ thumbnail_url: expect.stringMatching(/^http.*\.preview\.webp$/) }],
          deleted: false,
          expired: false,
          request: { prompt: "a kite" },
        },
      ]);
      const rest = (await owner.get(of(`requests?after=${log.next}&status=succeeded&kind=image`))).body;
      expect(rest.data.map(({ cost }: { cost: number }) => cost)).toEqual([response.body.cost]);
      const elsewhere = (await stranger.get(`accounts/${strangersAccount}/requests`)).body;
      expect(elsewhere).toEqual({ data: [], next: null });
    });

    test("text requests stand among images in one log, with what they did and cost", async () => {
      const chat = await call(router, "POST", "/v1/compat/chat/completions", {
        body: { model: "sandbox/chat", user: "anna", messages: [{ role: "user", content: "a lighthouse" }] },
      });
      const later = await call(router, "POST", "/v1/compat/images/generations", { body: image });
      const id = chat.headers.get("x-request-id") ?? "";
      const texts = async () => (await owner.get(of("requests?kind=text"))).body.data;
      // Its line is written a moment after its end.
      await until(async () => (await texts()).length > 0, { timeoutMs: 60_000 });
      const all = (await owner.get(of("requests"))).body;
      expect(all).toMatchObject({ data: [{ kind: "image" }, { kind: "text" }, {}, {}], next: null });
      expect([all.data[0].id, all.data[1].id]).toEqual([later.headers.get("x-request-id"), id]);
      expect(all.data[1]).toMatchObject({
        ...{ model: "sandbox/chat", status: "succeeded", api: "chat", stream: false, user: "anna" },
        cost: chat.body.cost,
        usage: { input_tokens: chat.body.usage.prompt_tokens, tool_calls: {} },
        attempts: [{ outcome: "delivered" }],
      });
      const paged: unknown[] = [];
      for (let after: string | null = ""; after !== null; ) {
        const page: { data: unknown[]; next: string | null } = (
          await owner.get(of(`requests?limit=1${after && `&after=${after}`}`))
        ).body;
        paged.push(...page.data);
        after = page.next;
      }
      expect(paged).toEqual(all.data);
      const idsOf = async (query: string) =>
        (await owner.get(of(`requests?${query}`))).body.data.map(({ id: each }: { id: string }) => each);
      const [key, today] = [all.data[1].api_key_id, all.data[1].created_at.slice(0, 10)];
      for (const query of ["kind=text", "model=sandbox/chat", `kind=text&key_id=${key}&status=succeeded`]) {
        expect([query, await idsOf(query)]).toEqual([query, [id]]);
      }
      expect(await idsOf("kind=media")).toHaveLength(3);
      expect(await idsOf(`from=${today}&to=${today}`)).toContain(id);
      for (const query of ["kind=text&status=blocked", "kind=text&key_id=web_token", "to=2020-01-01"]) {
        expect([query, await idsOf(query)]).toEqual([query, []]);
      }
      const sums = (await owner.get(of("requests/summary"))).body;
      const spent = all.data.reduce(
        (sum: bigint, { cost }: { cost: number }) => sum + creditsOf(String(cost)),
        0n,
      );
      expect(sums).toMatchObject({ requests: 4, succeeded: 4, failed: 0, spend: formatCredits(spent) });
      const inBars = sums.bars.reduce((sum: number, bar: { succeeded: number }) => sum + bar.succeeded, 0);
      expect(inBars).toBe(4);
      expect((await owner.get(of("requests/summary?kind=text"))).body.requests).toBe(1);
      const file = ((await owner.get(of("requests.csv?kind=text"))).body as string).split("\r\n");
      expect([file.length, file[0]?.startsWith("id,time,kind"), file[1]?.startsWith(id)]).toEqual([
        3,
        true,
        true,
      ]);
      expect((await owner.get(of("requests/summary?from=x"))).body.error.param).toBe("from");
      expect((await owner.get(of("requests.csv?key_id=x"))).body.error.param).toBe("key_id");
      const { price, unit_prices: prices, ...whole } = (await owner.get(of(`requests/${id}`))).body;
      expect({ ...whole, unit_prices: null }).toEqual(all.data[1]);
      expect(prices).toMatchObject({ input_tokens: "0.0000005" });
      // The API shows the same record.
      const { body: record } = await call(router, "GET", `/v1/generations/${id}`);
      expect(record).toEqual({ ...whole, price, unit_prices: prices });
      expect(price).toMatchObject({
        lines: [
          { unit: "input_tokens", count: String(chat.body.usage.prompt_tokens), unit_price: "0.0000005" },
          { unit: "output_tokens", unit_price: "0.0000015" },
        ],
        adjustments: [{ reason: "rounded_up" }],
        charged: formatCredits(creditsOf(String(chat.body.cost))),
      });
      const bad = await owner.get(of("requests?after=x"));
      expect([bad.status, bad.body.error.param]).toEqual([400, "after"]);
      expect((await stranger.get(`accounts/${strangersAccount}/requests`)).body.data).toEqual([]);
      const strangers = (each: string) => `accounts/${strangersAccount}/requests/${each}`;
      for (const each of [id, all.data[0].id, NOBODY, "x"]) {
        expect((await stranger.get(strangers(each))).status).toBe(404);
        expect((await stranger.ask("DELETE", `${strangers(each)}/media`)).status).toBe(404);
      }
    });

    test("what was made is removed by a developer, its cost stays, and the audit log says who did it", async () => {
      const response = await call(router, "POST", "/v1/compat/images/generations", { body: image });
      const id = response.headers.get("x-request-id") ?? "";
      const [{ url }] = response.body.data;
      const viewer = await join("media-viewer@example.com", "viewer");
      expect((await viewer.ask("DELETE", of(`requests/${id}/media`))).body.error.code).toBe("role_required");
      expect((await fetch(url)).status).toBe(200);
      const developer = await join("media-developer@example.com", "developer");
      const removed = await developer.ask("DELETE", of(`requests/${id}/media`));
      expect([removed.status, removed.body]).toEqual([200, { is_cancelling: false }]);
      expect((await fetch(url)).status).toBe(404);
      expect((await viewer.get(of(`requests/${id}`))).body).toMatchObject({
        ...{ deleted: true, data: [], status: "succeeded" },
        request: { n: 1 },
        price: {
          lines: [{ unit: "image", count: "1" }],
          charged: formatCredits(creditsOf(String(response.body.cost))),
        },
      });
      const [entry] = (await owner.get(of("audit?limit=1"))).body.data;
      expect(entry).toMatchObject({
        actor: "media-developer@example.com",
        action: "media.removed",
        subject: id,
      });
    });
  });

  test("a key saves prompts and answers once it is told to, members find its requests by their creator, and the texts are deleted here", async () => {
    const { key, secret } = (await owner.post(of("keys"), { name: "k", saves_texts: true })).body;
    expect(key.saves_texts).toBe(true);
    const ask = async () => {
      const body = { model: "sandbox/chat", messages: [{ role: "user", content: "a kite" }] };
      const answer = await call(router, "POST", "/v1/compat/chat/completions", { key: secret, body });
      return answer.headers.get("x-request-id") ?? "";
    };
    const [first, second] = [await ask(), await ask()];
    const read = async (id: string) => (await owner.get(of(`requests/${id}/text`))).body.text;
    await until(async () => (await read(second)) !== null, { timeoutMs: 60_000 });
    expect((await read(first)).prompt.messages[0].content).toBe("a kite");
    const { person } = (await owner.get("session")).body;
    const idsOf = async (filter: string) =>
      (await owner.get(of(`requests?${filter}`))).body.data.map((each: { id: string }) => each.id);
    expect(await idsOf(`member=${person.id}&kind=text`)).toEqual([second, first]);
    expect(await idsOf(`member=${NOBODY}`)).toEqual([]);
    expect(await idsOf("provider=nowhere")).toEqual([]);
    const { provider } = (await owner.get(of(`requests/${first}`))).body;
    expect(await idsOf(`provider=${provider}&member=${person.id}&limit=1`)).toEqual([second]);
    const { body: use } = await owner.get(of("saved-texts"));
    expect(use).toMatchObject({ days: 30, entries: 2, most_bytes: 256 * 1024 * 1024 });
    const remove = async (path: string) => (await owner.ask("DELETE", of(path))).body;
    expect(await remove(`requests/${first}/text`)).toEqual({ deleted: 1 });
    expect([await read(first), (await read(second)).id]).toEqual([null, second]);
    expect(await remove(`keys/${key.id}/saved-texts`)).toEqual({ deleted: 1 });
    expect(await remove("saved-texts")).toEqual({ deleted: 0 });
    const [entry] = (await owner.get(of("audit?limit=1"))).body.data;
    expect(entry).toMatchObject({ action: "saved_texts.deleted", detail: { deleted: "0" } });
    const change = { body: { saves_texts: false } };
    expect((await owner.ask("PATCH", of(`keys/${key.id}`), change)).body.saves_texts).toBe(false);
  });
});
