// Guarantees of the dialogs of a key. A new secret stays until it was copied, saved or confirmed, with code that has it inside, and the
// first request is noticed. Budget and expiry are choices, and a sentence says their effect.

import type { KeyRecord } from "@gr/console-api";
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { ACCOUNT, closeApp, openApp, routerFor } from "../../test/open-app.tsx";
import { IMAGE, TEXT } from "../../test/sample-models.ts";
import { sampleKey } from "../../test/sample-records.ts";

const OF_ACCOUNT = `/console/api/accounts/${ACCOUNT}`;
const DAY_MS = 86_400_000;
const SECRET = "gr_live_secret";

afterEach(closeApp);

function keysRouter(made: Partial<KeyRecord> = {}) {
  return routerFor()
    .on(`GET ${OF_ACCOUNT}/keys`, () => ({ data: [], next: null }))
    .on("GET /v1/models", () => ({ data: [IMAGE, TEXT] }))
    .on(`GET ${OF_ACCOUNT}/requests`, () => ({ data: [], next: null }))
    .on(`POST ${OF_ACCOUNT}/keys`, () => ({
      key: sampleKey({ total_requests: 0, ...made }),
      secret: SECRET,
    }));
}

async function openNewKey() {
  openApp(`/accounts/${ACCOUNT}/keys`);
  fireEvent.click(await screen.findByRole("button", { name: "New key" }));
  const dialog = within(await screen.findByRole("dialog"));
  fireEvent.change(dialog.getByLabelText("Name"), { target: { value: "Mobile app" } });
  return dialog;
}

async function createKey() {
  const dialog = await openNewKey();
  fireEvent.click(dialog.getByRole("button", { name: "Create" }));
  await screen.findByText(SECRET);
}

const isDone = () => screen.queryByText(SECRET) === null;
const pressDone = () => fireEvent.click(screen.getByRole("button", { name: "Done" }));

test("a second Enter, Escape and a missing tick keep the secret on the page", async () => {
  keysRouter();
  await createKey();
  // Enter copies: the button has the focus.
  await waitFor(() => expect(document.activeElement?.getAttribute("aria-label")).toBe("Copy the key"));
  expect(screen.queryByRole("button", { name: "Close" })).toBeNull();
  fireEvent.keyDown(screen.getByRole("dialog"), { key: "Escape" });
  pressDone();
  expect(isDone()).toBe(false);
  fireEvent.click(screen.getByLabelText("I have stored the key"));
  pressDone();
  await waitFor(() => expect(isDone()).toBe(true));
});

test("a browser that copies nothing keeps the secret on the page; a copied one may be closed", async () => {
  keysRouter();
  await createKey();
  const asked: string[] = [];
  const writeText = async (text: string) => {
    if (asked.push(text) === 1) throw new Error("no permission");
  };
  const pressCopy = () => fireEvent.click(screen.getByRole("button", { name: "Copy the key" }));
  const mayClose = () => !screen.getByRole<HTMLButtonElement>("button", { name: "Done" }).disabled;
  Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true });
  try {
    pressCopy();
    await new Promise((resolve) => setTimeout(resolve));
    expect(mayClose()).toBe(false);
    pressCopy();
    await waitFor(() => expect(mayClose()).toBe(true));
  } finally {
    Reflect.deleteProperty(navigator, "clipboard");
  }
  expect(asked).toEqual([SECRET, SECRET]);
  pressDone();
  await waitFor(() => expect(isDone()).toBe(true));
});

test("a saved file has the secret, and the dialog may be closed", async () => {
  keysRouter();
  await createKey();
  const files: Blob[] = [];
  const { createObjectURL } = URL;
  URL.createObjectURL = (file) => {
    files.push(file as Blob);
    return "#saved";
  };
  try {
    fireEvent.click(screen.getByRole("button", { name: "Save as .env" }));
  } finally {
    URL.createObjectURL = createObjectURL;
  }
  expect(await files[0]?.text()).toBe(`API_KEY=${SECRET}\n`);
  pressDone();
  await waitFor(() => expect(isDone()).toBe(true));
});

test("curl, Node and Python have the key inside and a model that it allows; the first request is noticed", async () => {
  const router = keysRouter({ allowed_models: ["acme/im*"] });
  await createKey();
  const code = async (name: string) => (await screen.findByLabelText(`${name} code`)).textContent;
  expect(await code("curl")).toContain(`Authorization: Bearer ${SECRET}`);
  expect(await code("curl")).toContain(IMAGE.id);
  fireEvent.click(screen.getByRole("tab", { name: "Node" }));
  expect(await code("Node")).toContain(`apiKey: "${SECRET}"`);
  fireEvent.click(screen.getByRole("tab", { name: "Python" }));
  expect(await code("Python")).toContain(`api_key="${SECRET}"`);
  await screen.findByText("Waiting for the first request");
  router.on(`GET ${OF_ACCOUNT}/requests`, ({ query }) => ({
    ...{ data: query.get("key_id") === "key-1" ? [{ id: "request-1" }] : [], next: null },
  }));
  await screen.findByText("First request received");
});

test("the secret of a management key has no request to send", async () => {
  keysRouter({ kind: "management" });
  await createKey();
  expect(screen.queryByText("First request, with this key in it")).toBeNull();
});

test("a budget, its period and an expiry are chosen, and a sentence says what they do", async () => {
  const router = keysRouter();
  const dialog = await openNewKey();
  dialog.getByText(/^This key can spend the balance of the account\. /);
  fireEvent.click(dialog.getByRole("radio", { name: "$50" }));
  expect(dialog.getByLabelText("Spend limit, USD")).toHaveProperty("value", "50");
  dialog.getByText(/^This key can spend at most \$50\.00 in total\. /);
  fireEvent.click(dialog.getByRole("combobox", { name: "Resets" }));
  fireEvent.click(await screen.findByText("monthly (UTC)"));
  fireEvent.click(dialog.getByRole("radio", { name: "90 days" }));
  dialog.getByText(/^This key can spend at most \$50\.00 each month \(UTC\), and stops working on .+\. /);
  fireEvent.click(dialog.getByRole("button", { name: "Create" }));
  await screen.findByText(SECRET);
  const body = router.callsOf(`POST ${OF_ACCOUNT}/keys`)[0]?.body as { expires_at: string };
  expect(body).toMatchObject({ name: "Mobile app", spend_limit: "50", spend_limit_period: "month" });
  // The field has whole minutes.
  const days = (Date.parse(body.expires_at) - Date.now()) / DAY_MS;
  expect(Math.round(days)).toBe(90);
});

test("a date of one's own begins in 30 days, and Never removes it", async () => {
  const router = keysRouter();
  const dialog = await openNewKey();
  fireEvent.click(dialog.getByRole("radio", { name: "On a date" }));
  const field = dialog.getByLabelText("Expires on") as HTMLInputElement;
  expect(Math.round((Date.parse(field.value) - Date.now()) / DAY_MS)).toBe(30);
  fireEvent.change(field, { target: { value: "2099-01-01T10:00" } });
  dialog.getByText(/stops working on .*2099/);
  fireEvent.click(dialog.getByRole("radio", { name: "Never" }));
  fireEvent.click(dialog.getByRole("button", { name: "Create" }));
  await screen.findByText(SECRET);
  expect(router.callsOf(`POST ${OF_ACCOUNT}/keys`)[0]?.body).toMatchObject({ expires_at: null });
});
