// The console of a running router in a browser, shared by the tests of the console: opening pages, their errors, their
// pictures.
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ConsoleOperatorService } from "@gr/proto/console";
import { FakeStripe } from "@gr/testing/fake-stripe";
import { type MailServer, startMailServer } from "@gr/testing/mail-server";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { serviceOf } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { openBrowser } from "./browser.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PATIENCE_MS = 180_000;
/** Folder for pictures of each screen and for figures, if a reader wants them. */
const PICTURES = process.env["CONSOLE_PICTURES"];
/** The size of a desk; the narrowest phones that are common. Pictures have the sizes of the design. */
const SIZES =
  PICTURES === undefined
    ? { desk: { width: 1280, height: 860 }, phone: { width: 375, height: 812 } }
    : { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
const SCHEMES = ["light", "dark"] as const;

/** Waits until colours have faded; endless animations continue. */
const UNTIL_STILL = `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
  .then(() => Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().endTime < Infinity).map(({ finished }) => finished)))
  .then(() => undefined)`;

export class ConsoleInBrowser {
  readonly router: Router;
  readonly mails: MailServer;
  readonly stripe: FakeStripe;
  readonly #browser: Browser;
  #context: BrowserContext | undefined;
  #page: Page | undefined;
  /** Errors that the pages threw, and violations of their policy. */
  troubles: string[] = [];

  /** @param env more settings of the router */
  static async start(env: Readonly<Record<string, string>> = {}): Promise<ConsoleInBrowser> {
    const stripe = await FakeStripe.start();
    const mails = await startMailServer();
    const router = await startRouter("all-in-one", {
      sharedPostgres: true,
      env: {
        ...stripe.env,
        CONSOLE_SIGN_UP: "open",
        CONSOLE_CONTACT: "help@example.com",
        CONSOLE_SMTP_URL: mails.url,
        RATE_LIMIT_ANONYMOUS_PER_SECOND: "0",
        RATE_LIMIT_OTHER_PER_SECOND: "0",
        ...env,
      },
    });
    stripe.webhookUrl = `${router.baseUrl}/webhooks/stripe`;
    return new ConsoleInBrowser(router, mails, stripe, await openBrowser());
  }

  private constructor(router: Router, mails: MailServer, stripe: FakeStripe, browser: Browser) {
    this.router = router;
    this.mails = mails;
    this.stripe = stripe;
    this.#browser = browser;
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await this.router.dispose();
    await this.stripe.close();
    await this.mails.close();
  }

  /** Opens a page in a browser without a session. */
  async open(): Promise<Page> {
    this.#context = await this.#browser.newContext({
      baseURL: this.router.baseUrl,
      viewport: SIZES.desk,
      // Moving elements can be neither read nor pictured.
      reducedMotion: "reduce",
    });
    this.#context.setDefaultTimeout(PATIENCE_MS);
    const page = await this.#context.newPage();
    this.#page = page;
    this.troubles = [];
    page.on("pageerror", (error) => this.troubles.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" && !/status of 40[1234]/.test(message.text()))
        this.troubles.push(message.text());
    });
    return page;
  }

  async close(): Promise<void> {
    await this.#context?.close();
  }

  get page(): Page {
    if (this.#page === undefined) throw new Error("No page is open yet");
    return this.#page;
  }

  async signIn(email = "demo@router.localhost"): Promise<void> {
    const { url } = await (await this.people()).createSignInLink({ email });
    const { pathname, hash } = new URL(url);
    await this.page.goto(`${pathname}${hash}`);
    await this.page.waitForURL(/\/(accounts|operator)/);
    await this.page.locator("h1").waitFor();
  }

  people() {
    return serviceOf(this.router.dataDir, "console", ConsoleOperatorService);
  }

  /** @param part after the account's address */
  to(part: string, account = this.router.accountId): Promise<void> {
    return this.goto(`/accounts/${account}/${part}`);
  }

  /** Waits until a page is completely loaded. */
  async goto(path: string): Promise<void> {
    await this.page.goto(path);
    await this.page.locator("h1").waitFor();
    await this.settle();
  }

  async settle(): Promise<void> {
    await this.page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
  }

  /** Checks the page at the size of a desk and of a phone, light and dark. @returns its faults, a line each */
  async findings(name: string): Promise<string[]> {
    const findings: string[] = [];
    for (const [size, viewport] of Object.entries(SIZES)) {
      await this.page.setViewportSize(viewport);
      for (const colorScheme of SCHEMES) {
        await this.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await this.page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
        await this.page.evaluate(UNTIL_STILL);
        const look = `${name}, ${size}, ${colorScheme}`;
        await this.shoot(look);
        const found = [...(await accessibilityOf(this.page)), ...(await overflowOf(this.page))];
        findings.push(...found.map((finding) => `${look}: ${finding}`));
      }
    }
    await this.page.setViewportSize(SIZES.desk);
    await this.page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    return findings;
  }

  async shoot(name: string): Promise<void> {
    const path = await pathFor(name, "png");
    if (path !== undefined) await this.page.screenshot({ path, fullPage: true });
  }

  /** Stores figures beside the pictures. */
  async note(name: string, figures: Readonly<Record<string, number>>): Promise<void> {
    const path = await pathFor(name, "json");
    if (path !== undefined) await writeFile(path, `${JSON.stringify(figures)}\n`);
  }
}

/** @returns undefined if no reader wants pictures */
async function pathFor(name: string, ending: string): Promise<string | undefined> {
  if (PICTURES === undefined) return undefined;
  await mkdir(PICTURES, { recursive: true });
  return join(PICTURES, `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}.${ending}`);
}

/** Rules of WCAG 2.2 up to level AA: each finding counts. Of other rules only serious findings count. */
const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Returns the findings of axe. */
async function accessibilityOf(page: Page): Promise<string[]> {
  // Pages load no script from other hosts; the browser's own evaluation is not bound by that.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
  const rules = { "target-size": { enabled: true } };
  // Only the violations are read, and of those the text of the element.
  return await page.evaluate(
    async ([levels, enabled]) => {
      const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run({
        ...{ rules: enabled, resultTypes: ["violations"], selectors: false },
      });
      return violations
        .filter(({ impact, tags }) => {
          return tags.some((tag) => levels.includes(tag)) || impact === "serious" || impact === "critical";
        })
        .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
    },
    [WCAG, rules] as const,
  );
}

/** A page scrolls down, and never sideways. */
async function overflowOf(page: Page): Promise<string[]> {
  const [wide, seen] = (await page.evaluate(
    "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
  )) as [number, number];
  return wide > seen ? [`${wide} pixels wide, of which ${seen} are seen`] : [];
}

interface Axe {
  run(options: object): Promise<{
    violations: { id: string; impact: string | null; tags: string[]; nodes: { html: string }[] }[];
  }>;
}
