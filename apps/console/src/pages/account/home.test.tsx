// Guarantees of the home page: failures of each kind are in the latest requests and lead to their request. Amounts stand where
// they belong.
import { afterEach, expect, test } from "@jest/globals";
import { screen, within } from "@testing-library/react";
import { ACCOUNT, closeApp, openApp, routerFor } from "../../test/open-app.tsx";

const OF_ACCOUNT = `/console/api/accounts/${ACCOUNT}`;
const FAILED_TEXT = "0192f0c1-0000-7000-8000-0000000000a2";

afterEach(closeApp);

const failedText = {
  ...{ object: "generation", id: FAILED_TEXT, kind: "text", model: "acme/text", status: "failed", cost: 0 },
  ...{ created_at: "2026-11-27T10:00:00.000Z", finished_at: "2026-11-27T10:00:01.000Z", latency: 1_000 },
  ...{ api_key_id: ACCOUNT, error: { message: "The provider failed.", type: "upstream_error" }, request: {} },
  ...{ api: "chat", stream: false, user: null, finish_reason: null, usage: null, unit_prices: null },
  ...{ attempts: [], provider: "acme", price_version: "1", data: [], progress: null },
};

function homeRouter(held = "0.0000", daysLeft: number | null = null) {
  return routerFor()
    .on(`GET ${OF_ACCOUNT}/home`, () => ({
      ...{ balance: "12.3456", held, deposited: "20.0000", days_left: daysLeft },
      spend: { today: "0.0000", last_7_days: "0.0000", last_30_days: "3.0000" },
      first_steps: { has_deposit: true, has_key: true, has_request: true },
    }))
    .on(`GET ${OF_ACCOUNT}/usage`, () => ({
      ...{ from: "2026-11-01", to: "2026-11-27", data: [], is_cut: false },
      total: { requests: 0, spend: "0.0000" },
    }))
    .on(`GET ${OF_ACCOUNT}/requests`, () => ({ data: [failedText], next: null }))
    .on(`GET ${OF_ACCOUNT}/keys`, () => ({ data: [], next: null }));
}

test("a failed text request is listed, and its line leads to it", async () => {
  homeRouter();
  openApp(`/accounts/${ACCOUNT}`);
  const latest = within(await screen.findByRole("region", { name: "Latest requests" }));
  const link = await latest.findByRole("link", { name: "Chat" });
  expect(link.getAttribute("href")).toContain(FAILED_TEXT);
  latest.getByText("Failed");
  latest.getByText("Not charged");
});

test("held credit stands at the balance, and a far end of the balance has no count of days", async () => {
  homeRouter("0.5040", 699_993);
  openApp(`/accounts/${ACCOUNT}`);
  const held = await screen.findByText("$0.5040 of it is held by running requests");
  expect(held.parentElement?.textContent).toContain("Lasts longer than a year");
  expect(document.body.textContent).not.toContain("699993");
});
