// Guarantees of the playground on its page: one money format before and after a request, and code that equals the sent
// request. Models, other pages and reloads lose nothing, and each case without content has its state.

import { afterEach, expect, test } from "@jest/globals";
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import type { ModelRecord } from "../../api/public-api.ts";
import { errorAnswer, type FakeRouter, streamAnswer, unendedAnswer } from "../../test/fake-router.ts";
import { ACCOUNT, closeApp, openApp, reloadApp, routerFor } from "../../test/open-app.tsx";
import { EDIT, IMAGE, TEXT, VIDEO } from "../../test/sample-models.ts";

const PLAYGROUND = `/accounts/${ACCOUNT}/playground`;
const REQUESTS = `/console/api/accounts/${ACCOUNT}/requests`;
const IMAGES = "/v1/compat/images/generations";
const CHAT = "/v1/compat/chat/completions";

afterEach(closeApp);

function playgroundRouter(
  models: readonly ModelRecord[] = [IMAGE, EDIT, VIDEO, TEXT],
  role = "owner",
): FakeRouter {
  return routerFor(role)
    .on("GET /v1/models", () => ({ data: models }))
    .on(`POST /console/api/accounts/${ACCOUNT}/web-token`, () => ({
      token: "token-1",
      expires_at: "2099-01-01T00:00:00.000Z",
    }))
    .on(`GET ${REQUESTS}`, () => ({ data: [], next: null }))
    .on("POST /v1/quote/images/generations", () => ({ cost: 0.03, is_exact: true }))
    .on("POST /v1/quote/chat/completions", () => ({ cost: 0.0241, is_exact: false }));
}

const generation = (id: string, fields: object = {}) => ({
  ...{ id, object: "generation", kind: "image", model: "acme/image", status: "succeeded", error: null },
  ...{ created_at: "2026-11-27T10:00:00.000Z", finished_at: "2026-11-27T10:00:06.420Z", cost: 0.03 },
  request: { prompt: "a kite", n: 1, output_format: "webp", response_format: "url" },
  ...{ progress: null, data: [{ url: "/media/1.webp" }], deleted: false, expired: false, latency: 6_420 },
  ...fields,
});

