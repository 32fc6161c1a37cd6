// Guarantees of the team page: no click alone removes a member or changes a role, and the focus is on Cancel.
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { ACCOUNT, closeApp, openApp, routerFor } from "../../test/open-app.tsx";

afterEach(closeApp);

const MEMBERS = `/console/api/accounts/${ACCOUNT}/members`;
const member = (id: string, role: string) => {
  const joined_at = "2026-11-01T10:00:00.000Z";
  return {
    person_id: id,
    name: id,
    email: `${id}@example.com`,
    role,
    joined_at,
    budget: null as object | null,
  };
};

test("a member is removed after a question whose default is Cancel", async () => {
  const router = routerFor()
    .on(`GET ${MEMBERS}`, () => ({
      data: [member("person-1", "owner"), member("jonas", "viewer")],
      invitations: [],
      budgets: [],
    }))
    .on(`DELETE ${MEMBERS}/jonas`, () => new Response(null, { status: 204 }));
  openApp(`/accounts/${ACCOUNT}/team`);
  fireEvent.click(await screen.findByRole("button", { name: "Remove jonas@example.com" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Remove jonas?" }));
  await waitFor(() => expect(document.activeElement?.textContent).toBe("Cancel"));
  expect(router.callsOf(`DELETE ${MEMBERS}/jonas`)).toEqual([]);
  fireEvent.click(dialog.getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(router.callsOf(`DELETE ${MEMBERS}/jonas`)).toHaveLength(1));
});

test("a budget of a member is set, shown with the remaining part, and raised", async () => {
  const budget = (spend_limit: string, remaining: string) => ({
    ...{
      id: "jonas",
      name: "jonas",
      level: "member",
      state: "open",
      spend_limit,
      remaining,
      resets_at: null,
    },
    ...{ spend_limit_period: "month", period_spend: "4.0000" },
  });
  let budgets: ReturnType<typeof budget>[] = [];
  const router = routerFor()
    .on(`GET ${MEMBERS}`, () => ({
      ...{ data: [member("person-1", "owner"), member("jonas", "developer")], invitations: [], budgets },
    }))
    .on(`PATCH ${MEMBERS}/jonas/budget`, () => {
      budgets = [budgets.length === 0 ? budget("5.0000", "1.0000") : budget("9.5000", "5.5000")];
      return budgets[0];
    });
  openApp(`/accounts/${ACCOUNT}/team`);
  fireEvent.click(await screen.findByRole("button", { name: "Set budget of jonas@example.com" }));
  const first = within(await screen.findByRole("dialog", { name: "Budget of jonas" }));
  fireEvent.change(first.getByLabelText("Spend limit, USD"), { target: { value: "five" } });
  fireEvent.click(first.getByRole("button", { name: "Save" }));
  await first.findByText(/amount of USD/);
  fireEvent.change(first.getByLabelText("Spend limit, USD"), { target: { value: "$5" } });
  fireEvent.click(first.getByRole("button", { name: "Save" }));
  await screen.findByText(/of \$5\.00 each month/);
  screen.getByText(/\$1\.00 left/);
  fireEvent.click(await screen.findByRole("button", { name: "Change budget of jonas@example.com" }));
  const second = within(await screen.findByRole("dialog", { name: "Budget of jonas" }));
  fireEvent.change(second.getByLabelText("Spend limit, USD"), { target: { value: "9.5" } });
  fireEvent.click(second.getByRole("button", { name: "Save" }));
  await screen.findByText(/of \$9\.50 each month/);
  expect(router.callsOf(`PATCH ${MEMBERS}/jonas/budget`).map(({ body }) => body)).toEqual([
    { spend_limit: "5", spend_limit_period: "month" },
    { spend_limit: "9.5", spend_limit_period: "month" },
  ]);
});

test("members are listed while billing does not answer", async () => {
  routerFor().on(`GET ${MEMBERS}`, () => ({
    ...{ data: [member("jonas", "developer")], invitations: [], budgets: null },
  }));
  openApp(`/accounts/${ACCOUNT}/team`);
  await screen.findByText("not readable now");
  expect(screen.queryByRole("button", { name: /budget of/ })).toBeNull();
});
