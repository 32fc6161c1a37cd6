// The logs page where people click, in a real browser: filters, the search for an id, the drawer, and a long list.
import { until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { fillLogs } from "../bench/log-store.ts";
import { call } from "../e2e/http.ts";
import { ConsoleInBrowser } from "./console-in-browser.ts";

/** Requests of each home. */
const MANY = 400;
const PAGES = 10;

let at: ConsoleInBrowser;
let page: Page;
/** Ids of requests by name. */
const ids: Record<string, string> = {};

beforeAll(async () => {
  at = await ConsoleInBrowser.start();
  const make = async (name: string, path: string, body: object) => {
    const { headers } = await call(at.router, "POST", `/v1/compat/${path}`, { body });
    ids[name] = headers.get("x-request-id") ?? "";
  };
  const hello = { messages: [{ role: "user", content: "Hello" }] };
  await make("text", "chat/completions", { model: "sandbox/chat", stream: true, ...hello });
  await make("failed", "images/generations", { model: "sandbox/image-error", prompt: "A storm" });
  await make("image", "images/generations", { model: "sandbox/image", prompt: "A lighthouse's lamp", n: 2 });
  await until(async () => (await logged("kind=text")).length > 0, { timeoutMs: 300_000 });
});
afterAll(() => at?.stop());
beforeEach(async () => {
  page = await at.open();
  await at.signIn();
});
afterEach(async () => {
  expect(at.troubles).toEqual([]);
  await at.close();
});

const logged = async (query: string): Promise<unknown[]> =>
  (await call(at.router, "GET", `/v1/generations?${query}`)).body.data;
const rows = () => page.locator(".log-row");
const row = (text: string) => rows().filter({ hasText: text });

test("a row names key, provider, latency and cost; chips filter by words, and Clear brings all back", async () => {
  await at.to("logs");
  await row("A lighthouse's lamp").waitFor();
  const cells = await row("A lighthouse's lamp").locator("td").allTextContents();
  expect(cells.slice(3, 6)).toEqual(["openai", "Demo key", "Succeeded"]);
  expect(cells.slice(6)).toEqual([expect.stringMatching(/^[\d.]+ m?s$/), "$0.0200"]);
  await row("Chat")
    .getByText(/\d+ in · \d+ out/)
    .waitFor();
  await row("A storm").getByText("Not charged", { exact: true }).waitFor();

  await page.getByRole("button", { name: "Model", exact: true }).click();
  await page.getByLabel("Search for: Model").fill("sandbox/chat");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await row("A storm").waitFor({ state: "detached" });
  await row("Chat").waitFor();
  expect(await rows().count()).toBe(1);
  expect(new URL(page.url()).searchParams.get("model")).toBe("sandbox/chat");
  await page.getByRole("button", { name: "Remove the filter Model" }).click();
  await row("A storm").waitFor();

  await page.getByRole("button", { name: "Status", exact: true }).click();
  await page.getByRole("menuitem", { name: "Failed" }).click();
  await row("Chat").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Type", exact: true }).click();
  await page.getByRole("menuitem", { name: "Text" }).click();
  await page.getByText("No requests match").waitFor();
  expect(await at.findings("logs, nothing matches")).toEqual([]);
  await page.getByRole("button", { name: "Clear filters" }).last().click();
  await row("Chat").waitFor();

  await page.getByRole("button", { name: "All time" }).click();
  await page.getByRole("button", { name: "Last hour" }).click();
  await page.getByRole("button", { name: "Key", exact: true }).click();
  await page.getByRole("option", { name: "Playground" }).click();
  await page.getByText("No requests match").waitFor();
});

test("an id opens its request; arrows move to the neighbours, Back closes the drawer and keeps the list", async () => {
  await at.to("logs");
  await row("Chat").waitFor();
  await page.getByLabel("Find a request by its ID").fill(`x-request-id: ${ids["image"]}`);
  const drawer = page.getByRole("dialog");
  await drawer.getByText("A lighthouse's lamp").first().waitFor();
  for (const part of ["Timeline", "Cost breakdown", "Attempts", "Parameters"]) {
    await drawer.getByRole("heading", { name: part }).waitFor();
  }
  expect(await at.findings("logs, drawer of an image")).toEqual([]);
  const link = drawer.getByRole("link", { name: "Open in Playground" });
  const search = new URL((await link.getAttribute("href")) ?? "", page.url()).searchParams;
  expect(Object.fromEntries(search)).toMatchObject({
    model: "sandbox/image",
    prompt: "A lighthouse's lamp",
    n: '"2"',
  });

  await page.keyboard.press("ArrowDown");
  await drawer.getByText("A storm").first().waitFor();
  await page.keyboard.press("ArrowDown");
  await drawer.getByText(/^Prompt and answer are not saved/).waitFor();
  await drawer.getByRole("heading", { name: "Tokens" }).waitFor();
  expect(await at.findings("logs, drawer of a text")).toEqual([]);
  await page.goBack();
  await drawer.waitFor({ state: "detached" });
  expect(new URL(page.url()).pathname).toMatch(/\/logs$/);
  await row("Chat").waitFor();
});

test("500 rows are a list of which few are in the page, and the last one is reached by scrolling", async () => {
  const { databaseUrl = "", accountId } = at.router;
  const { id: key } = (await call(at.router, "POST", "/v1/auth/test")).body.api_key;
  await fillLogs(databaseUrl, { accountId, keyId: key }, MANY);
  await at.to("logs");
  await rows().first().waitFor();
  const total = () => page.locator(".log-table").getAttribute("aria-rowcount");
  for (let pages = 1; pages < PAGES; pages += 1) {
    await page.getByRole("button", { name: "Load 50 more" }).click();
    await until(async () => (await total()) === String((pages + 1) * 50 + 1), { timeoutMs: 60_000 });
  }
  expect(await rows().count()).toBeLessThan(80);
  await page.mouse.move(600, 400);
  for (const place of [0.25, 0.5, 0.75, 1]) {
    await page.evaluate(`window.scrollTo(0, document.documentElement.scrollHeight * ${place})`);
    await until(async () => (await onScreen()) > 5, { timeoutMs: 60_000 });
  }
  await page.locator(`.log-row[aria-rowindex="${PAGES * 50 + 1}"]`).waitFor();
  expect(await rows().count()).toBeLessThan(80);
  expect(await at.findings("logs, long")).toEqual([]);
});

/** Rows that a person sees. */
async function onScreen(): Promise<number> {
  return (await page.evaluate(`[...document.querySelectorAll(".log-row")].filter((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return bottom > 0 && top < window.innerHeight;
  }).length`)) as number;
}
