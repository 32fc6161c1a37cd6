// The list below classifies every route of the public API as spending or free; a route without a row fails. A spending
// route refuses a request above the key's limit before anything is sent, and below it moves the ledger by the bill.

import { routeTable, rowOf } from "@gr/gateway/simulated";
import { PICO_PER_CREDIT } from "@gr/money";
import { until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { call, remainingCredits, simulatorBill } from "../e2e/http.ts";
import { type Router, startRouter } from "../e2e/topology.ts";

const image = { model: "sandbox/image", prompt: "a kite", size: "1024x1024" };
const PICTURE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const chat = { model: "sandbox/chat", messages: [{ role: "user", content: "hi" }], max_tokens: 16 };

/** Bodies that each spending route charges for. */
const spending: Readonly<Record<string, readonly object[]>> = {
  "POST /v1/compat/chat/completions": [chat, { ...chat, stream: true }],
  "POST /v1/compat/responses": [{ model: "sandbox/chat", input: "hi", max_output_tokens: 16 }],
  "POST /v1/compat/images/generations": [image, { ...image, n: 3 }],
  "POST /v1/compat/images/edits": [{ ...image, model: "sandbox/image-edit", image: PICTURE }],
  "POST /v1/compat/videos": [{ model: "sandbox/video", prompt: "a kite", seconds: "2" }],
  "POST /v1/compat/videos/generations": [{ model: "sandbox/video", prompt: "a kite", seconds: 2 }],
};

/** Routes that cost nothing, with a path and a body that they accept from a normal key, or refuse for its kind. */
const free: Readonly<Record<string, readonly [path: string, body?: object]>> = {
  "POST /v1/quote/chat/completions": ["/v1/quote/chat/completions", chat],
  "POST /v1/quote/responses": ["/v1/quote/responses", { model: "sandbox/chat", input: "hi" }],
  "POST /v1/quote/images/generations": ["/v1/quote/images/generations", image],
  "POST /v1/quote/images/edits": ["/v1/quote/images/edits", { ...image, image: PICTURE }],
  "POST /v1/quote/videos/generations": [
    "/v1/quote/videos/generations",
    { model: "sandbox/video", prompt: "a" },
  ],
  "POST /v1/quote/videos": ["/v1/quote/videos", { model: "sandbox/video", prompt: "a", seconds: "2" }],
  "GET /v1/compat/videos": ["/v1/compat/videos"],
  "GET /v1/compat/videos/{id}": ["/v1/compat/videos/00000000-0000-4000-8000-000000000000"],
  "GET /v1/compat/videos/{id}/content": ["/v1/compat/videos/00000000-0000-4000-8000-000000000000/content"],
  "DELETE /v1/compat/videos/{id}": ["/v1/compat/videos/00000000-0000-4000-8000-000000000000"],
  "GET /v1/webhooks/deliveries": ["/v1/webhooks/deliveries"],
  "POST /v1/webhooks/deliveries/{id}/redeliver": ["/v1/webhooks/deliveries/none/redeliver", {}],
  "GET /v1/account/webhooks/receivers": ["/v1/account/webhooks/receivers"],
  "POST /v1/account/webhooks/receivers": [
    "/v1/account/webhooks/receivers",
    { url: "https://example.com/hooks" },
  ],
  "DELETE /v1/account/webhooks/receivers/{id}": ["/v1/account/webhooks/receivers/none"],
  "GET /v1/account/webhooks/secrets": ["/v1/account/webhooks/secrets"],
  "POST /v1/account/webhooks/secrets": ["/v1/account/webhooks/secrets"],
  "GET /v1/account/webhooks/deliveries": ["/v1/account/webhooks/deliveries"],
  "POST /v1/account/webhooks/deliveries/{id}/redeliver": [
    "/v1/account/webhooks/deliveries/none/redeliver",
    {},
  ],
  "GET /v1/generations": ["/v1/generations"],
  "GET /v1/generations/{id}": ["/v1/generations/00000000-0000-4000-8000-000000000000"],
  "GET /v1/generations/{id}/text": ["/v1/generations/00000000-0000-4000-8000-000000000000/text"],
  "DELETE /v1/generations/{id}": ["/v1/generations/00000000-0000-4000-8000-000000000000"],
  "GET /media/{name}": ["/media/none.png"],
  "GET /v1/models": ["/v1/models"],
  "GET /v1/models/{path}": ["/v1/models/sandbox/chat"],
  "GET /v1/compat/models": ["/v1/compat/models"],
  "GET /v1/compat/models/{path}": ["/v1/compat/models/sandbox/chat"],
  "POST /v1/api-keys": ["/v1/api-keys", { name: "k" }],
  "GET /v1/api-keys": ["/v1/api-keys"],
  "DELETE /v1/api-keys/{id}": ["/v1/api-keys/none"],
  "POST /v1/budgets": ["/v1/budgets", { name: "b" }],
  "GET /v1/budgets": ["/v1/budgets"],
  "PATCH /v1/budgets/{id}": ["/v1/budgets/none", { name: "b" }],
  "POST /v1/auth/test": ["/v1/auth/test"],
  "GET /v1/credits": ["/v1/credits"],
  "GET /v1/activity": ["/v1/activity"],
};

let router: Router;
beforeAll(async () => {
  router = await startRouter("all-in-one", { inProcess: true });
});
afterAll(() => router?.dispose());

async function mint(limit: number): Promise<string> {
  const body = { name: `limit ${limit}`, spend_limit: limit };
  const { body: minted } = await call(router, "POST", "/v1/api-keys", { key: router.managementKey, body });
  return minted.key;
}

async function jobCompletes(id: string, key: string): Promise<void> {
  const isCompleted = async () =>
    (await call(router, "GET", `/v1/compat/videos/${id}`, { key })).body.status === "completed";
  await until(isCompleted, { timeoutMs: 60_000 });
}

const books = async () => ({
  credits: await remainingCredits(router),
  billed: (await simulatorBill(router)).total,
});

test("each route of the API's description has one row here, and the gateway's table agrees on what spends", async () => {
  const { body } = await call(router, "GET", "/openapi.json");
  const described = Object.entries(body.paths as Record<string, object>).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect([...Object.keys(spending), ...Object.keys(free)].sort()).toEqual(described.sort());
  for (const [list, spends] of [
    [spending, true],
    [free, false],
  ] as const) {
    for (const route of Object.keys(list)) {
      const [method = "", path = ""] = route.split(" ");
      expect([route, rowOf(path, method)?.spends]).toEqual([route, spends]);
    }
  }
  const undescribed = routeTable.filter(
    ({ prefix }) => !described.some((route) => (route.split(" ")[1] ?? "").startsWith(prefix)),
  );
  expect(undescribed.map(({ internal, spends }) => [internal, spends])).toEqual(
    undescribed.map(() => [true, false]),
  );
});

const cases = Object.entries(spending).flatMap(([route, bodies]) => bodies.map((body) => ({ route, body })));

test.each(cases)(
  "$route $body is refused above the limit before anything is sent",
  async ({ route, body }) => {
    const [method = "", path = ""] = route.split(" ");
    const before = await books();
    const refused = await call(router, method, path, { key: await mint(0), body });
    expect([refused.status, refused.body.error?.code]).toEqual([402, "spend_limit_exceeded"]);
    expect(await books()).toEqual(before);
  },
);

test.each(cases)("$route $body moves the ledger by the bill, rounded up once", async ({ route, body }) => {
  const [method = "", path = ""] = route.split(" ");
  const before = await books();
  const key = await mint(5);
  const answer = await call(router, method, path, { key, body });
  expect([200, 202]).toContain(answer.status);
  if (answer.status === 202) await jobCompletes(answer.body.id, key);
  const after = await books();
  const billed = after.billed - before.billed;
  expect(billed).toBeGreaterThan(0n);
  expect(before.credits - after.credits).toBe((billed + PICO_PER_CREDIT - 1n) / PICO_PER_CREDIT);
});

test.each(Object.entries(free))("%s costs nothing", async (route, [path, body]) => {
  const [method = ""] = route.split(" ");
  const before = await books();
  const answer = await call(router, method, path, body === undefined ? {} : { body });
  expect(answer.status).toBeLessThan(500);
  expect(await books()).toEqual(before);
});

test.each(cases)("$route $body refuses a limit of another API by its name", async ({ route, body }) => {
  const [method = "", path = ""] = route.split(" ");
  const before = await books();
  for (const name of ["max_budget", "budget", "credit_limit", "max_cost"]) {
    const refused = await call(router, method, path, { body: { ...body, [name]: 0.01 } });
    expect([refused.status, refused.body.error?.param]).toEqual([400, name]);
  }
  expect(await books()).toEqual(before);
});
