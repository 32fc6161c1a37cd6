// Text upstreams without listed prices. One of kind openai lists ids. Its models are charged at the price list's
// prices, to the unit of its bill. A self-hosted server, which needs no key, serves the models of the operator's
// catalogue.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chargeOf, creditsOf } from "@gr/money";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { freePort, until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { call } from "./http.ts";
import { type Router, startRouter } from "./topology.ts";

let simulator: RunningSimulator;
let router: Router;
let folder: string;

/** A model of the operator's own server, where it has another name. */
const own = {
  id: "local/chat",
  type: "text",
  name: "Local Chat",
  owned_by: "local",
  capabilities: ["chat"],
  usd_per_million: { input: "10", output: "20" },
  routes: [{ upstream: "local", upstream_model: "sandbox/chat" }],
  source: "ours",
  as_of: "2026-11-22",
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "own-catalogue-"));
  simulator = await startSimulator({ host: "127.0.0.1", port: await freePort() });
  const upstreams = [
    { name: "openai", kind: "openai", base_url: `${simulator.url}/openai/v1` },
    { name: "local", kind: "openai-compatible", base_url: `${simulator.url}/local/v1`, billed: false },
  ];
  const env = {
    TEXT_UPSTREAMS: JSON.stringify(upstreams),
    TEXT_UPSTREAM_KEYS: '{"openai":"any"}',
    CATALOG_DIR: folder,
  };
  router = await startRouter("all-in-one", { inProcess: true, env });
});
afterAll(async () => {
  await router?.dispose();
  await simulator?.close();
  await rm(folder, { recursive: true });
});

test("its priced models are listed, a chat completion works, and what it costs is charged", async () => {
  const { body: list } = await call(router, "GET", "/v1/compat/models", { key: null });
  expect(list.data.map(({ id }: { id: string }) => id)).toEqual(["sandbox/chat", "sandbox/chat-vision"]);
  const messages = [{ role: "user", content: "hello?" }];
  const { status, body } = await call(router, "POST", "/v1/compat/chat/completions", {
    body: { model: "sandbox/chat", messages },
  });
  expect(status).toBe(200);
  const bill = (await (await fetch(`${simulator.url}/bill`)).json()) as { total_pico_usd: string };
  const charge = chargeOf(BigInt(bill.total_pico_usd));
  expect(charge).toBeGreaterThan(0n);
  expect(creditsOf(String(body.cost))).toBe(charge);
  const { body: credits } = await call(router, "GET", "/v1/credits");
  expect(creditsOf(credits.credit_usage)).toBe(charge);
});

test("a model that is written into CATALOG_DIR while the router runs is served by its upstream name, at its own price", async () => {
  await writeFile(join(folder, "mine.json"), JSON.stringify({ models: [own] }));
  const listed = () => call(router, "GET", `/v1/compat/models/${own.id}`, { key: null });
  await until(async () => (await listed()).status === 200, { timeoutMs: 60_000 });
  const answer = await call(router, "POST", "/v1/compat/chat/completions", {
    body: { model: own.id, messages: [{ role: "user", content: "hello?" }] },
  });
  expect(answer.status).toBe(200);
  const { prompt_tokens: input, completion_tokens: output } = answer.body.usage;
  expect(creditsOf(String(answer.body.cost))).toBe(
    chargeOf(BigInt(input) * 10_000_000n + BigInt(output) * 20_000_000n),
  );
});
