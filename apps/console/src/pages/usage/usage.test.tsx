// Guarantees of the usage page: figures of a time by group, as chart and table that add up; each part leads to its requests. Filters
// are in the address and in the request, and each state has its words.
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { errorAnswer, type FakeRouter } from "../../test/fake-router.ts";
import { ACCOUNT, closeApp, openApp, routerFor } from "../../test/open-app.tsx";
import { IMAGE, TEXT } from "../../test/sample-models.ts";

const USAGE = `/accounts/${ACCOUNT}/usage`;
const ACTIVITY = `/console/api/accounts/${ACCOUNT}/activity`;
const KEY = "0192f0c1-0000-7000-8000-00000000000a";
const DAY_MS = 86_400_000;
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const dayOf = (ago: number) => new Date(TODAY - ago * DAY_MS).toISOString();

afterEach(closeApp);

const image = {
  ...{ spend: "2.0050", requests: 40, errors: 4, input_tokens: 0, output_tokens: 0 },
  ...{ latency: { median: 6_420, p95: 9_000 }, first_token: null },
};
const text = {
  ...{ spend: "1.0050", requests: 1_200, errors: 0, input_tokens: 1_500_000, output_tokens: 300_000 },
  ...{ latency: { median: 900, p95: 2_100 }, first_token: { median: 410, p95: 800 } },
};
const total = {
  ...{ spend: "3.0100", requests: 1_240, errors: 4, input_tokens: 1_500_000, output_tokens: 300_000 },
  ...{ latency: { median: 950, p95: 8_000 }, first_token: { median: 410, p95: 800 } },
};
const nothing = {
  ...{ spend: "0.0000", requests: 0, errors: 0, input_tokens: 0, output_tokens: 0 },
  ...{ latency: null, first_token: null },
};
const answer = {
  ...{ bucket: "day", from: dayOf(2), to: dayOf(-1), buckets: [dayOf(2), dayOf(1), dayOf(0)], total },
  totals: [{ begins_at: dayOf(2), ...total }],
  groups: [
    { group: IMAGE.id, label: IMAGE.id, ...image },
    { group: TEXT.id, label: TEXT.id, ...text },
  ],
  data: [
    { begins_at: dayOf(2), group: IMAGE.id, ...image },
    { begins_at: dayOf(2), group: TEXT.id, ...text },
  ],
};
const empty = { ...answer, total: nothing, totals: [], groups: [], data: [] };

function usageRouter(activity: () => unknown = () => answer): FakeRouter {
  return routerFor()
    .on("GET /v1/models", () => ({ data: [IMAGE, TEXT] }))
    .on(`GET /console/api/accounts/${ACCOUNT}/keys`, () => ({
      data: [{ id: KEY, name: "Production" }],
      next: null,
    }))
    .on(`GET ${ACTIVITY}`, activity);
}

const searchOf = (link: HTMLElement) =>
  Object.fromEntries(new URL(link.getAttribute("href") ?? "", "http://x").searchParams);
const queryOf = (router: FakeRouter, at: number) =>
  Object.fromEntries(router.callsOf(`GET ${ACTIVITY}`).at(at)?.query ?? []);

test("totals, a chart and a table show the same figures, and the rows add up to the total", async () => {
  usageRouter();
  openApp(USAGE);
  const tiles = within(await screen.findByRole("group", { name: "Measure of the chart" }));
  for (const part of [
    "$3.01",
    "1,240",
    "0.3% of requests",
    "1.8 M",
    "1.5 M in · 300 k out",
    "950 ms",
    "410 ms",
  ])
    tiles.getByText(part);
  const table = within(screen.getByRole("region", { name: "Figures by group" }));
  const row = within((await table.findByRole("link", { name: IMAGE.name })).closest("tr") as HTMLElement);
  // Of the half cents, the first one is rounded up.
  for (const part of ["67%", "$2.01", "40", "$0.0557", "6.42 s", "10%"]) row.getByText(part);
  table.getByText("$1.00");
  table.getByText("$3.01");
  const columns = within(screen.getByRole("list", { name: "Spend per day" })).getAllByRole("listitem");
  expect(columns).toHaveLength(3);
});

