// Guarantees of the logs page. Rows have names and charges. Filters are in the address and in the request. Back closes the drawer,
// and each list without rows has its state.
import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { readKept } from "../../kept-state.ts";
import { errorAnswer, type FakeRouter } from "../../test/fake-router.ts";
import { ACCOUNT, closeApp, openApp, routerFor } from "../../test/open-app.tsx";
import { IMAGE, TEXT } from "../../test/sample-models.ts";
import { textPlace } from "../playground/drafts.ts";

const LOGS = `/accounts/${ACCOUNT}/logs`;
const REQUESTS = `/console/api/accounts/${ACCOUNT}/requests`;
const KEY = "0192f0c1-0000-7000-8000-00000000000a";
const IMAGE_ID = "0192f0c1-0000-7000-8000-0000000000a1";
const TEXT_ID = "0192f0c1-0000-7000-8000-0000000000a2";

afterEach(closeApp);

const shared = {
  ...{ object: "generation", status: "succeeded", api_key_id: KEY, error: null, progress: null, data: [] },
  ...{ created_at: "2026-11-27T10:00:00.000Z", finished_at: "2026-11-27T10:00:06.420Z", latency: 6_420 },
  ...{ price_version: "1", deleted: false, expired: false },
};
const image = {
  ...{ ...shared, id: IMAGE_ID, kind: "image", model: IMAGE.id, provider: "bfl", cost: 0.03 },
  request: { prompt: "a kite", n: 2, size: "1024x1024", output_format: "webp", response_format: "url" },
  attempts: [
    { provider: "fal", model: "f", outcome: "rate_limited", latency: 410 },
    { provider: "bfl", model: "b", outcome: "delivered", latency: 5_990 },
  ],
  timing: { queued: 20, first_byte: null, made: 5_880, stored: 6_420 },
};
const text = {
  ...{ ...shared, id: TEXT_ID, kind: "text", model: TEXT.id, provider: "openai", cost: 0, status: "failed" },
  ...{ api_key_id: ACCOUNT, error: { message: "The provider failed.", type: "upstream_error" }, request: {} },
  ...{ api: "chat", stream: true, user: null, finish_reason: null, usage: null, unit_prices: null },
  ...{ attempts: [], timing: { queued: null, first_byte: null, made: null, stored: null } },
};

const bar = (hour: number, succeeded = 0, failed = 0) => {
  return { at: new Date(Date.UTC(2026, 10, 27, hour)).toISOString(), succeeded, failed, other: 0 };
};
const summary = {
  ...{ requests: 673, spend: "10.1449", succeeded: 655, failed: 18, other: 0, median_latency: 4_100 },
  ...{ bar_ms: 3_600_000, bars: [bar(8, 30), bar(9, 20, 1), bar(10), bar(11, 5)] },
};

function logsRouter(rows: () => unknown = () => ({ data: [image, text], next: null })): FakeRouter {
  return routerFor()
    .on("GET /v1/models", () => ({ data: [IMAGE, TEXT] }))
    .on(`GET /console/api/accounts/${ACCOUNT}/keys`, () => ({
      data: [{ id: KEY, name: "Production" }],
      next: null,
    }))
    .on(`GET /console/api/accounts/${ACCOUNT}/members`, () => ({
      data: [{ person_id: "person-1", email: "ada@example.com", name: "Ada", role: "owner" }],
      invitations: [],
    }))
    .on(`GET ${REQUESTS}`, rows)
    .on(`GET ${REQUESTS}/summary`, () => summary)
    .on(`GET ${REQUESTS}/${IMAGE_ID}`, () => ({ ...image, price: null }))
    .on(`GET ${REQUESTS}/${TEXT_ID}/text`, () => ({ text: null }))
    .on(`GET ${REQUESTS}/${TEXT_ID}`, () => ({ ...text, price: null }));
}

const click = (role: string, name: string | RegExp) => fireEvent.click(screen.getByRole(role, { name }));

