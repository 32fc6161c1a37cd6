// Guarantees of the team page: no click alone removes a member or changes a role, and the focus is on Cancel.
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { ACCOUNT, closeApp, openApp, routerFor } from "../../test/open-app.tsx";

afterEach(closeApp);

const MEMBERS = `/console/api/accounts/${ACCOUNT}/members`;
const member = (id: string, role: string) => {
  return { person_id: id, name: id, email: `${id}@example.com`, role, joined_at: "2026-11-01T10:00:00.000Z" };
};

test("a member is removed after a question whose default is Cancel", async () => {
  const router = routerFor()
    .on(`GET ${MEMBERS}`, () => ({
      data: [member("person-1", "owner"), member("jonas", "viewer")],
      invitations: [],
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