test("a column and a row lead to their requests", async () => {
  usageRouter();
  openApp(`${USAGE}?key_id=${KEY}`);
  const chart = within(await screen.findByRole("list", { name: "Spend per day" }));
  const column = chart.getByRole("link", { name: /: \$3\.01$/ });
  const day = dayOf(2).slice(0, 10);
  expect(searchOf(column)).toEqual({ from: day, to: day, key_id: KEY });
  const row = await screen.findByRole("link", { name: TEXT.name });
  expect(searchOf(row)).toEqual({ from: day, to: dayOf(0).slice(0, 10), key_id: KEY, model: TEXT.id });
  fireEvent.click(column.querySelectorAll("i")[1] as HTMLElement);
  await waitFor(() => expect(window.location.pathname).toBe(`/accounts/${ACCOUNT}/logs`));
  expect(window.location.search).toContain(encodeURIComponent(IMAGE.id));
});

test("the arrow keys move between the columns", async () => {
  usageRouter();
  openApp(USAGE);
  const chart = within(await screen.findByRole("list", { name: "Spend per day" }));
  const [first, , last] = chart.getAllByRole("listitem").map((item) => item.firstElementChild as HTMLElement);
  expect([first?.tabIndex, last?.tabIndex]).toEqual([-1, 0]);
  last?.focus();
  fireEvent.keyDown(last as HTMLElement, { key: "Home" });
  expect(document.activeElement).toBe(first);
  fireEvent.keyDown(first as HTMLElement, { key: "ArrowLeft" });
  expect(document.activeElement).toBe(first);
});

test("measure, time, group and filters are in the address and in the request", async () => {
  const router = usageRouter();
  openApp(`${USAGE}?range=24h&group_by=key&model=${encodeURIComponent(IMAGE.id)}`);
  await screen.findByRole("button", { name: /^Latency/ });
  expect(queryOf(router, 0)).toMatchObject({ bucket: "hour", group_by: "key", model: IMAGE.id });
  await screen.findByRole("button", { name: new RegExp(`^Model: ${IMAGE.name}`) });
  fireEvent.click(screen.getByRole("button", { name: /^Latency/ }));
  await screen.findByRole("heading", { name: "Latency per day" });
  expect(window.location.search).toContain("metric=latency");
  fireEvent.click(screen.getByRole("radio", { name: "7 days" }));
  const wanted = { bucket: "day", group_by: "key", model: IMAGE.id };
  await waitFor(() => expect(searchOf(screen.getByRole("link", { name: "CSV" }))).toMatchObject(wanted));
  expect(window.location.search).toContain("range=7d");
  const asked = () => router.callsOf(`GET ${ACTIVITY}`).map(({ query }) => Object.fromEntries(query));
  await waitFor(() => expect(asked()).toContainEqual(expect.objectContaining(wanted)));
});

test("a time without a request leads to the playground; filters without a match can be removed", async () => {
  usageRouter(() => empty);
  openApp(USAGE);
  await screen.findByText("No requests in this time");
  // One is in the menu.
  expect(screen.getAllByRole("link", { name: "Playground" })).toHaveLength(2);
  closeApp();
  usageRouter(() => empty);
  openApp(`${USAGE}?provider=fal`);
  await screen.findByText("No requests match");
  fireEvent.click(screen.getAllByRole("button", { name: "Clear filters" })[0] as HTMLElement);
  await screen.findByText("No requests in this time");
});

test("a failed read says why, and offers another try", async () => {
  let isBroken = true;
  usageRouter(() =>
    isBroken ? errorAnswer(400, "invalid_value", "The range has more than 400 buckets.") : answer,
  );
  openApp(USAGE);
  await screen.findByText("The range has more than 400 buckets.");
  isBroken = false;
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByRole("list", { name: "Spend per day" });
});
