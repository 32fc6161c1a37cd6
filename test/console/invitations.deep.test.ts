// An invitation in a real browser with closed sign-up: from the mailed link to the account. Cases are a new person, a
// person without a session, and a signed-in person.
import { tokenOf } from "@gr/testing/mail-server";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Locator } from "playwright-core";
import { Browser } from "../e2e/console-client.ts";
import { ConsoleInBrowser } from "./console-in-browser.ts";

const PASSWORD = "correct horse battery";
let at: ConsoleInBrowser;
let owner: Browser;

beforeAll(async () => {
  at = await ConsoleInBrowser.start({ CONSOLE_SIGN_UP: "closed" });
  owner = new Browser(at.router);
  const { url } = await (await at.people()).createSignInLink({ email: "demo@router.localhost" });
  await owner.post("sign-in/link", { token: tokenOf(url) });
});
afterAll(() => at?.stop());
beforeEach(async () => {
  await at.open();
});
afterEach(() => at.close());

/** @returns path of the page that the mailed link opens */
async function invite(email: string, account = at.router.accountId): Promise<string> {
  const invited = await owner.post(`accounts/${account}/invitations`, { email, role: "developer" });
  expect(invited.status).toBe(201);
  const { pathname, hash } = new URL(await at.mails.linkTo(email));
  return `${pathname}${hash}`;
}

const inAccount = () => at.page.waitForURL(new RegExp(`/accounts/${at.router.accountId}`));

test("a new person sets a password behind the link and is in the account", async () => {
  await at.page.goto(await invite("new@example.com"));
  await at.page.getByText("demo@router.localhost invites new@example.com to Demo as developer.").waitFor();
  expect(at.page.url()).not.toContain("token=");
  const findings = await at.findings("invitation of a new person");
  await at.page.getByLabel("Name").fill("New");
  await at.page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await at.page.getByRole("button", { name: "Join Demo" }).click();
  await inAccount();
  await at.page.getByText("Balance").waitFor();

  // A member again, without a session.
  const { person } = (await owner.get("session")).body;
  const { data } = (await owner.get(`accounts/${at.router.accountId}/members`)).body;
  const member = data.find(({ person_id }: { person_id: string }) => person_id !== person.id);
  await owner.ask("DELETE", `accounts/${at.router.accountId}/members/${member.person_id}`);
  await at.page.context().clearCookies();
  await at.page.goto(await invite("new@example.com"));
  await at.page.getByText("Sign in as new@example.com to join.").waitFor();
  findings.push(...(await at.findings("invitation of a known person")));
  await at.page.getByRole("link", { name: "Sign in" }).click();
  await at.page.getByLabel("E-mail address").fill("new@example.com");
  await at.page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await at.page.getByRole("button", { name: "Sign in", exact: true }).click();
  await at.page.getByRole("button", { name: "Join Demo" }).click();
  await inAccount();
  expect(findings).toEqual([]);
  expect(at.troubles).toEqual([]);
});

test("a new person has a picture four presses after the invitation", async () => {
  const email = "painter@example.com";
  const link = await invite(email);
  const begun = performance.now();
  let presses = 1;
  const press = async (locator: Locator) => {
    await locator.click();
    presses += 1;
  };
  await at.page.goto(link);
  await at.page.getByLabel("Name").fill("Painter");
  await at.page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await press(at.page.getByRole("button", { name: "Join Demo" }));
  await press(at.page.getByRole("link", { name: "Playground" }));
  await at.page.getByLabel("Prompt").and(at.page.locator("textarea")).fill("a red kite");
  await press(at.page.getByRole("button", { name: /^Generate · \$/ }));
  await at.page
    .getByRole("img", { name: /^a red kite/ })
    .first()
    .waitFor();
  await at.note("walk from an invitation to a picture", {
    presses,
    seconds: (performance.now() - begun) / 1_000,
  });
  expect(presses).toBe(4);
  expect(at.troubles).toEqual([]);
});

test("a waiting invitation is shown after a sign-in by another way", async () => {
  const email = "waiting@example.com";
  await (await at.people()).addOperator({ email });
  await invite(email);
  await at.signIn(email);
  await at.page.getByText("demo@router.localhost invites you to Demo as developer.").waitFor();
  expect(await at.findings("waiting invitation")).toEqual([]);
  await at.page.getByRole("button", { name: "Join Demo" }).click();
  await inAccount();
  await at.page.getByText("Balance").waitFor();
  expect(await at.page.getByText(/invites you/).count()).toBe(0);
  expect(at.troubles).toEqual([]);
});

test("a person who is signed in joins with one press", async () => {
  const email = "known@example.com";
  await (await at.people()).addOperator({ email });
  await at.signIn(email);
  await at.page.goto(await invite(email));
  await at.page.getByRole("button", { name: "Join Demo" }).click();
  await inAccount();
  await at.page.getByText("Balance").waitFor();
  expect(at.troubles).toEqual([]);
});

test("an invited person may sign up by the form as well", async () => {
  const email = "by-form@example.com";
  await invite(email);
  await at.goto("/sign-up");
  await at.page.getByText("You need an invitation to sign up here.").waitFor();
  await at.page.getByLabel("E-mail address").fill(email);
  await at.page.getByRole("button", { name: "Sign up" }).click();
  const { pathname, hash } = new URL(await at.mails.linkTo(email));
  await at.page.goto(`${pathname}${hash}`);
  await at.page.getByLabel("Name").fill("By form");
  await at.page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  expect(await at.findings("first password")).toEqual([]);
  await at.page.getByRole("button", { name: "Set the password" }).click();
  await at.page.waitForURL(/\/new-account/);
  expect(at.troubles).toEqual([]);
});
