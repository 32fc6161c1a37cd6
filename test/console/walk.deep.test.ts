// Usual work with the console, in a real browser, against a running router: a new owner on the first day, and an
// observer of running requests. No page breaks its own policy or throws on the way.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { Browser } from "../e2e/console-client.ts";
import { call } from "../e2e/http.ts";
import { ConsoleInBrowser } from "./console-in-browser.ts";

const PASSWORD = "correct horse battery";

let at: ConsoleInBrowser;
let page: Page;
beforeAll(async () => {
  at = await ConsoleInBrowser.start();
});
afterAll(() => at?.stop());
beforeEach(async () => {
  page = await at.open();
});
afterEach(() => at.close());

describe("the first day", () => {
  test("who signs up pays, makes a key, uses it, caps it, switches it off, and is refused", async () => {
    const account = await signUp("first-day@example.com");
    await page.getByText("Send the first request").waitFor();
    await at.to("credits", account);
    await page.getByLabel("Amount, USD").fill("5");
    await page.getByRole("button", { name: "Continue to payment" }).click();
    await page.getByRole("button", { name: "Pay" }).click();
    await page.getByText("completed").waitFor();
    await at.to("keys", account);
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name").fill("first");
    await page.getByLabel("Spend limit, USD").fill("1.50");
    await page.getByRole("button", { name: "Create" }).click();
    const secret = (await page.getByTestId("copy-field").textContent()) ?? "";
    expect(secret).toMatch(/^gr_live_/);
    expect(await page.getByLabel("curl code", { exact: true }).textContent()).toContain(secret);
    await page.getByText("Waiting for the first request").waitFor();
    // A second Enter does not close the dialog.
    await page.keyboard.press("Enter");
    await page.getByLabel("I have stored the key").check();
    await page.getByRole("button", { name: "Done" }).click();

    await at.to("", account);
    const step = page.getByText("Send the first request").locator("xpath=..");
    await step.getByRole("img", { name: "not done yet" }).waitFor();
    const ask = () =>
      call(at.router, "POST", "/v1/compat/images/generations", {
        key: secret,
        body: { model: "sandbox/image", prompt: "a lighthouse at dawn", size: "1024x1024" },
      });
    expect((await ask()).status).toBe(200);
    // The page polls by itself; the steps stay until the person hides them.
    await step.getByRole("img", { name: "done", exact: true }).waitFor();
    await page.getByRole("button", { name: "Hide" }).click();
    await step.waitFor({ state: "detached" });

    await at.to("logs?view=gallery", account);
    const picture = page.getByRole("img", { name: /a lighthouse at dawn/ });
    await picture.waitFor();
    expect(await picture.evaluate(widthOf)).toBe(1024);
    await picture.click();
    await page.getByText("Open in Playground").waitFor();
    await page.getByText("Cost breakdown").waitFor();
    await at.shoot("generation");
    expect(await at.findings("generation")).toEqual([]);
    await page.getByRole("button", { name: "Delete files and prompt" }).click();
    await page.getByText("Deleted files cannot be restored.").waitFor();
    await at.shoot("delete-media");
    expect(await at.findings("delete media")).toEqual([]);
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Its files and its prompt were deleted.").waitFor();
    await page.getByRole("img", { name: /a lighthouse at dawn/ }).waitFor({ state: "detached" });

    await at.to("keys", account);
    await page.getByRole("button", { name: "Actions for first" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    await page.getByLabel("Spend limit, USD").fill("0");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("limit reached").waitFor();
    expect((await ask()).status).toBe(402);

    await page.getByLabel("first may be used").click({ force: true });
    await page.getByText("switched off").waitFor();
    expect((await ask()).status).toBe(401);
    expect(at.troubles).toEqual([]);
  });

  test("an amount is paid at Stripe, is there, and its line leads to the payment", async () => {
    await at.signIn();
    await at.to("credits");
    await page.getByLabel("Amount, USD").fill("0.5");
    await page.getByRole("button", { name: "Continue to payment" }).click();
    await page.getByText("It must be from 1 to 10000 USD").waitFor();
    await page.getByLabel("Amount, USD").fill("7.77");
    await at.shoot("top-up");
    await page.getByRole("button", { name: "Continue to payment" }).click();
    await page.getByRole("button", { name: "Pay" }).click();
    await page.getByText("completed").waitFor();
    await page.getByRole("link", { name: "Receipt" }).waitFor();
    await at.shoot("payment");
    await at.to("credits");
    const line = page.getByRole("row").filter({ hasText: "$7.77" });
    await line.getByRole("link", { name: "Payment" }).click();
    await page.getByRole("button", { name: "Show all payments" }).waitFor();
    await page.getByRole("cell", { name: "$7.77" }).waitFor();
    expect(at.troubles).toEqual([]);
  });

  test("the playground makes a picture and writes a text, and says what each cost", async () => {
    await at.signIn();
    await at.to("playground?model=sandbox/image&prompt=a+kite");
    const amount = (text: string) => Number(/\$([\d.]+)/.exec(text)?.[1]);
    const button = page.getByRole("button", { name: /^Generate · \$/ });
    const quoted = amount((await button.textContent()) ?? "");
    await button.click();
    const result = page.getByRole("region", { name: "Result" });
    const status = result.getByRole("status").filter({ hasText: /^\$/ });
    expect(amount((await status.textContent()) ?? "")).toBe(quoted);
    await result.getByRole("img", { name: /a kite/ }).waitFor();
    await at.shoot("playground-image");
    await result.getByRole("button", { name: "Enlarge, 1" }).click();
    await page.getByRole("dialog").getByRole("img", { name: "a kite" }).waitFor();
    await page.keyboard.press("Escape");
    // The result becomes the input of an edit, with a painted mask; the draft of images stays as it is.
    await result.getByRole("button", { name: "Edit, 1" }).click();
    const model = page.getByRole("combobox", { name: "Model" });
    await model.click();
    await model.fill("sandbox/image-edit");
    await page.getByRole("option", { name: /sandbox\/image-edit/ }).click();
    await page.getByLabel("Change").fill("at night");
    const mask = page.getByLabel(/^Mask\./);
    await mask.hover({ position: { x: 40, y: 40 } });
    await page.mouse.down();
    await mask.hover({ position: { x: 160, y: 120 } });
    await page.mouse.up();
    await page.getByRole("button", { name: "Undo" }).click();
    await mask.press("Space");
    await page.getByRole("button", { name: "Code" }).click();
    await page.getByLabel("curl code").getByText('mask=@"mask.png"').waitFor();
    await at.shoot("playground-code");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Edit · \$/ }).click();
    await result.getByRole("img", { name: /at night/ }).waitFor();
    await at.shoot("playground-edit");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      result.getByRole("button", { name: "Download, 1" }).click(),
    ]);
    expect(file.suggestedFilename()).toMatch(/^sandbox-image-edit-.*\.webp$/);
    await at.to("playground?tab=image");
    await page.getByLabel("Prompt").and(page.locator("textarea")).waitFor();
    expect(await page.getByLabel("Prompt").inputValue()).toBe("a kite");

    await at.to("playground?model=sandbox/chat");
    await page.getByLabel("Message").fill("Hello #tokens=40");
    await page.getByText(/^up to \$/).waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    const charge = await page.getByTestId("answer-charge").filter({ hasText: "$" }).textContent();
    await at.shoot("playground-text");
    // Its line is written a moment after its end.
    const row = page.getByRole("link", { name: "Chat", exact: true });
    for (let seen = 0; seen === 0; seen = await row.count()) await at.to("logs?kind=text");
    await at.to("logs");
    await row.click();
    await page.getByText(/^Prompt and answer are not saved/).waitFor();
    await page.getByText("Rounded up to $0.0001, once.").waitFor();
    await page
      .getByRole("dialog")
      .getByText(charge ?? "no charge")
      .first()
      .waitFor();
    await at.shoot("text-request");
    expect(await at.findings("text request")).toEqual([]);
    // The conversation is still there.
    await at.to("playground?tab=text");
    await page.getByText("Hello #tokens=40", { exact: true }).waitFor();
    expect(at.troubles).toEqual([]);
  });

  test("a video runs on while its sender is on other pages, and is resumed", async () => {
    await at.signIn();
    await at.to("playground?model=sandbox/video&prompt=Waves+at+noon&seconds=1");
    await page.getByRole("button", { name: /^Generate video · \$/ }).click();
    // From here on the router has the request.
    await page.getByRole("region", { name: "Result" }).getByRole("link", { name: "Details" }).waitFor();
    await at.to("credits");
    await at.to("playground?tab=video");
    const result = page.getByRole("region", { name: "Result" });
    await result.locator("video[aria-label='Waves at noon, 1 of 1']").waitFor();
    await result
      .getByRole("status")
      .filter({ hasText: /^\$0\.\d{4}/ })
      .waitFor();
    await page.getByRole("button", { name: "Waves at noon, succeeded" }).waitFor();
    expect(at.troubles).toEqual([]);
  });

  test("two models answer one prompt side by side", async () => {
    await at.signIn();
    await at.to("playground?tab=compare");
    await page.getByLabel("Prompt").fill("a red kite");
    await page.getByRole("button", { name: /^Run 2 · / }).click();
    const pictures = page.getByRole("img", { name: /^a red kite, by / });
    await pictures.nth(1).waitFor();
    expect(await pictures.count()).toBe(2);
    await at.shoot("playground-compare");
    expect(at.troubles).toEqual([]);
  });

  test("what runs says so, and turns into what came of it while somebody looks", async () => {
    await at.signIn();
    const make = (model: string, prompt: string) =>
      call(at.router, "POST", "/v1/compat/videos/generations", {
        body: { model, prompt, seconds: 1 },
        headers: { prefer: "respond-async" },
      });
    const stuck = await make("sandbox/video-hang", "A stuck film");
    await at.to("logs");
    const row = page.getByRole("row").filter({ hasText: "A stuck film" });
    await row.getByText("running").waitFor();
    await at.to("logs?view=gallery");
    await page.getByRole("button", { name: "A stuck film, running" }).waitFor();
    // From here on no click reaches the page.
    const done = await make("sandbox/video", "A short film");
    expect([stuck.status, done.status]).toEqual([202, 202]);
    await page.locator("video[poster][aria-label='A short film, 1 of 1']").waitFor();
    await at.to("logs");
    const preview = page.getByRole("row").filter({ hasText: "A short film" }).locator("img");
    expect(await preview.evaluate(widthOf)).toBeGreaterThan(0);
    expect(at.troubles).toEqual([]);
  });

  test("a suspended account is told so, why, and whom to ask, until an operator lifts it", async () => {
    const operator = "lifts@example.com";
    await (await at.people()).addOperator({ email: operator });
    const change = async (button: string, reason: string) => {
      await at.open();
      await at.signIn(operator);
      await at.goto(`/operator/accounts/${at.router.accountId}`);
      await at.page.getByRole("button", { name: button }).click();
      await at.page.getByLabel("Reason").fill(reason);
      await at.page.getByRole("dialog").getByRole("button", { name: button }).click();
      await at.page.getByRole("cell", { name: reason }).first().waitFor();
      await at.close();
    };
    await at.close();
    await change("Suspend", "An invoice is not paid");
    page = await at.open();
    await at.signIn();
    const banner = page.getByRole("alert").filter({ hasText: "This account is suspended" });
    await banner.getByText("An invoice is not paid").waitFor();
    await banner.getByRole("link", { name: "help@example.com" }).waitFor();
    expect(await at.findings("suspended, home")).toEqual([]);
    await at.to("playground?model=sandbox/image&prompt=a+kite");
    await page.getByRole("button", { name: /^Generate/ }).click();
    await page.getByText("The operator has suspended this account").first().waitFor();
    await at.shoot("suspended, playground");
    await at.close();
    await change("Lift the suspension", "It was paid");
    page = await at.open();
    await at.signIn();
    await at.to("playground?model=sandbox/image&prompt=a+kite");
    expect(await page.getByText("This account is suspended").count()).toBe(0);
    await page.getByRole("button", { name: /^Generate/ }).click();
    await page
      .getByRole("region", { name: "Result" })
      .getByText(/^\$0\.0100/)
      .waitFor();
    expect(at.troubles).toEqual([]);
  });

  test("a session that ended elsewhere leads to the sign-in page and back; a sign-out ends it on this page", async () => {
    const email = "two-devices@example.com";
    const account = await signUp(email);
    await at.to("keys", account);
    const elsewhere = new Browser(at.router);
    expect((await elsewhere.post("sign-in", { email, password: PASSWORD })).status).toBe(200);
    expect((await elsewhere.ask("DELETE", "sessions")).status).toBe(204);
    await page.getByRole("link", { name: "Team" }).click();
    await page.getByText("Your session has ended. Sign in again to continue.").waitFor();
    expect(await page.getByText("Page not found").count()).toBe(0);
    await page.getByLabel("E-mail address").fill(email);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL(new RegExp(`/accounts/${account}/team$`));
    await page.getByRole("heading", { name: "Team" }).waitFor();

    await page.getByRole("button", { name: "Somebody" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    await page.goto(`/accounts/${account}/keys`);
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    expect(await page.getByText("Your session has ended").count()).toBe(0);
    expect(at.troubles).toEqual([]);
  });

  test("who is not signed in is led to the sign-in page, and back", async () => {
    await page.goto(`/accounts/${at.router.accountId}/usage`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await page.getByLabel("E-mail address").fill("demo@router.localhost");
    await page.getByLabel("Password", { exact: true }).fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    expect(new URL(page.url()).pathname).toBe("/sign-in");
  });
});

/** Signs up with only the address of the router. @returns the opened account */
async function signUp(email: string): Promise<string> {
  await page.goto("/sign-up");
  await page.getByLabel("E-mail address").fill(email);
  await page.getByRole("button", { name: "Sign up" }).click();
  await openLink(await at.mails.linkTo(email));
  await setPassword("Set the password");
  await page.getByLabel("Account name").fill("First day");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("Balance").waitFor();
  return /accounts\/([^/]+)/.exec(page.url())?.[1] ?? "";
}

async function openLink(link: string): Promise<void> {
  const { pathname, hash } = new URL(link);
  await page.goto(`${pathname}${hash}`);
}

/** Fills the form behind a mailed link. */
async function setPassword(button: string): Promise<void> {
  await page.getByLabel("Name").fill("Somebody");
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: button }).click();
}

/** Returns the width of a picture, once the browser has decoded it. */
async function widthOf(element: unknown): Promise<number> {
  const image = element as { decode(): Promise<void>; naturalWidth: number };
  await image.decode();
  return image.naturalWidth;
}
