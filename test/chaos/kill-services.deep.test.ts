// F1–F4, F23: under load, kill -9 of each service, of PostgreSQL and of Redis, one after the other, for some rounds.
// Every process recovers without help, and after each round the money is exact. Every answer was charged once, no
// refusal was, and a repeated Idempotency-Key never causes a second charge.
import { creditsOf } from "@gr/money";
import { until } from "@gr/testing";
import { Random } from "@gr/testing/random";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { billingOf } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { noOpenHolds } from "./books.ts";
import { flushRedis } from "./flush-redis.ts";
import { type RunningLoad, startLoad, tally } from "./load.ts";
import { type Customer, expectExactMoney, mixOf, openCustomer } from "./mixed-load.ts";
import { killProcess, pidOf } from "./processes.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

/** Seed of the first round; the next round has the next seed, so that each can run alone. */
const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_121);
/** Number of rounds; in each, all victims die once. */
const ROUNDS = Number(process.env["CHAOS_ROUNDS"] ?? 1);
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
const LOAD = { perSecond: 30, most: 4_000, together: 32, backOffMs: 1_000 };
/** A dead process blocks its holds for some seconds. An answer may need longer on a slow machine. */
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
const PATIENCE_MS = 600_000;

let upstream: Upstream;
let router: Router;
beforeEach(async () => {
  upstream = await startUpstream({ tokenDelayMs: 10, imageDelayMs: 100 });
  router = await startRouter("split", { env: { ...upstream.env, ...ENV } });
});
afterEach(async () => {
  await router?.dispose();
  await upstream?.close();
});

test(
  `kill -9 of each process in turn, rounds: ${ROUNDS}, loses nothing and charges nothing twice`,
  async () => {
    const customers: Customer[] = [];
    let repeated = 0;
    for (let seed = SEED; seed < SEED + ROUNDS; seed += 1) repeated += await round(seed, customers);
    expect(repeated).toBeGreaterThan(0);
  },
  ROUNDS * PATIENCE_MS,
);

/**
 * Runs a round with customers of its own, since one account shows only a limited number of holds.
 * @param earlier customers of the rounds before; those of this one are added
 * @returns the number of repeated orders
 */
async function round(seed: number, earlier: Customer[]): Promise<number> {
  const beganAt = performance.now();
  const random = new Random(seed);
  const customers = await openCustomers();
  const load = startLoad(mixOf(random, router.baseUrl, customers), LOAD);
  const victims = random.shuffled(VICTIMS);
  try {
    for (const victim of victims) {
      await someAnswers(load, random.between(10, 49));
      await killAndAwaitReturn(load, victim);
    }
  } finally {
    await load.end();
  }
  expect(load.sent.filter(({ error }) => /TIMEOUT/.test(error?.code ?? ""))).toEqual([]);
  await noOpenHolds(router.dataDir, RESOLVED_MS);
  const repeated = await expectExactMoney(router.dataDir, upstream, customers, load.sent, earlier);
  earlier.push(...customers);
  const { chargedCostPicoUsd, lostCostPicoUsd } = await (await billingOf(router.dataDir)).verifyLedger({});
  const facts = {
    seed,
    victims: victims.join(" "),
    answers: tally(load.sent),
    repeated,
    "billed so far": `${(await upstream.bill()).total} = ${chargedCostPicoUsd} + ${lostCostPicoUsd} pico-USD`,
    seconds: Math.round((performance.now() - beganAt) / 1_000),
  };
  process.stdout.write(`${JSON.stringify(facts)}\n`);
  return repeated;
}

/** Opens customers of both kinds, one with a spend limit. */
function openCustomers(): Promise<Customer[]> {
  const open = (traits: Parameters<typeof openCustomer>[1]) => openCustomer(router.dataDir, traits);
  return Promise.all([
    open({ careful: true }),
    open({ careful: true }),
    open({ careful: false, cap: creditsOf("0.02") }),
    open({ careful: false }),
    open({ careful: false }),
  ]);
}

async function killAndAwaitReturn(load: RunningLoad, victim: string): Promise<void> {
  if (victim === "redis") await flushRedis(router.dataDir);
  const before = await killProcess(router.pid, victim);
  await until(async () => (await pidOf(router.pid, victim)) !== before, { timeoutMs: BACK_MS });
  // Both kinds of work succeed again.
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
