// Guarantees of the keys page: a rotated key is one row with one budget, a used-up budget is red, and refusals name no field of the
// API.
import type { BudgetRecord } from "@gr/console-api";
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { errorAnswer } from "../../test/fake-router.ts";
import { ACCOUNT, closeApp, openApp, routerFor } from "../../test/open-app.tsx";
import { sampleKey as key } from "../../test/sample-records.ts";

const KEYS = `/console/api/accounts/${ACCOUNT}/keys`;
const FORMER = { hint: "gr_live_…abcd", ends_at: new Date(Date.now() + 23.5 * 3_600_000).toISOString() };

afterEach(closeApp);

async function openDialog(name: string) {
  fireEvent.click(await screen.findByRole("button", { name: "Actions for Production" }));
  fireEvent.click(await screen.findByRole("menuitem", { name }));
  return within(await screen.findByRole("dialog"));
}

test("a rotation keeps the row and its budget, and the former secret is named with its end", async () => {
  let rows = [key()];
  const router = routerFor()
    .on(`GET ${KEYS}`, () => ({ data: rows, next: null }))
    .on(`POST ${KEYS}/key-1/rotate`, () => {
      rows = [key({ hint: "gr_live_…9999", former_secret: FORMER })];
      return { key: rows[0], secret: "gr_live_new" };
    });
  openApp(`/accounts/${ACCOUNT}/keys`);
  const dialog = await openDialog("Rotate");
  dialog.getByText(/both secrets spend from the same budget/);
  fireEvent.click(dialog.getByRole("button", { name: "Rotate" }));
  await screen.findByText("gr_live_new");
  expect(router.callsOf(`POST ${KEYS}/key-1/rotate`).map(({ body }) => body)).toEqual([
    { overlap_hours: 24 },
  ]);
  fireEvent.click(screen.getByLabelText("I have stored the key"));
  fireEvent.click(screen.getByRole("button", { name: "Done" }));
  await screen.findByText(FORMER.hint);
  screen.getByText(/ends in 23 hours/);
  screen.getByText(/of \$10\.00 total/);
  expect(screen.getAllByRole("row")).toHaveLength(2);
  // A second rotation keeps it.
  (await openDialog("Rotate")).getByText(/gr_live_…abcd, keeps its end/);
});

test("a used-up budget has a red bar, and no green switch", async () => {
  const used = key({ status: "blocked", period_spend: "10.0000", available: "0.0000" });
  routerFor().on(`GET ${KEYS}`, () => ({ data: [used], next: null }));
  openApp(`/accounts/${ACCOUNT}/keys`);
  await screen.findByText("limit reached");
  const colors = [...document.querySelectorAll("[style]")].map((each) => each.getAttribute("style") ?? "");
  expect(colors.filter((style) => style.includes("--progress-section-color"))).toEqual([
    expect.stringContaining("red"),
  ]);
  expect(colors.find((style) => style.includes("--switch-color"))).toContain("gray");
});

test("a refusal stands at its field without the API's name of it", async () => {
  routerFor()
    .on(`GET ${KEYS}`, () => ({ data: [key()], next: null }))
    .on(`PATCH ${KEYS}/key-1`, () =>
      Response.json(
        {
          error: {
            message: 'It must be later (field "expires_at").',
            code: "invalid_value",
            param: "expires_at",
          },
        },
        { status: 400 },
      ),
    );
  openApp(`/accounts/${ACCOUNT}/keys`);
  const dialog = await openDialog("Edit");
  fireEvent.click(dialog.getByRole("radio", { name: "On a date" }));
  fireEvent.change(dialog.getByLabelText("Expires on"), { target: { value: "2020-01-01T10:00" } });
  fireEvent.click(dialog.getByRole("button", { name: "Save" }));
  await dialog.findByText("It must be later.");
});

test("a list that cannot be read offers another try", async () => {
  const router = routerFor().on(`GET ${KEYS}`, () => errorAnswer(400, "invalid_value", "The keys are away."));
  openApp(`/accounts/${ACCOUNT}/keys`);
  await screen.findByText("The keys are away.");
  router.on(`GET ${KEYS}`, () => ({ data: [key()], next: null }));
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  await waitFor(() => screen.getByText("Production"));
});

