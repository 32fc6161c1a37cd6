// Guarantees of the team page: no click alone removes a member, changes a role or leaves the account, and the focus is on Cancel.
// Budgets are set, and invitations are sent again.
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { errorAnswer } from "../../test/fake-router.ts";
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

test("a role is changed, and the account is left, after a question", async () => {
  const router = routerFor()
    .on(`GET ${MEMBERS}`, () => ({
      data: [member("person-1", "owner"), member("jonas", "viewer")],
      invitations: [],
      budgets: [],
    }))
    .on(`PATCH ${MEMBERS}/jonas`, () => member("jonas", "admin"))
    .on(`DELETE ${MEMBERS}/person-1`, () => errorAnswer(409, "last_owner", "One owner must stay."));
  openApp(`/accounts/${ACCOUNT}/team`);
  fireEvent.click(await screen.findByRole("combobox", { name: "Role of jonas@example.com" }));
  fireEvent.click(await screen.findByRole("option", { name: "admin" }));
  const question = within(await screen.findByRole("dialog", { name: "Make jonas admin?" }));
  question.getByText("The role changes from viewer to admin, at once.");
  expect(router.callsOf(`PATCH ${MEMBERS}/jonas`)).toEqual([]);
  fireEvent.click(question.getByRole("button", { name: "Change the role" }));
  await waitFor(() =>
    expect(router.callsOf(`PATCH ${MEMBERS}/jonas`).map(({ body }) => body)).toEqual([{ role: "admin" }]),
  );
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());

  fireEvent.click(screen.getByRole("button", { name: "Leave account" }));
  const leave = within(await screen.findByRole("dialog", { name: "Leave this account?" }));
  expect(router.callsOf(`DELETE ${MEMBERS}/person-1`)).toEqual([]);
  fireEvent.click(leave.getByRole("button", { name: "Leave" }));
  await screen.findByText(/One owner must stay/);
});

test("an invitation is sent again with its role, and the new link stays on the page", async () => {
  const INVITATIONS = `/console/api/accounts/${ACCOUNT}/invitations`;
  let id = "invitation-1";
  const invitation = () => ({
    ...{ id, email: "lena@example.com", role: "viewer", invited_by: "ada@example.com" },
    ...{ created_at: "2026-11-01T10:00:00.000Z", expires_at: "2099-01-01T10:00:00.000Z" },
  });
  const router = routerFor()
    .on(`GET ${MEMBERS}`, () => ({
      data: [member("person-1", "owner")],
      invitations: [invitation()],
      budgets: [],
    }))
    .on(`POST ${INVITATIONS}`, () => {
      id = "invitation-2";
      return { ...invitation(), link: "https://router.example/invitation#token=second" };
    });
  openApp(`/accounts/${ACCOUNT}/team`);
  fireEvent.click(await screen.findByRole("button", { name: "Resend the invitation of lena@example.com" }));
  const dialog = within(await screen.findByRole("dialog", { name: "Invite" }));
  dialog.getByText(/replaces the earlier one/);
  fireEvent.click(dialog.getByRole("button", { name: "Invite" }));
  await dialog.findByText(/token=second/);
  expect(router.callsOf(`POST ${INVITATIONS}`).map(({ body }) => body)).toEqual([
    { email: "lena@example.com", role: "viewer" },
  ]);
});

test("the rights of each role are listed", async () => {
  routerFor("viewer").on(`GET ${MEMBERS}`, () => ({ data: [], invitations: [], budgets: [] }));
  openApp(`/accounts/${ACCOUNT}/team`);
  const roles = within(await screen.findByRole("region", { name: "Roles" }));
  const rights = roles
    .getAllByRole("row")
    .map((row) => within(row).queryAllByRole("img", { name: "yes" }).length);
  expect(rights).toEqual([0, 1, 2, 3, 4]);
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
