// Guarantees of the operator pages: health names its trouble, amounts are exact, a deposit is sent once with a reason.
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { closeApp, openApp, routerFor } from "../../test/open-app.tsx";

afterEach(closeApp);

const ID = "0192f0c1-0000-7000-8000-00000000000a";
const window = (failed: number) => ({ at: "2026-11-27T10:00:00.000Z", delivered: 10, failed, refused: 0 });

test("health names a degraded provider and an open breaker", async () => {
  routerFor("owner", true).on("GET /console/api/operator/health", () => ({
    ...{ from: "2026-11-27T10:00:00.000Z", window_minutes: 5 },
    processes: [{ service: "text-proxy", reported_at: "2026-11-27T10:00:00.000Z", is_alive: true }],
    states: [
      {
        ...{ provider: "slow", model: "slow/m", condition: "open", processes: 2, loss: null },
        ...{ since: "2026-11-27T10:00:00.000Z", until: "2026-11-27T10:01:00.000Z" },
      },
    ],
    providers: [
      {
        name: "good",
        delivered: 999,
        failed: 1,
        refused: 5,
        median_ms: 410,
        p95_ms: 2_300,
        windows: [window(0)],
      },
      {
        name: "slow",
        delivered: 60,
        failed: 40,
        refused: 0,
        median_ms: null,
        p95_ms: null,
        windows: [window(5)],
      },
    ],
    overdue: { requests: 3, held: "1.5120" },
  }));
  openApp("/operator");
  await screen.findByText("slow is degraded");
  screen.getByText(/40 % of its attempts failed: 40 of 100/);
  const good = within(screen.getByRole("row", { name: /good/ }));
  good.getByText("Healthy");
  good.getByText("99.9 %");
  good.getByText("410 ms");
  const breakers = within(screen.getByRole("region", { name: "Routes that are not usual" }));
  breakers.getByText("Open");
  screen.getByText("$1.5120 held");
});

test("a margin below zero has its sign, and exact amounts keep their digits", async () => {
  const sums = {
    charged: "0.0100",
    cost: "0.008000000001",
    losses: "0.5",
    margin: "-0.498000000001",
    entries: 2,
  };
  routerFor("owner", true).on("GET /console/api/operator/margins", () => ({
    ...{ from: "2026-11-21", to: "2026-11-27", total: sums, data: [{ provider: "p", ...sums }] },
  }));
  openApp("/operator/margin");
  const row = within(await screen.findByRole("row", { name: /^p/ }));
  row.getByText("−$0.498000000001");
  row.getByText("$0.008000000001");
});

test("a deposit needs a reason, and is sent with one id", async () => {
  const account = {
    ...{ id: ID, name: "Halden", created_at: "2026-11-01T10:00:00.000Z", members: 1, is_suspended: false },
    ...{ balance: "1.0000", spend: "0.2500", deposited: "2.0000", held: "0.0000", people: [] },
  };
  const router = routerFor("owner", true)
    .on(`GET /console/api/operator/accounts/${ID}`, () => account)
    .on(`GET /console/api/operator/accounts/${ID}/audit`, () => ({ data: [], next: null }))
    .on(`POST /console/api/operator/accounts/${ID}/deposits`, () => account);
  openApp(`/operator/accounts/${ID}`);
  fireEvent.click(await screen.findByRole("button", { name: "Book a deposit" }));
  const dialog = within(await screen.findByRole("dialog"));
  fireEvent.change(dialog.getByLabelText("Amount, USD"), { target: { value: "$12.50" } });
  fireEvent.click(dialog.getByRole("button", { name: "Book a deposit" }));
  await dialog.findByText("It must have at least 3 characters.");
  expect(router.callsOf(`POST /console/api/operator/accounts/${ID}/deposits`)).toEqual([]);
  fireEvent.change(dialog.getByLabelText("Reason"), { target: { value: "Invoice 17" } });
  fireEvent.click(dialog.getByRole("button", { name: "Book a deposit" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  const [sent, ...others] = router.callsOf(`POST /console/api/operator/accounts/${ID}/deposits`);
  expect(others).toEqual([]);
  expect(sent?.body).toMatchObject({
    amount: "12.50",
    reason: "Invoice 17",
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
});

test("a person who is no operator finds no page", async () => {
  routerFor("owner", false);
  openApp("/operator");
  await screen.findByText("Page not found");
});
