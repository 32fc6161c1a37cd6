// Guarantees of passkeys, with a simulated authenticator: a signature opens a session for its person, once, here,
// and for no other person.
import { TestAuthenticator } from "@gr/testing/test-authenticator";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { consoleConfig } from "../../config.ts";
import { createPasskeys } from "../../sign-in/passkeys.ts";
import { type Browser, type ConsoleUnderTest, ORIGIN, startConsole } from "../../test/start-console.ts";

let served: ConsoleUnderTest;
let owner: Browser;
beforeAll(async () => {
  served = await startConsole();
  owner = await served.signedIn("owner@example.com", "owner");
});
afterAll(() => served?.stop());

const add = async (browser: Browser, name = "phone") => {
  const authenticator = new TestAuthenticator(ORIGIN);
  const { options } = (await browser.post("passkeys/begin")).body;
  const added = await browser.post("passkeys", { name, passkey: authenticator.create(options) });
  return { authenticator, added, id: added.body.id as string };
};
const begin = async (browser: Browser) => (await browser.post("sign-in/passkey")).body.options;
const finish = (browser: Browser, passkey: object) => browser.post("sign-in/passkey/finish", { passkey });
const names = async (browser: Browser) =>
  (await browser.get("passkeys")).body.data.map(({ name }: { name: string }) => name);
const actions = async (limit: number) => {
  const { data } = (await owner.get(`accounts/${served.accountId}/audit?limit=${limit}`)).body;
  return data.map(({ action }: { action: string }) => action);
};

test("is added, named, opens a session, and is removed; the account's log has it", async () => {
  const { authenticator, added, id } = await add(owner);
  expect([added.status, added.body]).toMatchObject([201, { name: "phone", last_used_at: null }]);
  expect((await owner.ask("PATCH", `passkeys/${id}`, { name: "old phone" })).body.name).toBe("old phone");
  const browser = served.browser();
  const signedIn = await finish(browser, authenticator.get(await begin(browser)));
  expect(signedIn.body).toMatchObject({
    person: { email: "owner@example.com" },
    accounts: [{ account_id: served.accountId }],
  });
  expect((await owner.get("passkeys")).body.data[0].last_used_at).not.toBeNull();
  expect((await owner.ask("DELETE", `passkeys/${id}`)).status).toBe(204);
  const late = served.browser();
  const refused = await finish(late, authenticator.get(await begin(late)));
  expect([refused.status, refused.body.error.code]).toEqual([403, "sign_in_refused"]);
  expect(await late.who()).toBeUndefined();
  expect(await actions(3)).toEqual(["passkey.removed", "passkey.renamed", "passkey.added"]);
});

test("what was signed counts once, in the browser that has asked, and to its question", async () => {
  const { authenticator } = await add(owner, "once");
  const browser = served.browser();
  const asked = await begin(browser);
  const cookies = new Map(browser.cookies);
  const answer = authenticator.get(asked);
  const expired = [400, "sign_in_expired"];
  const elsewhere = await finish(served.browser(), answer);
  expect([elsewhere.status, elsewhere.body.error.code]).toEqual(expired);
  expect((await finish(browser, answer)).status).toBe(200);
  const again = served.browser();
  for (const [name, value] of cookies) again.cookies.set(name, value);
  const replayed = await finish(again, answer);
  expect([replayed.status, replayed.body.error.code]).toEqual(expired);
  await begin(again);
  const other = await finish(again, answer);
  expect([other.status, other.body.error.code]).toEqual([403, "sign_in_refused"]);
  // A challenge of one kind is invalid for another kind.
  const mixed = await owner.post("sign-in/passkey");
  const credential = new TestAuthenticator(ORIGIN).create({ ...mixed.body.options, user: { id: "AA" } });
  expect((await owner.post("passkeys", { name: "x", passkey: credential })).body.error.code).toBe(
    "sign_in_expired",
  );
});

test("counts only for this address, from somebody whom the device has recognized, and with its own key", async () => {
  const { authenticator } = await add(owner, "careful");
  const forged = new TestAuthenticator(ORIGIN);
  for (const sign of [
    (asked: { challenge: string }) => authenticator.get(asked, { origin: "https://evil.example" }),
    (asked: { challenge: string }) => authenticator.get(asked, { isUnverified: true }),
    (asked: { challenge: string }) => ({
      ...forged.get(asked),
      id: authenticator.id,
      rawId: authenticator.id,
    }),
    () => ({ id: authenticator.id, type: "public-key", response: { clientDataJSON: "" } }),
  ]) {
    const browser = served.browser();
    const refused = await finish(browser, sign(await begin(browser)));
    expect([refused.status, refused.body.error.code]).toEqual([403, "sign_in_refused"]);
    expect(await browser.who()).toBeUndefined();
  }
  const { options } = (await owner.post("passkeys/begin")).body;
  const passkey = new TestAuthenticator(ORIGIN).create(options, { isUnverified: true });
  expect((await owner.post("passkeys", { name: "x", passkey })).body.error.code).toBe("sign_in_refused");
});

test("somebody else's cannot be seen, named, removed, or added as one's own", async () => {
  const { authenticator, id } = await add(owner, "mine");
  const other = await served.signedIn("other@example.com");
  expect(await names(other)).toEqual([]);
  expect((await other.ask("PATCH", `passkeys/${id}`, { name: "theirs" })).status).toBe(404);
  expect((await other.ask("DELETE", `passkeys/${id}`)).status).toBe(404);
  expect((await other.ask("DELETE", "passkeys/x")).status).toBe(404);
  expect(await names(owner)).toContain("mine");
  const { options } = (await other.post("passkeys/begin")).body;
  const stolen = await other.post("passkeys", { name: "x", passkey: authenticator.create(options) });
  expect([stolen.status, stolen.body.error.param]).toEqual([400, "passkey"]);
  // Another person cannot finish the challenge of this one.
  const begun = (await owner.post("passkeys/begin")).body;
  other.cookies.set("gr_challenge", owner.cookies.get("gr_challenge") ?? "");
  const passkey = new TestAuthenticator(ORIGIN).create(begun.options);
  expect((await other.post("passkeys", { name: "x", passkey })).body.error.code).toBe("sign_in_expired");
});

test("is added within an hour after signing in only", async () => {
  const browser = await served.signedIn("idle@example.com");
  served.clock.advance(2 * 3_600_000);
  const refused = await browser.post("passkeys/begin");
  expect([refused.status, refused.body.error.code]).toEqual([403, "session_too_old"]);
});

test.each([
  ["https://console.example", {}, true],
  ["http://localhost:8080", {}, true],
  ["http://127.0.0.1:8080", {}, false],
  ["http://console.example", {}, false],
  ["https://console.example", { CONSOLE_PASSKEYS: "off" as const }, false],
])("at %s with %j there are passkeys: %s", (url, settings, offered) => {
  const env = { DATABASE_URL: "postgres://x@localhost/x", CONSOLE_SECRET: "s".repeat(32), CONSOLE_URL: url };
  expect(createPasskeys(consoleConfig.parse({ ...env, ...settings })) !== undefined).toBe(offered);
});
