// Sign-in without a password, in a real browser: at an issuer of another site, and with a passkey of a device that the
// browser imitates. Cookies, policies and dialogs are the browser's own.
import { freePort } from "@gr/testing";
import { TestIssuer } from "@gr/testing/test-issuer";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { ConsoleInBrowser } from "./console-in-browser.ts";

let issuer: TestIssuer;
let at: ConsoleInBrowser;

beforeAll(async () => {
  // Passkeys need a host name; an IP address is not enough.
  const [host, port] = ["localhost", String(await freePort())];
  issuer = await TestIssuer.start(`http://${host}:${port}`);
  at = await ConsoleInBrowser.start({
    ...issuer.env,
    HOST: host,
    PORT: port,
    CONSOLE_SIGN_UP: "closed",
  });
  issuer.people.set("demo", { email: "demo@router.localhost", email_verified: true, name: "Demo" });
  issuer.people.set("stranger", { email: "stranger@example.com", email_verified: true });
});
afterAll(async () => {
  await at?.stop();
  await issuer?.close();
});
beforeEach(async () => {
  await at.open();
});
afterEach(() => at.close());

const atIssuer = () => at.page.getByRole("button", { name: "Sign in with Example Inc." }).click();
const byPasskey = () => at.page.getByRole("button", { name: "Sign in with a passkey" }).click();

test("somebody is led to the issuer and back to where they wanted to go; the address keeps nothing of it", async () => {
  issuer.subject = "demo";
  await at.page.goto(`/accounts/${at.router.accountId}/usage`);
  await at.page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
  const findings = await at.findings("sign-in with more ways in");
  await atIssuer();
  await at.page.waitForURL(/\/usage$/);
  await at.page.getByRole("heading", { level: 1 }).waitFor();
  await at.page.goBack();
  expect(at.page.url()).not.toContain("code=");
  await at.to("person");
  await at.page.getByText(issuer.url).waitFor();
  findings.push(...(await at.findings("person with an identity")));
  await at.page
    .getByRole("region", { name: "Single sign-on" })
    .getByRole("button", { name: "Remove" })
    .click();
  await at.page.getByText("Sign in with Example Inc. once").waitFor();
  expect(findings).toEqual([]);
  expect(at.troubles).toEqual([]);
});

test("whoever is refused reads why on the sign-in page, and may go on there", async () => {
  issuer.subject = "stranger";
  await at.goto("/sign-in");
  await atIssuer();
  await at.page.getByText("Nobody has the address stranger@example.com here").waitFor();
  expect(at.page.url()).toBe(`${at.router.baseUrl}/sign-in/oidc`);
  expect(await at.findings("sign-in refused")).toEqual([]);
  expect(at.troubles).toEqual([]);
});

test("a passkey is added and named, opens a session, and does so no more when it is removed", async () => {
  const device = await at.page.context().newCDPSession(at.page);
  await device.send("WebAuthn.enable");
  await device.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await at.signIn();
  await at.to("person");
  await at.page.getByRole("button", { name: "Add a passkey" }).click();
  await at.page.getByRole("textbox", { name: "Name" }).fill("Laptop");
  const findings = await at.findings("add a passkey");
  await at.page.getByRole("button", { name: "Continue" }).click();
  await at.page.getByText("Laptop, not used yet").waitFor();
  await at.page.getByRole("button", { name: "Rename Laptop" }).click();
  await at.page.getByRole("textbox", { name: "Name" }).fill("Old laptop");
  await at.page.getByRole("button", { name: "Save" }).click();
  await at.page.getByText("Old laptop, not used yet").waitFor();
  findings.push(...(await at.findings("person with a passkey")));

  await at.page.context().clearCookies();
  await at.goto("/sign-in");
  await byPasskey();
  await at.page.waitForURL(/\/accounts\//);
  await at.to("person");
  await at.page.getByRole("button", { name: "Remove Old laptop" }).click();
  await at.page.getByText("You have no passkey.").waitFor();
  await at.page.context().clearCookies();
  await at.goto("/sign-in");
  await byPasskey();
  await at.page.getByText("This passkey opens nothing here").waitFor();
  expect(findings).toEqual([]);
  expect(at.troubles).toEqual([]);
});
