// Guarantees of faults of whole upstreams: each belongs to one upstream, remains until its deletion, and bills
// nothing. A self-hosted server answers without a key.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type RunningSimulator, startSimulator } from "../server.ts";
import { chat, TestClient } from "../test-client.ts";

const PATHS = {
  openrouter: "/openrouter/api/v1/chat/completions",
  openai: "/openai/v1/chat/completions",
  local: "/local/v1/chat/completions",
};
let simulator: RunningSimulator;
let client: TestClient;

beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  client = new TestClient(simulator.url);
});
afterAll(() => simulator.close());

const put = (upstream: string, fault: unknown) =>
  fetch(`${simulator.url}/faults/${upstream}`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(fault),
  });
const statuses = async () => {
  const all: number[] = [];
  for (const path of Object.values(PATHS))
    all.push((await client.post(path, chat("sandbox/chat", "hi"))).status);
  return all;
};

test("a fault is of one upstream, until it is taken off, and bills nothing", async () => {
  const before = (await client.bill()).items.length;
  expect((await put("openai", { status: 429, retry_after: 7 })).status).toBe(204);
  expect(await statuses()).toEqual([200, 429, 200]);
  const refused = await client.post(PATHS.openai, chat("sandbox/chat", "hi"));
  expect(refused.headers.get("retry-after")).toBe("7");
  expect(JSON.parse(refused.text)).toMatchObject({ error: { code: "rate_limit_exceeded" } });
  expect((await client.bill()).items.length).toBe(before + 2);
  await put("local", { status: 502, page: true });
  expect((await client.post(PATHS.local, chat("sandbox/chat", "hi"))).text).toMatch(/^<html>/);
  for (const upstream of ["openai", "local"]) {
    await fetch(`${simulator.url}/faults/${upstream}`, { method: "DELETE" });
  }
  expect(await statuses()).toEqual([200, 200, 200]);
});

test("the lists of models stay, so that a router knows what there is", async () => {
  await put("openrouter", { status: 500 });
  expect((await client.get("/openrouter/api/v1/models")).status).toBe(200);
  await fetch(`${simulator.url}/faults/openrouter`, { method: "DELETE" });
});

test("what is no fault is refused", async () => {
  expect((await put("openai", { status: 200 })).status).toBe(400);
  expect((await put("elsewhere", { status: 500 })).status).toBe(400);
});

test("a server of one's own lists ids, and needs no key", async () => {
  const models = (await (await fetch(`${simulator.url}/local/v1/models`)).json()) as {
    data: { id: string }[];
  };
  expect(models.data.map(({ id }) => id)).toContain("sandbox/chat");
  const response = await fetch(simulator.url + PATHS.local, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(chat("sandbox/chat", "hi")),
  });
  expect(await response.json()).toMatchObject({ object: "chat.completion", usage: { prompt_tokens: 5 } });
});