const type = (label: string | RegExp, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
const click = (name: string | RegExp) => fireEvent.click(screen.getByRole("button", { name }));

test("the price on the button and the charge of the result have one format", async () => {
  const router = playgroundRouter()
    .on(`POST ${IMAGES}`, () => Response.json({ data: [] }, { headers: { "x-request-id": "r1" } }))
    .on(`GET ${REQUESTS}/r1`, () => generation("r1"));
  openApp(`${PLAYGROUND}?tab=image`);
  await screen.findByLabelText("Prompt");
  type("Prompt", "a kite");
  fireEvent.click(await screen.findByRole("button", { name: "Generate · $0.0300" }));
  const result = await screen.findByRole("region", { name: "Result" });
  await within(result).findByText("$0.0300");
  within(result).getByRole("img", { name: "a kite, 1 of 1" });
  const [sent] = router.callsOf(`POST ${IMAGES}`);
  expect(sent?.body).toEqual({ model: "acme/image", prompt: "a kite" });
  expect(sent?.headers.get("authorization")).toBe("Bearer token-1");
  // The quote and the request have used one token.
  expect(router.callsOf(`POST /console/api/accounts/${ACCOUNT}/web-token`)).toHaveLength(1);
});

test("the code is the request that is sent", async () => {
  const router = playgroundRouter().on(`POST ${CHAT}`, () => streamAnswer([]));
  openApp(`${PLAYGROUND}?tab=text`);
  await screen.findByLabelText("Message");
  type("System prompt", "Be brief.");
  type("Temperature", "0.4");
  type("Message", "it's me");
  click("Code");
  const code = (await screen.findByLabelText("curl code")).textContent ?? "";
  const shown = /-d '(.*)'$/s.exec(code)?.[1]?.replaceAll("'\\''", "'") ?? "";
  fireEvent.click(screen.getByRole("button", { name: "Close" }));
  click("Send");
  await waitFor(() => expect(router.callsOf(`POST ${CHAT}`)).toHaveLength(1));
  expect(JSON.parse(shown)).toEqual(router.callsOf(`POST ${CHAT}`)[0]?.body);
});

test("prompt and parameters are kept over models, other pages, and a reload", async () => {
  playgroundRouter([IMAGE, { ...IMAGE, id: "acme/second", name: "Acme Second", sizes: [] }]);
  openApp(`${PLAYGROUND}?tab=image&model=acme/image`);
  await screen.findByLabelText("Prompt");
  type("Prompt", "a kite");
  fireEvent.click(screen.getByLabelText("1280 by 720"));
  reloadApp();
  openApp(`${PLAYGROUND}?tab=image&model=acme/second`);
  expect(await screen.findByLabelText("Prompt")).toHaveProperty("value", "a kite");
  await screen.findByText("Not used by Acme Second: Size.");
  reloadApp();
  openApp(PLAYGROUND);
  expect(await screen.findByLabelText("Prompt")).toHaveProperty("value", "a kite");
  reloadApp();
  openApp(`${PLAYGROUND}?model=acme/image`);
  expect(await screen.findByLabelText("1280 by 720")).toHaveProperty("checked", true);
});

test("a link fills the form once", async () => {
  playgroundRouter();
  openApp(`${PLAYGROUND}?model=acme/image&prompt=from+a+link&size=1280x720&n=2`);
  await waitFor(async () =>
    expect(await screen.findByLabelText("Prompt")).toHaveProperty("value", "from a link"),
  );
  expect(screen.getByLabelText("Number of images")).toHaveProperty("value", "2");
  await waitFor(() => expect(window.location.search).not.toContain("prompt"));
});

test("an answer has its charge, tokens and Markdown; the next request has the conversation", async () => {
  const router = playgroundRouter().on(`POST ${CHAT}`, () =>
    streamAnswer(
      [
        { choices: [{ delta: { content: "It is **blue**" } }] },
        { choices: [], usage: { prompt_tokens: 12, completion_tokens: 3, cost: 0.000174 } },
      ],
      { "x-request-id": "r2" },
    ),
  );
  openApp(`${PLAYGROUND}?tab=text`);
  await screen.findByLabelText("Message");
  type("Message", "Which colour?");
  await screen.findByText("up to $0.0241 for the next answer");
  click("Send");
  expect((await screen.findByTestId("answer-charge")).textContent).toBe("$0.0002");
  expect((await screen.findByText("blue")).tagName).toBe("STRONG");
  screen.getByText("12 in · 3 out");
  type("Message", "Why?");
  click("Send");
  await waitFor(() => expect(router.callsOf(`POST ${CHAT}`)).toHaveLength(2));
  expect(router.callsOf(`POST ${CHAT}`)[1]?.body).toMatchObject({
    messages: [
      { role: "user", content: "Which colour?" },
      { role: "assistant", content: "It is **blue**" },
      { role: "user", content: "Why?" },
    ],
  });
});

test("a stopped answer keeps its words, and shows the charge that the router books for them", async () => {
  let cost: number | null = null;
  const router = playgroundRouter()
    .on(`POST ${CHAT}`, (call) =>
      unendedAnswer(call, [{ choices: [{ delta: { content: "It is blue" } }] }], { "x-request-id": "r3" }),
    )
    .on(`GET ${REQUESTS}/r3`, () => generation("r3", { kind: "text", model: TEXT.id, cost }));
  openApp(`${PLAYGROUND}?tab=text`);
  await screen.findByLabelText("Message");
  type("Message", "Which colour?");
  click("Send");
  await screen.findByText("It is blue");
  click("Stop");
  await screen.findByText("Stopped");
  expect(router.callsOf(`POST ${CHAT}`)[0]?.signal?.aborted).toBe(true);
  expect(screen.getByTestId("answer-charge").textContent).toBe("Charge pending");
  cost = 0.0123;
  await waitFor(() => expect(screen.getByTestId("answer-charge").textContent).toBe("$0.0123"));
  screen.getByText("It is blue");
  const asked = router.callsOf(`GET ${REQUESTS}/r3`).length;
  reloadApp();
  openApp(`${PLAYGROUND}?tab=text`);
  expect((await screen.findByTestId("answer-charge")).textContent).toBe("$0.0123");
  screen.getByText("Stopped");
  expect(router.callsOf(`GET ${REQUESTS}/r3`)).toHaveLength(asked);
});

test("a message that fails returns to the box, with the reason and its remedy", async () => {
  playgroundRouter().on(`POST ${CHAT}`, () =>
    errorAnswer(402, "insufficient_credits", "The account has too few credits."),
  );
  openApp(`${PLAYGROUND}?tab=text`);
  await screen.findByLabelText("Message");
  type("Message", "Hello");
  click("Send");
  await screen.findByText("The account has too few credits.");
  expect(screen.getByLabelText("Message")).toHaveProperty("value", "Hello");
  within(screen.getByRole("region", { name: "Conversation" })).getByRole("link", { name: "Add credit" });
  expect(screen.queryByTestId("answer-charge")).toBeNull();
});

test("a call of a tool is shown, and its result is sent", async () => {
  const call = (index: number, part: object) => ({
    choices: [{ delta: { tool_calls: [{ index, ...part }] } }],
  });
  const router = playgroundRouter().on(`POST ${CHAT}`, () =>
    streamAnswer([
      call(0, { id: "c1", function: { name: "get_weather", arguments: '{"city":' } }),
      call(0, { function: { arguments: '"Oslo"}' } }),
      { choices: [], usage: { cost: 0.0001 } },
    ]),
  );
  openApp(`${PLAYGROUND}?tab=text`);
  await screen.findByLabelText("Message");
  type("Message", "Weather in Oslo?");
  click("Send");
  await screen.findByText('{"city":"Oslo"}');
  fireEvent.change(await screen.findByLabelText("Result of get_weather"), { target: { value: '{"c": 4}' } });
  click("Send results");
  await waitFor(() => expect(router.callsOf(`POST ${CHAT}`)).toHaveLength(2));
  expect(router.callsOf(`POST ${CHAT}`)[1]?.body).toMatchObject({
    messages: [
      { role: "user" },
      { role: "assistant", tool_calls: [{ id: "c1" }] },
      { role: "tool", content: '{"c": 4}' },
    ],
  });
});

test("one prompt goes to several models, and the cheapest is marked", async () => {
  const second = { ...IMAGE, id: "acme/second", name: "Acme Second" };
  const router = playgroundRouter([IMAGE, second]).on(`POST ${IMAGES}`, ({ body }) => {
    const isFirst = (body as { model: string }).model === IMAGE.id;
    return {
      data: [{ url: `/media/${isFirst}.webp` }],
      cost: isFirst ? 0.03 : 0.02,
      latency: isFirst ? 900 : 4_000,
    };
  });
  openApp(`${PLAYGROUND}?tab=compare`);
  await screen.findByLabelText("Prompt");
  type("Prompt", "a kite");
  fireEvent.click(await screen.findByRole("button", { name: "Run 2 · $0.0600" }));
  const column = within(await screen.findByRole("region", { name: "Acme Second" }));
  await column.findByText("Lowest cost");
  column.getByText("$0.0200");
  within(screen.getByRole("region", { name: "Acme Image" })).getByText("Fastest");
  expect(router.callsOf(`POST ${IMAGES}`).map(({ body }) => body)).toEqual([
    { model: "acme/image", prompt: "a kite" },
    { model: "acme/second", prompt: "a kite" },
  ]);
});

test("a running video is in the history, and a click resumes it", async () => {
  const video = generation("v1", {
    ...{ kind: "video", model: "acme/video", status: "running", cost: null, finished_at: null },
    ...{ data: [], progress: 40, latency: null },
  });
  playgroundRouter()
    .on(`GET ${REQUESTS}`, () => ({ data: [video], next: null }))
    .on(`GET ${REQUESTS}/v1`, () => video);
  openApp(`${PLAYGROUND}?tab=video`);
  fireEvent.click(await screen.findByRole("button", { name: "a kite, running" }));
  await screen.findByLabelText("40 % done");
  click("Cancel");
  const dialog = within(await screen.findByRole("dialog"));
  await waitFor(() => expect(document.activeElement?.textContent).toBe("Continue the request"));
  dialog.getByText(/It costs nothing if its provider stops in time/);
});

test("a viewer reads which role the playground needs", async () => {
  playgroundRouter([IMAGE], "viewer");
  openApp(PLAYGROUND);
  await screen.findByText("Your role does not allow this");
  expect(screen.queryByLabelText("Prompt")).toBeNull();
});

test("states without models or with a failure say so", async () => {
  playgroundRouter([]);
  openApp(PLAYGROUND);
  await screen.findByText("No model is available yet");
  reloadApp();
  playgroundRouter([IMAGE]);
  openApp(`${PLAYGROUND}?tab=edit`);
  await screen.findByText("No model here edits images");
  reloadApp();
  playgroundRouter().on("GET /v1/models", () =>
    errorAnswer(400, "invalid_value", "The list cannot be read."),
  );
  openApp(PLAYGROUND);
  await screen.findByText("The list cannot be read.");
  screen.getByRole("button", { name: "Try again" });
});
