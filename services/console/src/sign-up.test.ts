// Guarantees of sign-up and invitations: an address belongs to the reader of its mail. An earlier stranger gains
// nothing, and no answer reveals which addresses are registered or invited.
import { type MailServer, startMailServer, tokenOf } from "@gr/testing/mail-server";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Browser, type ConsoleUnderTest, startConsole } from "./test/start-console.ts";
import { addUnverified } from "./test/unverified-person-store.ts";

const PASSWORD = "correct horse battery";
const OTHER = "of somebody else";
const name = "Owner";

let mails: MailServer;
beforeAll(async () => {
  mails = await startMailServer();
});
afterAll(() => mails.close());

const signUp = (browser: Browser, email: string) =>
  browser.post("sign-up", { email, password: OTHER, name: "Stranger" });
const signIn = async (browser: Browser, email: string, password: string) =>
  (await browser.post("sign-in", { email, password })).status;
const linkFor = async (email: string) => tokenOf(await mails.linkTo(email));

describe.each(["open", "closed"])("sign-up %s", (setting) => {
  let served: ConsoleUnderTest;
  let owner: Browser;
  beforeAll(async () => {
    served = await startConsole({ CONSOLE_SIGN_UP: setting, CONSOLE_SMTP_URL: mails.url });
    owner = await served.signedIn("owner@example.com", "owner");
  });
  beforeEach(() => served.pool.query("TRUNCATE attempt"));
  afterAll(() => served?.stop());

  const invite = (email: string, role = "admin") =>
    owner.post(`accounts/${served.accountId}/invitations`, { email, role });

  test("the password is the one that is set behind the link, whoever signed up first", async () => {
    const email = "victim@example.com";
    await invite(email);
    const invitation = await linkFor(email);
    const stranger = served.browser();
    await signUp(stranger, email);
    const first = await linkFor(email);
    const victim = served.browser();
    await signUp(victim, email);
    const verified = await victim.post("verify-email", {
      token: await linkFor(email),
      name,
      password: PASSWORD,
    });
    expect([verified.status, verified.body.person]).toMatchObject([200, { email, name }]);
    expect((await victim.post("invitations/accept", { token: invitation })).body.role).toBe("admin");
    expect(await signIn(stranger, email, OTHER)).toBe(401);
    expect(await signIn(served.browser(), email, PASSWORD)).toBe(200);
    const guessed = await stranger.post("verify-email", { token: `${first}x`, name, password: OTHER });
    expect([guessed.status, guessed.body.error.code]).toEqual([400, "invalid_link"]);
  });

  test("a password and a session from before the address was proved are gone with the proof", async () => {
    const email = "earlier@example.com";
    const id = await addUnverified(served.pool, { email, password: OTHER });
    await served.pool.query(
      `INSERT INTO session (id, person_id, token, expires_at, created_at, updated_at)
       VALUES (gen_random_uuid(), $1, 'of a stranger', now() + interval '1 day', now(), now())`,
      [id],
    );
    const early = await served.browser().post("sign-in", { email, password: OTHER });
    expect([early.status, early.body.error.code]).toEqual([403, "email_not_verified"]);
    const person = served.browser();
    await person.post("password-reset", { email });
    await person.post("verify-email", { token: await linkFor(email), name, password: PASSWORD });
    expect(await person.who()).toBe(email);
    expect(await signIn(served.browser(), email, OTHER)).toBe(401);
    expect(await signIn(served.browser(), email, PASSWORD)).toBe(200);
    const { rows } = await served.pool.query("SELECT FROM session WHERE token = 'of a stranger'");
    expect(rows).toEqual([]);
  });

  test("answers are the same for known, invited and unknown addresses, and over the limit of mails", async () => {
    await invite("invited@example.com");
    const answers: unknown[] = [];
    for (const route of ["sign-up", "password-reset"]) {
      for (const email of ["owner@example.com", "invited@example.com", "nobody@example.com"]) {
        for (let asked = 0; asked < 4; asked += 1) {
          const { status, body, headers } = await served.browser().post(route, { email });
          answers.push([status, body, [...headers.keys()].toSorted()]);
        }
      }
    }
    expect(answers[0]).toEqual([202, "", expect.arrayContaining(["content-length"])]);
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  test("who signs up again with a known address may set a new password, and every session ends", async () => {
    const email = "forgetful@example.com";
    const before = await served.signedIn(email);
    await signUp(served.browser(), email);
    const link = await mails.linkTo(email);
    expect(new URL(link).pathname).toBe("/reset-password");
    const reset = { token: tokenOf(link), password: PASSWORD };
    expect((await served.browser().post("password-reset/confirm", reset)).status).toBe(204);
    expect(await before.who()).toBeUndefined();
    expect(await signIn(served.browser(), email, PASSWORD)).toBe(200);
  });

  test("a mailed invitation makes its reader a person and a member in one step, once", async () => {
    const email = "colleague@example.com";
    expect((await invite(email, "developer")).body.link).toBeNull();
    const token = await linkFor(email);
    const browser = served.browser();
    expect((await browser.post("invitations/read", { token })).body).toEqual({
      email,
      account_name: "An account",
      role: "developer",
      invited_by: "owner@example.com",
      is_for_new_person: true,
    });
    const joined = await browser.post("invitations/join", { token, name, password: PASSWORD });
    expect(joined.body).toMatchObject({
      person: { email, name },
      accounts: [{ account_id: served.accountId, role: "developer" }],
    });
    expect(await browser.who()).toBe(email);
    const again = await served.browser().post("invitations/join", { token, name, password: OTHER });
    expect([again.status, again.body.error.code]).toEqual([400, "invalid_link"]);
    expect(await signIn(served.browser(), email, PASSWORD)).toBe(200);
    const [entry] = (await owner.get(`accounts/${served.accountId}/audit?limit=1`)).body.data;
    expect(entry).toMatchObject({ actor: email, action: "member.joined" });
  });

  test("an invitation waits for its person after any sign-in, and is accepted once, by nobody else", async () => {
    const email = "waited-for@example.com";
    const person = await served.signedIn(email);
    expect((await person.get("session")).body.invitations).toEqual([]);
    await invite(email, "developer");
    const { invitations } = (await person.get("session")).body;
    expect(invitations).toEqual([
      {
        ...{ id: expect.any(String), account_name: "An account" },
        ...{ role: "developer", invited_by: "owner@example.com" },
      },
    ]);
    const accept = async (browser: Browser, id: string) => {
      const { status, body } = await browser.post(`invitations/${id}/accept`, {});
      return [status, body.role ?? body.error.code];
    };
    const [{ id }] = invitations;
    const other = await served.signedIn("not-invited@example.com");
    expect((await other.get("session")).body.invitations).toEqual([]);
    expect(await accept(other, id)).toEqual([404, "not_found"]);
    expect(await accept(person, "no-uuid")).toEqual([404, "not_found"]);
    expect(await accept(person, id)).toEqual([200, "developer"]);
    expect(await accept(person, id)).toEqual([404, "not_found"]);
    const { body } = await person.get("session");
    expect(body).toMatchObject({ invitations: [], accounts: [{ account_id: served.accountId }] });
    const [entry] = (await owner.get(`accounts/${served.accountId}/audit?limit=1`)).body.data;
    expect(entry).toMatchObject({ actor: email, action: "member.joined" });
  });

  test("an invitation ends when its person declines it, by nobody else, and the next one follows", async () => {
    const email = "often-invited@example.com";
    const person = await served.signedIn(email);
    await served.pool.query(
      `WITH accounts AS (INSERT INTO account (id, name)
         SELECT gen_random_uuid(), 'Account ' || n FROM generate_series(1, 21) n RETURNING id, name)
       INSERT INTO invitation (id, account_id, email, role, invited_by, token_digest, created_at, expires_at)
         SELECT gen_random_uuid(), id, $1, 'viewer', 'lena@example.com', sha256(id::text::bytea),
           now() + split_part(name, ' ', 2)::int * interval '1 second', now() + interval '1 day' FROM accounts`,
      [email],
    );
    const waiting = async (): Promise<{ id: string; account_name: string }[]> =>
      (await person.get("session")).body.invitations;
    const names = async () => (await waiting()).map(({ account_name }) => account_name);
    const [first] = await waiting();
    expect(await names()).toEqual(Array.from({ length: 20 }, (_, index) => `Account ${index + 1}`));
    const decline = async (browser: Browser, id = "") =>
      (await browser.ask("DELETE", `invitations/${id}`)).status;
    expect(await decline(await served.signedIn("not-asked@example.com"), first?.id)).toBe(404);
    expect(await decline(served.browser(), first?.id)).toBe(401);
    expect(await decline(person, "no-uuid")).toBe(404);
    expect(await decline(person, first?.id)).toBe(204);
    expect(await decline(person, first?.id)).toBe(404);
    expect(await names()).toEqual(Array.from({ length: 20 }, (_, index) => `Account ${index + 2}`));
    const audit = await served.pool.query("SELECT actor, action FROM audit WHERE subject = $1", [first?.id]);
    expect(audit.rows).toEqual([{ actor: email, action: "invitation.declined" }]);
  });

  test("an invitation sets no password of a person whose address is verified", async () => {
    const email = "member-elsewhere@example.com";
    const person = await served.signedIn(email);
    await invite(email, "viewer");
    const token = await linkFor(email);
    expect((await person.post("invitations/read", { token })).body.is_for_new_person).toBe(false);
    const refused = await served.browser().post("invitations/join", { token, name, password: OTHER });
    expect([refused.status, refused.body.error.code]).toEqual([400, "invalid_link"]);
    expect((await person.post("invitations/accept", { token })).body.role).toBe("viewer");
  });

  test("a new invitation replaces the live one of the address, and mails to one address are limited", async () => {
    const email = "often@example.com";
    const tokens: string[] = [];
    for (let sent = 0; sent < 5; sent += 1) {
      expect((await invite(email)).status).toBe(201);
      tokens.push(await linkFor(email));
    }
    const refused = await invite(email);
    expect([refused.status, refused.body.error.code]).toEqual([429, "too_many_attempts"]);
    expect(refused.body.error.message).toBe("Too many mails were sent to this address; try again later.");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const { invitations } = (await owner.get(`accounts/${served.accountId}/members`)).body;
    expect(invitations.filter((one: { email: string }) => one.email === email)).toHaveLength(1);
    const works = [];
    for (const token of tokens) {
      works.push((await served.browser().post("invitations/read", { token })).status);
    }
    expect(works).toEqual([400, 400, 400, 400, 200]);
  });

  test("tables hold no token that works, and links of before they were hashed work until they expire", async () => {
    await signUp(served.browser(), "owner@example.com");
    await invite("digested@example.com");
    await linkFor("digested@example.com");
    await signUp(served.browser(), "digested@example.com");
    const tokens = [await linkFor("owner@example.com"), await linkFor("digested@example.com")];
    const { rows } = await served.pool.query<{ text: string }>(
      "SELECT v::text AS text FROM verification v UNION ALL SELECT i::text FROM invitation i",
    );
    expect(rows.length).toBeGreaterThan(2);
    for (const token of tokens) expect(rows.filter(({ text }) => text.includes(token))).toEqual([]);
    expect(
      rows.filter(({ text }) => /reset-password:|sign-up:|magic-link/.test(text) && !text.includes("{")),
    ).toEqual([]);

    const person = (await owner.get("session")).body.person.id;
    const keep = (token: string, lasts: string) =>
      served.pool.query(
        `INSERT INTO verification (id, identifier, value, expires_at, created_at, updated_at)
         VALUES (gen_random_uuid(), 'reset-password:' || $1, $2, now() + $3::interval, now(), now())`,
        [token, person, lasts],
      );
    await keep("plain", "1 minute");
    await keep("late", "-1 minute");
    const confirm = async (token: string) =>
      (await served.browser().post("password-reset/confirm", { token, password: PASSWORD })).status;
    expect([await confirm("late"), await confirm("plain"), await confirm("plain")]).toEqual([400, 204, 400]);
    owner = await served.signedIn("owner@example.com", "owner");
  });
});

test("without a mail server the inviter has the link, which makes nobody the person of that address", async () => {
  const served = await startConsole();
  try {
    const owner = await served.signedIn("owner@example.com", "owner");
    const email = "elsewhere@example.com";
    const { link } = (await owner.post(`accounts/${served.accountId}/invitations`, { email, role: "viewer" }))
      .body;
    const token = tokenOf(link);
    expect((await owner.post("invitations/read", { token })).body.is_for_new_person).toBe(false);
    const refused = await owner.post("invitations/join", { token, name, password: OTHER });
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      `Sign in, or sign up, as ${email}; then open the link again.`,
    ]);
    const { rows } = await served.pool.query("SELECT FROM person WHERE email = $1", [email]);
    expect(rows).toEqual([]);
    expect((await (await served.signedIn(email)).post("invitations/accept", { token })).status).toBe(200);
  } finally {
    await served.stop();
  }
});
