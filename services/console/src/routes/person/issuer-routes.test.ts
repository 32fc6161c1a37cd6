// Guarantees of sign-ins at a real issuer, as browsers do them: admitted persons, refused answers, and the browser's
// own challenge. The checks of the issuer's claims are tested beside their code.
import { TestIssuer } from "@gr/testing/test-issuer";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Browser, type ConsoleUnderTest, ORIGIN, startConsole } from "../../test/start-console.ts";

let issuer: TestIssuer;
let served: ConsoleUnderTest;
let owner: Browser;

beforeAll(async () => {
  issuer = await TestIssuer.start(ORIGIN);
  // As after a start of all services together.
  issuer.isDown = true;
  served = await startConsole(issuer.env);
  owner = await served.signedIn("owner@example.com", "owner");
});
beforeEach(() => add("owner", "Owner@Example.com"));
afterAll(async () => {
  await served?.stop();
  await issuer?.close();
});

const of = (path: string) => `accounts/${served.accountId}/${path}`;
const add = (subject: string, email: string, email_verified = true) =>
  void issuer.people.set(subject, { email, email_verified, name: `The ${subject}` });
const begin = async (browser: Browser, subject: string) => {
  const begun = await browser.post("sign-in/oidc");
  expect(begun.status).toBe(200);
  return issuer.walk(begun.body.url, subject);
};
const finish = (browser: Browser, answer: string) => browser.post("sign-in/oidc/finish", { answer });
const signIn = async (subject: string) => {
  const browser = served.browser();
  return { browser, answer: await finish(browser, await begin(browser, subject)) };
};

test("an issuer that is away keeps nothing from starting, and is asked again", async () => {
  const browser = served.browser();
  expect((await browser.get("session")).body).toMatchObject({ person: null, single_sign_on: "Example Inc." });
  const away = await browser.post("sign-in/oidc");
  expect([away.status, away.body.error.code]).toEqual([503, "service_unavailable"]);
  expect(away.body.error.message).toBe("Example Inc. does not answer now; try again in a moment.");
  issuer.isDown = false;
  expect((await browser.post("sign-in/oidc")).status).toBe(200);
});

test("a person who is here comes in as themselves, and the account's log says that they were linked", async () => {
  const { browser, answer } = await signIn("owner");
  expect(answer.body).toMatchObject({
    person: { email: "owner@example.com" },
    accounts: [{ account_id: served.accountId, role: "owner" }],
  });
  for (const name of ["gr_session", "gr_challenge"]) {
    const cookie = answer.headers.getSetCookie().find((line) => line.startsWith(`${name}=`)) ?? "";
    expect(cookie).toMatch(/; HttpOnly/i);
    expect(cookie).toMatch(/; SameSite=Strict/i);
  }
  const [entry] = (await owner.get(of("audit?limit=1"))).body.data;
  expect(entry).toMatchObject({
    action: "identity.linked",
    actor: "owner@example.com",
    detail: { issuer: issuer.url },
  });
  await signIn("owner");
  expect((await owner.get("identities")).body.data).toMatchObject([{ issuer: issuer.url }]);
  await browser.post("sign-out");
  expect(await browser.who()).toBeUndefined();
});

test("whoever was invited comes in and joins; whoever was not stays out, and so does who has proved nothing", async () => {
  const email = "invited@example.com";
  add("guest", email);
  const invited = await owner.post(of("invitations"), { email, role: "developer" });
  const { browser, answer } = await signIn("guest");
  expect(answer.body).toMatchObject({ person: { email, name: "The guest" }, accounts: [] });
  const token = new URL(invited.body.link).hash.replace("#token=", "");
  expect((await browser.post("invitations/accept", { token })).body).toMatchObject({ role: "developer" });

  add("stranger", "stranger@example.com");
  add("unverified", "owner@example.com", false);
  for (const [subject, code] of [
    ["stranger", "sign_up_closed"],
    ["unverified", "email_not_verified"],
  ] as const) {
    const refused = await signIn(subject);
    expect([refused.answer.status, refused.answer.body.error.code]).toEqual([403, code]);
    expect(await refused.browser.who()).toBeUndefined();
  }
});

test("an answer is worth something once, in the browser that has asked for it, and to its question", async () => {
  const browser = served.browser();
  const answer = await begin(browser, "owner");
  const elsewhere = served.browser();
  const stolen = await finish(elsewhere, answer);
  expect([stolen.status, stolen.body.error.code]).toEqual([400, "sign_in_expired"]);
  await elsewhere.post("sign-in/oidc");
  const planted = await finish(elsewhere, answer);
  expect([planted.status, planted.body.error.code]).toEqual([403, "sign_in_refused"]);
  expect(await elsewhere.who()).toBeUndefined();
  const again = served.browser();
  for (const [name, value] of browser.cookies) again.cookies.set(name, value);
  expect((await finish(browser, answer)).status).toBe(200);
  const replayed = await finish(again, answer);
  expect([replayed.status, replayed.body.error.code]).toEqual([400, "sign_in_expired"]);
  expect(await again.who()).toBeUndefined();
});

test("an identity is removed by its person only", async () => {
  const { browser } = await signIn("owner");
  const [{ id }] = (await browser.get("identities")).body.data;
  const other = await served.signedIn("other@example.com");
  await other.ask("DELETE", `identities/${id}`);
  expect((await browser.get("identities")).body.data).toHaveLength(1);
  expect((await browser.ask("DELETE", `identities/${id}`)).status).toBe(204);
  expect((await browser.get("identities")).body.data).toEqual([]);
});
