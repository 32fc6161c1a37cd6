// Guarantees of the frame. A session that ends leads to the sign-in page and back. A removed member reads that, and an invitation
// waits. Each page has its name in the title of the document, and the catalogue keeps the menu of a signed-in person.
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { errorAnswer } from "../test/fake-router.ts";
import { ACCOUNT, closeApp, openApp, routerFor, sessionOf } from "../test/open-app.tsx";
import { IMAGE } from "../test/sample-models.ts";

const OF_ACCOUNT = `/console/api/accounts/${ACCOUNT}`;
const NOBODY = { ...sessionOf("owner"), person: null, accounts: [] };

afterEach(closeApp);

test("a session that ends between two calls leads to the sign-in page, which leads back", async () => {
  let hasEnded = false;
  routerFor()
    .on("GET /console/api/session", () => (hasEnded ? NOBODY : sessionOf("owner")))
    .on(`GET ${OF_ACCOUNT}/alerts`, () => {
      hasEnded = true;
      return errorAnswer(401, "not_signed_in", "Sign in first.");
    });
  openApp(`/accounts/${ACCOUNT}/alerts`);
  await screen.findByText("Your session has ended. Sign in again to continue.");
  const search = new URLSearchParams(window.location.search);
  expect([window.location.pathname, search.get("back")]).toEqual(["/sign-in", `/accounts/${ACCOUNT}/alerts`]);
  expect(screen.queryByText("Page not found")).toBeNull();
});

test("a removed member reads that, and gets a way to the other accounts", async () => {
  routerFor().on("GET /console/api/session", () => ({ ...sessionOf("owner"), accounts: [] }));
  openApp(`/accounts/${ACCOUNT}/keys`);
  await screen.findByText("You are not a member of this account");
  screen.getByRole("link", { name: "Go to my accounts" });
});

test("an invitation waits above each page until its person joins, and can be hidden", async () => {
  const OTHER = "0192f0c1-0000-7000-8000-000000000002";
  const invitation = (id: string, account_name: string) => ({
    ...{ id, account_name, role: "developer", invited_by: "lena@example.com" },
  });
  let session = {
    ...sessionOf("owner"),
    invitations: [invitation("i1", "Halden"), invitation("i2", "Spam")],
  };
  const router = routerFor()
    .on("GET /console/api/session", () => session)
    .on("POST /console/api/invitations/i1/accept", () => {
      const joined = { account_id: OTHER, account_name: "Halden", role: "developer" };
      session = { ...session, accounts: [...session.accounts, joined], invitations: [] };
      return joined;
    });
  openApp(`/accounts/${ACCOUNT}/team`);
  await screen.findByText("lena@example.com invites you to Halden as developer.");
  fireEvent.click(screen.getAllByRole("button", { name: "Not now" })[1] as HTMLElement);
  await waitFor(() => expect(screen.queryByText(/invites you to Spam/)).toBeNull());
  fireEvent.click(screen.getByRole("button", { name: "Join Halden" }));
  await waitFor(() => expect(window.location.pathname).toBe(`/accounts/${OTHER}`));
  expect(screen.queryByText(/invites you/)).toBeNull();
  expect(router.callsOf("POST /console/api/invitations/i1/accept")).toHaveLength(1);
});

test("a declined invitation ends after a question, and all but three are behind a button", async () => {
  const names = ["Halden", "Spam", "Acme", "Later"];
  let invitations = names.map((account_name, index) => ({
    ...{ id: `i${index}`, account_name, role: "developer", invited_by: "lena@example.com" },
  }));
  const router = routerFor()
    .on("GET /console/api/session", () => ({ ...sessionOf("owner"), invitations }))
    .on("DELETE /console/api/invitations/i1", () => {
      invitations = invitations.filter(({ id }) => id !== "i1");
      return new Response(null, { status: 204 });
    });
  openApp(`/accounts/${ACCOUNT}/team`);
  await screen.findByText(/invites you to Acme/);
  expect(screen.queryByText(/invites you to Later/)).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Show all 4 invitations" }));
  await screen.findByText(/invites you to Later/);
  fireEvent.click(screen.getByRole("button", { name: "Decline the invitation to Spam" }));
  const question = within(await screen.findByRole("dialog", { name: "Decline the invitation to Spam?" }));
  expect(router.callsOf("DELETE /console/api/invitations/i1")).toHaveLength(0);
  fireEvent.click(question.getByRole("button", { name: "Decline" }));
  await waitFor(() => expect(screen.queryByText(/invites you to Spam/)).toBeNull());
  screen.getByText(/invites you to Halden/);
});

test("a person without an account finds the invitation, also with closed sign-up", async () => {
  const invited = { id: "i1", account_name: "Halden", role: "viewer", invited_by: "lena@example.com" };
  routerFor().on("GET /console/api/session", () => ({
    ...{ ...sessionOf("owner"), accounts: [], invitations: [invited] },
  }));
  openApp("/");
  await screen.findByRole("button", { name: "Join Halden" });
  expect(document.body.textContent).not.toContain("Ask an admin");
});

test.each([
  ["", "Home"],
  ["/playground", "Playground"],
  ["/models", "Models"],
  ["/keys", "API keys"],
  ["/logs", "Logs"],
  ["/usage", "Usage"],
  ["/alerts", "Alerts"],
  ["/credits", "Credits"],
  ["/team", "Team"],
  ["/audit", "Audit log"],
  ["/person", "Password and sessions"],
])("the title of %s names the page and the account", async (path, name) => {
  routerFor();
  openApp(`/accounts/${ACCOUNT}${path}`);
  await waitFor(() => expect(document.title).toBe(`${name} · Demo · Generation Router`));
});

test("the catalogue has the menu of a signed-in person, also by its public address", async () => {
  routerFor().on("GET /v1/models", () => ({ data: [IMAGE] }));
  openApp("/models?type=image");
  await screen.findByText(IMAGE.name);
  screen.getByRole("link", { name: "API keys" });
  expect(`${window.location.pathname}${window.location.search}`).toBe(
    `/accounts/${ACCOUNT}/models?type=image`,
  );
  closeApp();
  routerFor().on("GET /v1/models", () => ({ data: [IMAGE] }));
  openApp(`/models/${IMAGE.id}`);
  await screen.findByRole("heading", { level: 1, name: IMAGE.name });
  screen.getByRole("link", { name: "API keys" });
  screen.getByText("Prices");
  expect(document.body.textContent).not.toContain("null");
});

test("a visitor without a session, or without a console behind the page, sees the public catalogue", async () => {
  for (const answer of [NOBODY, errorAnswer(400, "invalid_value", "The console is away.")]) {
    routerFor()
      .on("GET /console/api/session", () => answer)
      .on("GET /v1/models", () => ({ data: [IMAGE] }));
    openApp("/models");
    await screen.findByText(IMAGE.name);
    expect(screen.queryByRole("link", { name: "API keys" })).toBeNull();
    closeApp();
  }
});

test("a menu of the head opens once its code is there, and Escape leads back to its button", async () => {
  routerFor();
  openApp(`/accounts/${ACCOUNT}/alerts`);
  fireEvent.click(await screen.findByRole("button", { name: "Demo" }));
  await screen.findByRole("menuitem", { name: "New account" });
  fireEvent.keyDown(document.activeElement ?? document.body, { key: "Escape", code: "Escape" });
  await waitFor(() => expect(screen.queryByRole("menuitem")).toBeNull());
  const button = screen.getByRole("button", { name: "Demo" });
  await waitFor(() => expect(document.activeElement).toBe(button));
  fireEvent.click(button);
  await screen.findByRole("menuitem", { name: "New account" });
});
