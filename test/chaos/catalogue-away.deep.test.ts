// The catalogue is silent, then dead. Text and images are still served from the copies of the other services, at the
// same prices. After its return, all services have its changes again.
import { until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { call } from "../e2e/http.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { killProcess, pidOf } from "./processes.ts";

const PATIENCE = { timeoutMs: 180_000 };
const ROUNDS = 5;

let router: Router;
let stopped: number | undefined;
beforeEach(async () => {
  stopped = undefined;
  router = await startRouter("split", {
    sharedPostgres: true,
    // The list is polled often.
    env: { RATE_LIMIT_ANONYMOUS_PER_SECOND: "100000" },
  });
});
afterEach(async () => {
  // A stopped process would not receive the signal that ends it.
  if (stopped !== undefined) process.kill(stopped, "SIGCONT");
  await router?.dispose();
});

/** Requests a whole answer, a stream and an image. Returns their statuses, and the cost of the image. */
async function generate() {
  const messages = [{ role: "user", content: "are you there?" }];
  const chat = (stream: boolean) =>
    call(router, "POST", "/v1/compat/chat/completions", {
      body: { model: "sandbox/chat", messages, stream },
    });
  const [whole, streamed, image] = await Promise.all([
    chat(false),
    chat(true),
    call(router, "POST", "/v1/compat/images/generations", {
      body: { model: "sandbox/image", prompt: "a buoy" },
    }),
  ]);
  const ended = String(streamed.body).trimEnd().endsWith("data: [DONE]");
  return { statuses: [whole.status, streamed.status, image.status], ended, cost: image.body.cost };
}
const WELL = { statuses: [200, 200, 200], ended: true, cost: 0.01 };

const models = () => call(router, "GET", "/v1/models?type=all", { key: null });

test("requests are served while the catalogue is silent or dead, and the list is back with it", async () => {
  const { body: listed } = await models();
  expect(await generate()).toEqual(WELL);

  const pid = await pidOf(router.pid, "catalog");
  process.kill(pid, "SIGSTOP");
  stopped = pid;
  for (let round = 0; round < ROUNDS; round += 1) expect(await generate()).toEqual(WELL);
  const unknown = { body: { model: "sandbox/none", prompt: "a buoy" } };
  expect(await call(router, "POST", "/v1/compat/images/generations", unknown)).toMatchObject({ status: 404 });

  await killProcess(router.pid, "catalog");
  stopped = undefined;
  for (let round = 0; round < ROUNDS; round += 1) expect(await generate()).toEqual(WELL);

  await until(async () => (await pidOf(router.pid, "catalog")) !== pid, PATIENCE);
  await until(async () => (await models()).status === 200, PATIENCE);
  expect((await models()).body).toEqual(listed);
  expect(await generate()).toEqual(WELL);
});