test("a new key has the default format that was chosen, and an edit keeps or removes it", async () => {
  const made = key({ default_response_format: "b64_json" });
  const router = routerFor()
    .on(`GET ${KEYS}`, () => ({ data: [made], next: null }))
    .on("GET /v1/models", () => ({ data: [] }))
    .on(`POST ${KEYS}`, () => ({ key: made, secret: "gr_live_new" }))
    .on(`PATCH ${KEYS}/key-1`, () => made);
  openApp(`/accounts/${ACCOUNT}/keys`);
  await screen.findByText("b64_json by default");
  fireEvent.click(screen.getByRole("button", { name: "New key" }));
  const dialog = within(await screen.findByRole("dialog"));
  fireEvent.change(dialog.getByLabelText("Name"), { target: { value: "edits" } });
  fireEvent.click(dialog.getByRole("combobox", { name: "Default response_format" }));
  fireEvent.click(await screen.findByText("b64_json: base64, and a hosted file"));
  fireEvent.click(dialog.getByRole("button", { name: "Create" }));
  await screen.findByText("gr_live_new");
  expect(router.callsOf(`POST ${KEYS}`)[0]?.body).toMatchObject({ default_response_format: "b64_json" });
  fireEvent.click(screen.getByLabelText("I have stored the key"));
  fireEvent.click(screen.getByRole("button", { name: "Done" }));
  const edit = await openDialog("Edit");
  fireEvent.click(edit.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(router.callsOf(`PATCH ${KEYS}/key-1`)[0]?.body).toMatchObject({
      default_response_format: "b64_json",
    }),
  );
});

test("a key below a budget shows its remaining part, and names it as the limit", async () => {
  const budget: BudgetRecord = {
    ...{ id: "b", name: "Customer 4711", level: "customer", state: "open", resets_at: null },
    ...{ spend_limit: "5.0000", spend_limit_period: null, period_spend: "3.7500", remaining: "1.2500" },
  };
  const shared = key({ budget, limited_by: "budget", available: "1.2500" });
  const closed = key({
    id: "key-2",
    name: "Other",
    budget: { ...budget, state: "closed" },
    status: "blocked",
  });
  routerFor().on(`GET ${KEYS}`, () => ({ data: [shared, closed], next: null }));
  openApp(`/accounts/${ACCOUNT}/keys`);
  await screen.findByText("shares the budget Customer 4711: $1.25 left");
  screen.getByText("limited by shared budget");
  screen.getByText("shares the budget Customer 4711: closed");
});

test("a key saves texts only if this is switched on, with the retention in words, and its texts are deleted on demand", async () => {
  const saving = key({ saves_texts: true });
  const router = routerFor()
    .on(`GET ${KEYS}`, () => ({ data: [saving], next: null }))
    .on("GET /v1/models", () => ({ data: [] }))
    .on(`GET /console/api/accounts/${ACCOUNT}/saved-texts`, () => ({
      ...{ days: 30, entries: 1, bytes: 400, most_bytes: 1_000_000 },
    }))
    .on(`POST ${KEYS}`, () => ({ key: saving, secret: "gr_live_new" }))
    .on(`PATCH ${KEYS}/key-1`, () => key())
    .on(`DELETE ${KEYS}/key-1/saved-texts`, () => ({ deleted: 1 }));
  openApp(`/accounts/${ACCOUNT}/keys`);
  await screen.findByText("saves prompts and answers");
  fireEvent.click(screen.getByRole("button", { name: "New key" }));
  const dialog = within(await screen.findByRole("dialog"));
  await dialog.findByText(/Each is deleted 30 days after its request/);
  fireEvent.change(dialog.getByLabelText("Name"), { target: { value: "debug" } });
  expect(dialog.getByRole("switch")).toHaveProperty("checked", false);
  fireEvent.click(dialog.getByRole("switch"));
  fireEvent.click(dialog.getByRole("button", { name: "Create" }));
  await screen.findByText("gr_live_new");
  expect(router.callsOf(`POST ${KEYS}`)[0]?.body).toMatchObject({ saves_texts: true });
  fireEvent.click(screen.getByLabelText("I have stored the key"));
  fireEvent.click(screen.getByRole("button", { name: "Done" }));
  const edit = await openDialog("Edit");
  expect(edit.getByRole("switch")).toHaveProperty("checked", true);
  fireEvent.click(edit.getByRole("switch"));
  fireEvent.click(edit.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(router.callsOf(`PATCH ${KEYS}/key-1`)[0]?.body).toMatchObject({ saves_texts: false }),
  );
  const forget = await openDialog("Delete saved prompts");
  fireEvent.click(forget.getByRole("button", { name: "Delete" }));
  await waitFor(() => expect(router.callsOf(`DELETE ${KEYS}/key-1/saved-texts`)).toHaveLength(1));
});
