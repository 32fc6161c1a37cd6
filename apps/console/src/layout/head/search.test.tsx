// Guarantees of the search: its keys open it on each page, it finds pages, keys, models, accounts and requests, and Enter opens
// the first one.
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor } from "@testing-library/react";
import { ACCOUNT, closeApp, openApp, routerFor, sessionOf } from "../../test/open-app.tsx";
import { IMAGE } from "../../test/sample-models.ts";

const OF_ACCOUNT = `/console/api/accounts/${ACCOUNT}`;
const OTHER = { account_id: "0192f0c1-0000-7000-8000-000000000002", account_name: "Halden", role: "admin" };
const KEY = "0192f0c1-0000-7000-8000-0000000000b1";
const REQUEST = "0192f0c1-0000-7000-8000-0000000000b2";

afterEach(closeApp);

async function openSearch(role = "owner"): Promise<HTMLElement> {
  const session = sessionOf(role);
  routerFor(role)
    .on("GET /console/api/session", () => ({ ...session, accounts: [...session.accounts, OTHER] }))
    .on("GET /v1/models", () => ({ data: [IMAGE] }))
    .on(`GET ${OF_ACCOUNT}/requests`, () => ({ data: [], next: null }))
    .on(`GET ${OF_ACCOUNT}/keys`, () => ({ data: [{ id: KEY, name: "Nightly batch" }], next: null }));
  openApp(`/accounts/${ACCOUNT}/alerts`);
  await screen.findByRole("button", { name: /^Search or paste an ID/ });
  fireEvent.keyDown(document.documentElement, { key: "k", code: "KeyK", ctrlKey: true });
  return screen.findByRole("textbox", { name: "Search" });
}

/** Types into the search, and opens the first result by Enter. */
async function openFirst(text: string, label: string | RegExp): Promise<string> {
  const field = await openSearch();
  fireEvent.change(field, { target: { value: text } });
  const entry = await screen.findByRole("button", { name: label });
  await waitFor(() => expect(entry.hasAttribute("data-selected")).toBe(true));
  fireEvent.keyDown(field, { key: "Enter", code: "Enter" });
  await waitFor(() => expect(window.location.pathname).not.toBe(`/accounts/${ACCOUNT}/alerts`));
  return window.location.pathname + window.location.search;
}

test("a page by its name", async () => {
  expect(await openFirst("cred", "Credits")).toBe(`/accounts/${ACCOUNT}/credits`);
});

test("the logs of a key by its name", async () => {
  expect(await openFirst("batch night", /^Nightly batch/)).toBe(`/accounts/${ACCOUNT}/logs?key_id=${KEY}`);
});

test("a model by its name", async () => {
  expect(await openFirst(IMAGE.name, new RegExp(`^${IMAGE.name}`))).toBe(
    `/accounts/${ACCOUNT}/models/${IMAGE.id}`,
  );
});

test("another account by its name", async () => {
  expect(await openFirst("hald", /^Halden/)).toBe(`/accounts/${OTHER.account_id}`);
});

test("a request by its id", async () => {
  expect(await openFirst(` ${REQUEST} `, /^Open request/)).toBe(
    `/accounts/${ACCOUNT}/logs?request=${REQUEST}`,
  );
});

test("before a word the pages that the role allows, then only names that fit, and words if none does", async () => {
  const field = await openSearch("viewer");
  screen.getByRole("button", { name: "Playground" });
  expect(screen.queryByRole("button", { name: "Audit log" })).toBeNull();
  expect(screen.queryByRole("button", { name: /^Nightly/ })).toBeNull();
  fireEvent.change(field, { target: { value: "no such name" } });
  await screen.findByText("Nothing has this name or ID.");
  expect(screen.queryByRole("button", { name: "Playground" })).toBeNull();
  fireEvent.keyDown(field, { key: "Escape", code: "Escape" });
  await waitFor(() => expect(screen.queryByRole("textbox", { name: "Search" })).toBeNull());
});
