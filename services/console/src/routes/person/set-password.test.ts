// Guarantees of a first password: a person who has signed in by a link sets one within an hour, once, and it opens a
// session.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type ConsoleUnderTest, startConsole } from "../../test/start-console.ts";

const PASSWORD = "correct horse battery";
let served: ConsoleUnderTest;
beforeAll(async () => {
  served = await startConsole();
});
afterAll(() => served?.stop());

const first = { current_password: null, new_password: PASSWORD };

test("a person without a password sets the first one, and a second one needs the first", async () => {
  const owner = await served.signedIn("owner@example.com", "owner");
  const elsewhere = await served.signedIn("owner@example.com");
  expect((await owner.get("session")).body.has_password).toBe(false);
  expect((await owner.post("password", first)).status).toBe(204);
  expect((await owner.get("session")).body.has_password).toBe(true);
  expect(await elsewhere.who()).toBeUndefined();
  const again = await owner.post("password", { ...first, new_password: "another long password" });
  expect([again.status, again.body.error.code]).toEqual([401, "invalid_credentials"]);
  const browser = served.browser();
  const signedIn = await browser.post("sign-in", { email: "owner@example.com", password: PASSWORD });
  expect([signedIn.status, signedIn.body.has_password]).toEqual([200, true]);
  const { data } = (await owner.get(`accounts/${served.accountId}/audit?limit=1`)).body;
  expect(data[0]).toMatchObject({ action: "password.set", actor: "owner@example.com" });
});

test("an hour after the sign-in, and for a short password, none is set", async () => {
  const late = await served.signedIn("late@example.com", "viewer");
  const short = await late.post("password", { ...first, new_password: "short" });
  expect([short.status, short.body.error.param]).toEqual([400, "new_password"]);
  served.clock.advance(2 * 3_600_000);
  const refused = await late.post("password", first);
  expect([refused.status, refused.body.error.code]).toEqual([403, "session_too_old"]);
  expect((await late.get("session")).body.has_password).toBe(false);
});
