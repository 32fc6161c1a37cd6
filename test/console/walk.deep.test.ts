// Every screen of the console in a real browser, against a router that runs: what a new owner does on the first day. No
// page breaks its own policy, throws, or has a serious accessibility finding, at the size of a desk and of a hand, light
// and dark.
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ConsoleOperatorService } from "@gr/proto/console";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { call } from "../e2e/http.ts";
import { serviceOf } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { openBrowser } from "./browser.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PATIENCE_MS = 60_000;
/** A folder for pictures of each screen, for whoever wants to look. */
const PICTURES = process.env["CONSOLE_PICTURES"];

const PAGES = [
  "",
  "keys",
  "credits",
  "usage",
  "logs",
  "logs?view=gallery",
  "playground",
  "team",
  "audit",
  "person",
];
const LOOKS = [
  { name: "desk, light", viewport: { width: 1280, height: 860 }, colorScheme: "light" },
  { name: "hand, dark", viewport: { width: 390, height: 844 }, colorScheme: "dark" },
] as const;

let router: Router;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let troubles: string[];

beforeAll(async () => {
  router = await startRouter("all-in-one", {
    sharedPostgres: true,
    env: { RATE_LIMIT_ANONYMOUS_PER_SECOND: "0" },
  });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await router?.dispose();
});

const open = async (look: { viewport: { width: number; height: number }; colorScheme: "light" | "dark" }) => {
  context = await browser.newContext({ ...look, baseURL: router.baseUrl });
  context.setDefaultTimeout(PATIENCE_MS);
  page = await context.newPage();
  troubles = [];
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 40[123]/.test(message.text()))
      troubles.push(message.text());
  });
};
const signIn = async () => {
  const people = await serviceOf(router.dataDir, "console", ConsoleOperatorService);
  const { url } = await people.createSignInLink({ email: "demo@router.localhost" });
  const { pathname, hash } = new URL(url);
  await page.goto(`${pathname}${hash}`);
  await page.getByText("Balance").waitFor();
};
const to = async (part: string) => {
  await page.goto(`/accounts/${router.accountId}/${part}`);
  await page.locator("h1").waitFor();
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
};
const shoot = async (name: string) => {
  if (PICTURES === undefined) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({
    path: join(PICTURES, `${name.replaceAll(/[^a-z0-9]+/g, "-")}.png`),
    fullPage: true,
  });
};

describe.each(LOOKS)("at $name", (look) => {
  beforeEach(() => open(look));
  afterEach(() => context.close());

  test("every screen can be read, is within its policy, and has no serious accessibility finding", async () => {
    await page.goto("/sign-in");
    await page.getByLabel("E-mail address").waitFor();
    const findings = await findingsOf("sign-in");
    await signIn();
    for (const part of PAGES) {
      await to(part);
      await shoot(`${look.name} ${part || "home"}`);
      findings.push(...(await findingsOf(part)));
    }
    for (const path of ["/models", "/models/sandbox/image"]) {
      await page.goto(path);
      await page.locator("h1").waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      await shoot(`${look.name} ${path}`);
      findings.push(...(await findingsOf(path)));
    }
    expect(findings).toEqual([]);
    expect(troubles).toEqual([]);
  });
});

describe("the first day", () => {
  beforeEach(() => open(LOOKS[0]));
  afterEach(() => context.close());

  test("a key is made, used, capped, switched off, and refused", async () => {
    await signIn();
    await to("keys");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Name").fill("first");
    await page.getByLabel("Spend limit, USD").fill("1.50");
    await page.getByRole("button", { name: "Create" }).click();
    const secret = (await page.getByTestId("copy-field").textContent()) ?? "";
    expect(secret).toMatch(/^gr_live_/);
    await page.getByRole("button", { name: "I have it" }).click();

    await to("");
    const step = page.getByText("Send the first request").locator("xpath=..");
    await step.getByRole("img", { name: "not done yet" }).waitFor();
    const ask = () =>
      call(router, "POST", "/v1/compat/images/generations", {
        key: secret,
        body: { model: "sandbox/image", prompt: "a lighthouse at dawn", size: "1024x1024" },
      });
    expect((await ask()).status).toBe(200);
    // The page asks again by itself, and then has no first steps any more.
    await step.waitFor({ state: "detached" });

    await to("logs?view=gallery");
    const picture = page.getByRole("img", { name: /a lighthouse at dawn/ });
    await picture.waitFor();
    const width = await picture.evaluate(async (element) => {
      const image = element as unknown as { decode(): Promise<void>; naturalWidth: number };
      await image.decode();
      return image.naturalWidth;
    });
    expect(width).toBe(1024);
    await picture.click();
    await page.getByText("Open in the playground").waitFor();
    await shoot("generation");

    await to("keys");
    await page.getByRole("button", { name: "What to do with first" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    await page.getByLabel("Spend limit, USD").fill("0");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("limit used up").waitFor();
    expect((await ask()).status).toBe(402);

    await page.getByLabel("first may be used").click({ force: true });
    await page.getByText("switched off").waitFor();
    expect((await ask()).status).toBe(401);
    expect(troubles).toEqual([]);
  });

  test("the playground makes a picture and writes a text, and says what each cost", async () => {
    await signIn();
    await to("playground?model=sandbox/image&prompt=a+kite");
    await page.getByRole("button", { name: "Make it" }).click();
    await page.getByText(/^Charged \$/).waitFor();
    await page.getByRole("img", { name: /a kite/ }).waitFor();
    await to("playground?model=sandbox/chat");
    await page.getByLabel("Message").fill("Hello #tokens=40");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/· \$0/).waitFor();
    await shoot("playground-text");
    expect(troubles).toEqual([]);
  });

  test("who is not signed in is led to the sign-in page, and back", async () => {
    await page.goto(`/accounts/${router.accountId}/usage`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await page.getByLabel("E-mail address").fill("demo@router.localhost");
    await page.getByLabel("Password", { exact: true }).fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    expect(new URL(page.url()).pathname).toBe("/sign-in");
  });
});

/** Serious findings of axe, one line each. */
async function findingsOf(where: string): Promise<string[]> {
  // Pages take no script from elsewhere; the browser's own evaluation is not bound by that.
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  });
  return found.map((finding) => `${where}: ${finding}`);
}

interface Axe {
  run(): Promise<{
    violations: { id: string; impact: string | null; nodes: { html: string }[] }[];
  }>;
}
