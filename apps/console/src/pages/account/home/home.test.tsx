// Guarantees of the home page: failures of each kind are in the latest requests and lead to their request. Amounts stand where
// they belong, and each matter that needs attention is named once.
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { ACCOUNT, closeApp, openApp, routerFor } from "../../../test/open-app.tsx";
import { IMAGE } from "../../../test/sample-models.ts";

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

const figuresOf = (spend: string) => ({
  ...{ spend, requests: 3, errors: 0, input_tokens: 0, output_tokens: 0 },
  ...{ latency: null, first_token: null },
});
const DAYS = ["2026-11-01T00:00:00.000Z", "2026-11-02T00:00:00.000Z"];
function activityOf(spend: string) {
  return {
    ...{ bucket: "day", from: DAYS[0], to: "2026-11-03T00:00:00.000Z", buckets: DAYS },
    ...{ total: figuresOf(spend), totals: [] },
    groups: [{ group: IMAGE.id, label: IMAGE.id, ...figuresOf(spend) }],
    data: [{ begins_at: DAYS[0], group: IMAGE.id, ...figuresOf(spend) }],
  };
}

let alerts: object[] = [];
let keys: object[] = [];
afterEach(() => {
  [alerts, keys] = [[], []];
});

function homeRouter(held = "0.0000", daysLeft: number | null = null, spend = "0.0000") {
  return routerFor()
    .on(`GET ${OF_ACCOUNT}/home`, () => ({
      ...{ balance: "12.3456", held, deposited: "20.0000", days_left: daysLeft },
      spend: { today: "0.0000", last_7_days: "0.0000", last_30_days: "3.0000" },
      first_steps: { has_deposit: true, has_key: true, has_request: true },
      open_alerts: alerts,
    }))
    .on(`GET ${OF_ACCOUNT}/activity`, () => activityOf(spend))
    .on("GET /v1/models", () => ({ data: [IMAGE] }))
    .on(`GET ${OF_ACCOUNT}/requests`, () => ({ data: [failedText], next: null }))
    .on(`GET ${OF_ACCOUNT}/keys`, () => ({ data: keys, next: null }));
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
  const held = await screen.findByText("$0.5040 held by running requests");
  expect(held.parentElement?.textContent).toContain("Lasts longer than a year");
  expect(document.body.textContent).not.toContain("699993");
});

test("spend, requests and failures of 30 days stand beside those of the 30 days before", async () => {
  const sums = (spend: string, requests: number, errors: number) => ({
    ...activityOf(spend),
    total: { ...figuresOf(spend), requests, errors },
  });
  homeRouter().on(`GET ${OF_ACCOUNT}/activity`, ({ query }) =>
    query.has("to") ? sums("2.0000", 100, 0) : sums("2.5000", 80, 8),
  );
  openApp(`/accounts/${ACCOUNT}`);
  const tile = (name: string) => screen.queryByRole("group", { name })?.textContent;
  await waitFor(() => expect(tile("Spend")).toContain("+25% vs previous"));
  expect(tile("Spend")).toContain("$2.50");
  expect(tile("Spend")).toContain("$0.00 today");
  expect(tile("Requests")).toContain("80−20% vs previous");
  expect(tile("Failed")).toContain("810% of requests");
  const topUp = screen.getAllByRole("link", { name: "Top up" }).map((link) => link.getAttribute("href"));
  expect(new Set(topUp)).toEqual(new Set([`/accounts/${ACCOUNT}/credits`]));
});

test("spend per day is a chart by model, and days without spend have words instead", async () => {
  homeRouter("0.0000", null, "2.0500");
  openApp(`/accounts/${ACCOUNT}`);
  const chart = within(await screen.findByRole("list", { name: "Spend per day" }));
  expect(chart.getAllByRole("listitem")).toHaveLength(DAYS.length);
  const day = chart.getByRole("link", { name: /: \$2\.05$/ });
  expect(day.getAttribute("href")).toContain("from=2026-11-01");
  await within(screen.getByRole("list", { name: "Colours of: Spend per day" })).findByText(IMAGE.name);
  closeApp();
  homeRouter();
  openApp(`/accounts/${ACCOUNT}`);
  await screen.findByText("No spend in the last 30 days");
});

