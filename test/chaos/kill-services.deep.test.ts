// F1–F4, F23: under load, kill -9 of each service, of PostgreSQL and of Redis, one after the other. Everything comes
// back by itself, and the money is exact: every answer was charged once, no refusal was, and a repeated
// Idempotency-Key never leads to a second charge.
import { creditsOf } from "@gr/money";
import { until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { noOpenHolds } from "./books.ts";
import { flushRedis } from "./flush-redis.ts";
import { type RunningLoad, seededRandom, startLoad, tally } from "./load.ts";
import { expectExactMoney, mixOf, openCustomer } from "./mixed-load.ts";
import { killProcess, pidOf } from "./processes.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const SEED = 20_261_121;
const VICTIMS = [
  "gateway",
  "keys",
  "billing",
  "catalog",
  "text-proxy",
  "media-generation",
  "postgres",
  "redis",
] as const;
const LOAD = { perSecond: 60, most: 4_000, together: 32, backOffMs: 1_000 };
/** A process that dies blocks its holds for some seconds; an answer may take as long as a slow machine needs. */
const ENV = {
  TEXT_TOTAL_TIMEOUT_MS: "60000",
  HOLD_LEASE_MS: "6000",
  TEXT_HEADERS_TIMEOUT_MS: "6000",
  MEDIA_TIMEOUT_MS: "6000",
  MEDIA_LEASE_MS: "2000",
  HOLD_GRACE_MS: "8000",
  RESOLVE_INTERVAL_MS: "500",
};
const BACK_MS = 40_000;
const RESOLVED_MS = 60_000;

let upstream: Upstream;
let router: Router;
beforeEach(async () => {
  upstream = await startUpstream({ tokenDelayMs: 10, imageDelayMs: 100 });
  router = await startRouter("split", { env: { ...upstream.env, ...ENV } });
}, 240_000);
afterEach(async () => {
  await router?.dispose();
  await upstream?.close();
}, 60_000);

test("kill -9 of each process in turn loses nothing and charges nothing twice", async () => {
  const random = seededRandom(SEED);
  const customers = await Promise.all([
    openCustomer(router.dataDir, { careful: true }),
    openCustomer(router.dataDir, { careful: true }),
    openCustomer(router.dataDir, { careful: false, cap: creditsOf("0.02") }),
    openCustomer(router.dataDir, { careful: false }),
    openCustomer(router.dataDir, { careful: false }),
  ]);
  const mix = mixOf(random, router.baseUrl, customers);
  const load = startLoad(mix, LOAD);
  try {
    for (const victim of VICTIMS) {
      await someAnswers(load, 10 + Math.floor(random() * 40));
      await killAndAwaitReturn(load, victim);
    }
  } finally {
    await load.end();
  }
  expect(load.sent.filter(({ error }) => /TIMEOUT/.test(error?.code ?? ""))).toEqual([]);
  await noOpenHolds(router.dataDir, RESOLVED_MS);
  expect(await expectExactMoney(router.dataDir, upstream, customers, load.sent)).toBeGreaterThan(0);
}, 300_000);

async function killAndAwaitReturn(load: RunningLoad, victim: string): Promise<void> {
  if (victim === "redis") await flushRedis(router.dataDir);
  const before = await killProcess(router.pid, victim);
  await until(async () => (await pidOf(router.pid, victim)) !== before, { timeoutMs: BACK_MS });
  // Both kinds of work are done again.
  const paid = (path: RegExp) =>
    load.sent.filter(({ conclusion, order }) => conclusion === "paid" && path.test(order.path)).length;
  const [chats, images] = [paid(/chat/), paid(/images/)];
  const back = () => {
    if (paid(/chat/) > chats + 10 && paid(/images/) > images) return true;
    throw new Error(`after a kill of ${victim}: ${JSON.stringify(tally(load.sent))} of ${load.started()}`);
  };
  await until(back, { timeoutMs: BACK_MS });
}

async function someAnswers(load: RunningLoad, count: number): Promise<void> {
  const enough = load.sent.length + count;
  await until(() => load.sent.length >= enough, { timeoutMs: BACK_MS });
}