test("a row has the names of key and model, the provider with its fall-backs, and the charge", async () => {
  logsRouter();
  openApp(LOGS);
  const link = await screen.findByRole("link", { name: "a kite" });
  const row = within(link.closest("tr") as HTMLElement);
  for (const part of ["2 images · 1024x1024", "bfl", "+1", "Succeeded", "6.42 s", "$0.0300"])
    row.getByText(part);
  await row.findByText("Production");
  await row.findByText(IMAGE.name);
  const failed = within(screen.getByRole("link", { name: "Chat" }).closest("tr") as HTMLElement);
  for (const part of ["The provider failed.", "Playground", "Failed", "Not charged"])
    await failed.findByText(part);
});

test("a click opens the drawer with times, attempts and parameters; Back closes it", async () => {
  logsRouter();
  openApp(LOGS);
  fireEvent.click(await screen.findByRole("link", { name: "a kite" }));
  const drawer = within(await screen.findByRole("dialog"));
  const timeline = within(await drawer.findByRole("region", { name: "Timeline" }));
  for (const part of ["Checked and held", "fal", "bfl, making", "Stored and charged"])
    timeline.getByText(part);
  within(drawer.getByRole("region", { name: "Attempts" })).getByText("Rate limited");
  const replay = drawer.getByRole("link", { name: "Open in Playground" }).getAttribute("href") ?? "";
  expect(Object.fromEntries(new URL(replay, "http://x").searchParams)).toEqual({
    ...{ model: IMAGE.id, prompt: "a kite", size: "1024x1024", n: '"2"' },
  });
  expect(window.location.search).toContain(IMAGE_ID);
  window.history.back();
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("a pasted text with an id opens the request", async () => {
  logsRouter();
  openApp(LOGS);
  const search = await screen.findByLabelText("Find a request by its ID");
  fireEvent.change(search, { target: { value: `request ${TEXT_ID.toUpperCase()}, please` } });
  await within(await screen.findByRole("dialog")).findByText(/^Prompt and answer are not saved/);
});

test("filters are in the address and in the request; Clear removes them all", async () => {
  const router = logsRouter(() => ({ data: [], next: null }));
  openApp(`${LOGS}?status=failed&key_id=web_token&range=1h&provider=fal&member=person-1`);
  await screen.findByText("No requests match");
  const query = router.callsOf(`GET ${REQUESTS}`)[0]?.query;
  expect(Object.fromEntries(query ?? [])).toMatchObject({
    ...{ status: "failed", key_id: "web_token", provider: "fal", member: "person-1" },
  });
  expect(query?.get("from")).toMatch(/^\d{4}-\d\d-\d\dT/);
  screen.getByRole("button", { name: "Last hour" });
  screen.getByRole("button", { name: "Key: Playground" });
  screen.getByRole("button", { name: "Provider: fal" });
  await screen.findByRole("button", { name: "Member: Ada" });
  click("button", "Remove the filter Status");
  await waitFor(() => expect(window.location.search).not.toContain("status"));
  fireEvent.click(screen.getAllByRole("button", { name: "Clear filters" })[0] as HTMLElement);
  await screen.findByText("Waiting for a request");
});

test("an empty log shows the first request as curl; a failed one offers another try", async () => {
  logsRouter(() => ({ data: [], next: null }));
  openApp(LOGS);
  await screen.findByText("Waiting for a request");
  await screen.findByLabelText("curl code");
  closeApp();
  logsRouter(() => errorAnswer(400, "invalid_value", "The log is away."));
  openApp(LOGS);
  await screen.findByText("The log is away.");
  screen.getByRole("button", { name: "Try again" });
});

test("sums are of the filter, a failure keeps them below 100 %, and a drag over bars narrows the time", async () => {
  const router = logsRouter();
  openApp(`${LOGS}?model=acme/image&range=24h`);
  const block = within(await screen.findByRole("region", { name: "Summary" }));
  for (const part of ["673", "$10.14", "97.3 %", "4.10 s"]) block.getByText(part);
  const asked = router.callsOf(`GET ${REQUESTS}/summary`)[0]?.query;
  expect([asked?.get("model"), asked?.get("from")]).toEqual(["acme/image", expect.stringMatching(/T.*Z$/)]);
  const file = screen.getByRole("link", { name: "Export CSV" }).getAttribute("href") ?? "";
  expect(new URL(file, "http://x").searchParams.get("model")).toBe("acme/image");
  const strip = block.getByRole("img", { name: /at most 30 in a bar/ });
  strip.getBoundingClientRect = () => ({ left: 0, width: 400 }) as DOMRect;
  fireEvent.pointerDown(strip, { clientX: 150 });
  fireEvent.pointerMove(strip, { clientX: 210 });
  fireEvent.pointerUp(strip, { clientX: 250 });
  await waitFor(() => expect(new URLSearchParams(window.location.search).get("range")).toBeNull());
  const search = new URLSearchParams(window.location.search);
  expect([search.get("from"), search.get("to")]).toEqual([
    "2026-11-27T08:59:59.999Z",
    "2026-11-27T11:00:00.000Z",
  ]);
  screen.getByRole("button", { name: /Nov 27.*–.*Nov 27/ });
});

/** @returns the router, and the drawer of a text request with a saved prompt and answer */
async function openSaved() {
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "What is a hold?" },
    { role: "assistant", content: "A reservation." },
    { role: "user", content: [{ type: "text", text: "Of what?" }, { type: "image_url" }] },
  ];
  const saved = {
    ...{ id: TEXT_ID, object: "saved_text", created_at: shared.created_at, expires_at: shared.created_at },
    ...{ prompt: { model: TEXT.id, messages, temperature: 0.5, max_tokens: 64 }, prompt_bytes: 300 },
    ...{
      answer: { choices: [{ message: { role: "assistant", content: "Of credits." } }] },
      answer_bytes: 90,
    },
  };
  let text: typeof saved | null = saved;
  const router = logsRouter()
    .on(`GET ${REQUESTS}/${TEXT_ID}/text`, () => ({ text }))
    .on(`DELETE ${REQUESTS}/${TEXT_ID}/text`, () => {
      text = null;
      return { deleted: 1 };
    });
  openApp(`${LOGS}?request=${TEXT_ID}`);
  return { router, drawer: within(await screen.findByRole("dialog")) };
}

