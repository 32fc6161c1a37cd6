// The usage page in a browser: a request is in the chart as soon as it is answered, and a part of the chart leads to it and back.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { call } from "../e2e/http.ts";
import { ConsoleInBrowser } from "./console-in-browser.ts";

let at: ConsoleInBrowser;
beforeAll(async () => {
  at = await ConsoleInBrowser.start();
});
afterAll(() => at?.stop());

test("a request is a part of the chart at its answer; a click opens it in the log, Back returns to the chart", async () => {
  const page = await at.open();
  await at.signIn();
  await at.to("usage?range=24h&group_by=kind");
  await page.getByText("No requests in this time").waitFor();
  const body = { model: "sandbox/image", prompt: "a kite over the sea" };
  expect((await call(at.router, "POST", "/v1/compat/images/generations", { body })).status).toBe(200);
  await at.to("usage?range=24h&group_by=kind");
  const chart = page.getByRole("list", { name: "Spend per hour" });
  await chart.locator("i").first().click();
  await page.waitForURL(/\/logs\?/);
  await page.getByText("a kite over the sea").first().waitFor();
  expect(new URL(page.url()).searchParams.get("kind")).toBe("image");
  await page.goBack();
  await page.getByRole("button", { name: /^Latency/ }).click();
  await page.getByRole("heading", { name: "Latency per hour" }).waitFor();
  await page.getByRole("region", { name: "Figures by group" }).getByText("Images").waitFor();
  expect(at.troubles).toEqual([]);
  await at.close();
});
