// The simulated statements: in the source's wire format, by UTC day and model, of their own upstream only, to the last
// unit of the bill; a surcharge is on them and nowhere else.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type RunningSimulator, startSimulator } from "../server.ts";

const DAY_MS = 86_400_000;
const authorization = "Bearer key";
let dataDir: string;
let simulator: RunningSimulator;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "statement-"));
  simulator = await startSimulator({ host: "127.0.0.1", port: 0, dataDir, drawing: false });
});
afterAll(async () => {
  await simulator?.close();
  await rm(dataDir, { recursive: true });
});

async function ask(method: string, path: string, body?: object) {
  const response = await fetch(`${simulator.url}${path}`, {
    method,
    headers: { authorization, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, body: text === "" ? undefined : JSON.parse(text) };
}

const chat = (upstream: string, model: string) =>
  ask("POST", `${upstream}/chat/completions`, { model, messages: [{ role: "user", content: "How tall?" }] });
/** Both days, should the test run over midnight. */
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
const start = Math.floor(Date.now() / DAY_MS) * DAY_MS;

async function activity() {
  const { body } = await ask("GET", "/openrouter/api/v1/activity");
  return body.data as { date: string; model: string; usage: number; requests: number }[];
}

async function costs() {
  const query = `start_time=${start / 1_000}&end_time=${start / 1_000 + 2 * 86_400}&group_by=line_item`;
  const first = await ask("GET", `/openai/v1/organization/costs?${query}&limit=1`);
  const second = await ask(
    "GET",
    `/openai/v1/organization/costs?${query}&limit=1&page=${first.body.next_page}`,
  );
  expect([first.body.has_more, second.body.has_more, second.body.next_page]).toEqual([true, false, null]);
  const buckets = [...first.body.data, ...second.body.data];
  expect(buckets.map((bucket) => bucket.start_time)).toEqual([start / 1_000, start / 1_000 + 86_400]);
  return buckets.flatMap((bucket) => bucket.results);
}

test("each statement has the bill of its own upstream, also after a restart", async () => {
  for (const model of ["sandbox/chat", "sandbox/chat", "sandbox/chat-vision"]) {
    expect((await chat("/openrouter/api/v1", model)).status).toBe(200);
  }
  await chat("/openai/v1", "sandbox/chat");
  await chat("/local/v1", "sandbox/chat");
  await ask("POST", "/openai/v1/images/generations", { model: "sandbox/image", prompt: "a kite" });
  await simulator.close();
  simulator = await startSimulator({ host: "127.0.0.1", port: 0, dataDir, drawing: false });
  const bill = (await ask("GET", "/bill")).body.items as { pico_usd: string }[];
  const billed = (index: number) => Number(bill[index]?.pico_usd) / 1e12;
  const rows = await activity();
  const requests = (model: string) =>
    rows.filter((row) => row.model === model).reduce((sum, row) => sum + row.requests, 0);
  expect([requests("sandbox/chat"), requests("sandbox/chat-vision")]).toEqual([2, 1]);
  expect(rows.reduce((sum, { usage }) => sum + usage, 0)).toBeCloseTo(billed(0) + billed(1) + billed(2), 12);
  const items = await costs();
  expect(items.map((item) => item.line_item).sort()).toEqual([
    "sandbox/chat, simulated",
    "sandbox/image, simulated",
  ]);
  const sum = items.reduce((total, { amount }) => total + amount.value, 0);
  expect(sum).toBeCloseTo(billed(3) + billed(5), 12);
});

test("a surcharge is for later requests of its model at its upstream, and on the statement only", async () => {
  const sumOf = async () => (await activity()).reduce((sum, { usage }) => sum + usage, 0);
  const [before, billBefore] = [await sumOf(), (await ask("GET", "/bill")).body.total_pico_usd];
  const put = await ask("PUT", "/surcharges/openrouter", {
    model: "sandbox/chat",
    pico_usd: "2000000000000",
  });
  expect(put.status).toBe(204);
  expect(await sumOf()).toBe(before);
  const { body } = await chat("/openrouter/api/v1", "sandbox/chat");
  expect((await sumOf()) - before).toBeCloseTo(2 + body.usage.cost, 9);
  const bill = (await ask("GET", "/bill")).body.total_pico_usd;
  expect(Number(BigInt(bill) - BigInt(billBefore)) / 1e12).toBeCloseTo(body.usage.cost, 12);
});

test.each([
  ["GET", `/openrouter/api/v1/activity?date=${dayOf(start - 40 * DAY_MS)}`, undefined],
  ["GET", "/openrouter/api/v1/activity?date=2026-02-30", undefined],
  ["GET", "/openai/v1/organization/costs", undefined],
  ["GET", "/openai/v1/organization/costs?start_time=1&limit=181", undefined],
  ["GET", "/openai/v1/organization/costs?start_time=1&bucket_width=1h", undefined],
  ["PUT", "/surcharges/fal", { model: "m", pico_usd: "1" }],
  ["PUT", "/surcharges/openai", { model: "m", pico_usd: "1.5" }],
])("%s %s is refused", async (method, path, body) => {
  expect((await ask(method, path, body)).status).toBe(400);
});