test("a saved prompt is shown with its answer, and is replayed as it was sent", async () => {
  const { drawer } = await openSaved();
  const prompt = within(await drawer.findByRole("region", { name: "Prompt" }));
  for (const part of ["Be brief.", "What is a hold?", "A reservation.", /^Of what\?\s\[image_url\]$/])
    prompt.getByText(part);
  within(drawer.getByRole("region", { name: "Answer" })).getByText("Of credits.");
  fireEvent.click(drawer.getByRole("button", { name: "Replay in Playground" }));
  await waitFor(() => expect(window.location.pathname).toContain("/playground"));
  expect(readKept(textPlace(`person-1.${ACCOUNT}.playground`))).toMatchObject({
    ...{
      model: TEXT.id,
      system: "Be brief.",
      temperature: 0.5,
      maxTokens: 64,
      text: "Of what?\n[image_url]",
    },
    messages: [
      { role: "user", content: "What is a hold?" },
      { role: "assistant", content: "A reservation." },
    ],
  });
});

test("a saved prompt is deleted after a question", async () => {
  const { router, drawer } = await openSaved();
  fireEvent.click(await drawer.findByRole("button", { name: "Delete prompt and answer" }));
  expect(router.callsOf(`DELETE ${REQUESTS}/${TEXT_ID}/text`)).toEqual([]);
  fireEvent.click(await screen.findByRole("button", { name: "Delete" }));
  await screen.findByText(/^Prompt and answer are not saved/);
  expect(router.callsOf(`DELETE ${REQUESTS}/${TEXT_ID}/text`)).toHaveLength(1);
});
