// A text upstream of kind openai, which lists ids and no prices: its models can be called, and are charged at the price
// list's prices, to the unit of what the upstream bills.
import { chargeOf, creditsOf } from "@gr/money";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { freePort } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { call } from "./http.ts";
import { type Router, startRouter } from "./topology.ts";

let simulator: RunningSimulator;
let router: Router;

beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: await freePort() });
  const env = {
    TEXT_UPSTREAM_KIND: "openai",
    TEXT_UPSTREAM_BASE_URL: `${simulator.url}/openai/v1`,
    TEXT_UPSTREAM_API_KEY: "any",
  };
  router = await startRouter("all-in-one", { sharedPostgres: true, env });
});
afterAll(async () => {
  await router?.dispose();
  await simulator?.close();
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