test("the range in the address is that of tiles, chart and its page of usage", async () => {
  const router = homeRouter("0.0000", null, "2.0500");
  openApp(`/accounts/${ACCOUNT}`);
  const range = within(await screen.findByRole("radiogroup", { name: "Time" }));
  expect(range.getAllByRole("radio").map((choice) => (choice as HTMLInputElement).value)).toEqual([
    "24h",
    "7d",
    "30d",
  ]);
  expect(range.getByRole("radio", { name: "30 days" })).toHaveProperty("checked", true);
  fireEvent.click(range.getByRole("radio", { name: "24 h" }));
  await screen.findByRole("heading", { name: "Spend per hour, by model" });
  expect(window.location.search).toBe("?range=24h");
  const asked = () => router.callsOf(`GET ${OF_ACCOUNT}/activity`).map(({ query }) => query);
  await waitFor(() => expect(asked().some((query) => query.get("bucket") === "hour")).toBe(true));
  const from =
    asked()
      .find((query) => query.get("bucket") === "hour")
      ?.get("from") ?? "";
  const hours = (Date.now() - Date.parse(from)) / 3_600_000;
  expect([Math.floor(hours), from.slice(-11)]).toEqual([23, ":00:00.000Z"]);
  expect(screen.getByRole("link", { name: "Open usage" }).getAttribute("href")).toContain("range=24h");
  const tile = screen.getByRole("group", { name: "Requests" });
  expect(tile.textContent).toContain("24 h");
});

const alert = (id: string, kind: string, text: string, key_id: string | null = null) => {
  return { id, kind, text, key_id, at: "2026-11-27T10:00:00.000Z" };
};
const key = (id: string, name: string, spent: string) => ({
  ...{
    id,
    name,
    kind: "normal",
    is_active: true,
    spend_limit: "10.0000",
    period_spend: spent,
    resets_at: null,
  },
});

test("open alerts and budgets near their limit are listed once, counted in the menu, and lead to a remedy", async () => {
  alerts = [
    alert("a1", "top_up_failed", "The automatic top-up of $100.00 failed."),
    alert("a2", "budget", 'The key "CI" has spent 100 % of its budget.', "k1"),
    alert("a3", "failure_rate", "30 of the last 100 requests have failed."),
  ];
  keys = [key("k1", "CI", "10.0000"), key("k2", "Nightly", "9.2000"), key("k3", "Calm", "7.9900")];
  homeRouter();
  openApp(`/accounts/${ACCOUNT}`);
  const block = within(await screen.findByRole("region", { name: "Needs attention" }));
  await block.findByText("Nightly is at 92 %: $9.20 of $10.00.");
  block.getByText("4");
  expect(block.queryByText(/Calm|CI has/)).toBeNull();
  expect(block.getByRole("link", { name: "Check the card" }).getAttribute("href")).toContain("/credits");
  expect(block.getByRole("link", { name: "See failed requests" }).getAttribute("href")).toContain(
    "status=failed",
  );
  expect(block.getAllByRole("link", { name: "Raise the budget" })).toHaveLength(2);
  within(screen.getByRole("link", { name: /^Alerts/ })).getByLabelText("3 open");
  expect(screen.getByRole("link", { name: "Failed only" }).getAttribute("href")).toContain("status=failed");
});

test("without any of them the block says so, and the menu has no count", async () => {
  homeRouter();
  openApp(`/accounts/${ACCOUNT}`);
  await screen.findByText("Nothing needs attention");
  expect(screen.queryByLabelText(/open$/)).toBeNull();
});
