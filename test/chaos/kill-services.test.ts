// F1–F4, F23: under load, kill -9 of each service, of PostgreSQL and of Redis, one after the other. Everything comes
// back by itself, and the money is exact: every answer was charged once, no refusal was, and a repeated
// Idempotency-Key never leads to a second charge.
import { creditsOf } from "@gr/money";
import { until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, noOpenHolds } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { flushRedis } from "./flush-redis.ts";
import { chat, image, pick, type RunningLoad, seededRandom, startLoad, tally } from "./load.ts";
import { killProcess, pidOf } from "./processes.ts";
import type { Order, Sent } from "./send-order.ts";
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
/** An answer is settled well within the grace, also when billing is away for a while. */
const ENV = {
  TEXT_TOTAL_TIMEOUT_MS: "6000",
  TEXT_HEADERS_TIMEOUT_MS: "6000",
  MEDIA_TIMEOUT_MS: "6000",
  MEDIA_LEASE_MS: "2000",
  HOLD_GRACE_MS: "8000",
  RESOLVE_INTERVAL_MS: "500",
};
const REPEATS = 5;
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
  const customers = [
    await customer({ careful: true }),
    await customer({ careful: true }),
    await customer({ careful: false, cap: creditsOf("0.02") }),
    await customer({ careful: false }),
    await customer({ careful: false }),
  ];
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
  const repeated = await repeatUnknown(load.sent.filter(({ order }) => order.idempotencyKey !== undefined));
  const sent = [...load.sent, ...repeated];
  for (const { accountId, secrets, careful } of customers) {
    const answers = sent.filter(({ order }) => secrets.includes(order.secret));
    const charges = await expectHonestAnswers(router.dataDir, accountId, answers);
    expect(charges).toBeGreaterThan(10);
    // Who repeats until there is an answer pays for that answer, and for nothing else.
    const answered = answers.filter(({ conclusion }) => conclusion === "paid");
    if (careful) expect(charges).toBe(new Set(answered.map(keyOf)).size);
  }
  await expectExactBooks(
    router.dataDir,
    upstream,
    customers.map(({ accountId }) => accountId),
  );
}, 300_000);

interface Customer {
  readonly accountId: string;
  readonly secrets: readonly string[];
  /** Gives every order an Idempotency-Key, and sends some twice. */
  readonly careful: boolean;
}

async function customer(traits: { careful: boolean; cap?: bigint }): Promise<Customer> {
  const accountId = await openAccount(router.dataDir, creditsOf("10"));
  const keys = [
    await mintKey(router.dataDir, accountId),
    await mintKey(router.dataDir, accountId, traits.cap === undefined ? {} : { cap: traits.cap }),
  ];
  return { accountId, secrets: keys.map(({ secret }) => secret), careful: traits.careful };
}

/** Text whole and streamed, and images. */
function mixOf(
  random: () => number,
  baseUrl: string,
  customers: readonly Customer[],
): (index: number) => Order {
  let last: Order | undefined;
  return (index) => {
    if (last !== undefined && random() < 0.05) return last;
    const kind = random();
    const what = kind < 0.08 ? image(`image ${index}`) : chat(20 + Math.floor(random() * 60), kind < 0.5);
    const { secrets, careful } = pick(random, customers);
    const order = { ...what, baseUrl, secret: pick(random, secrets) };
    if (!careful) return order;
    last = { ...order, idempotencyKey: `order ${index}` };
    return last;
  };
}

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

/** Sends each order whose outcome its caller does not know again, as it was, until there is an answer. */
async function repeatUnknown(sent: readonly Sent[]): Promise<Sent[]> {
  const paid = new Set(sent.filter(({ conclusion }) => conclusion === "paid").map(keyOf));
  const unknown = sent.filter((one) => one.conclusion === "unknown" && !paid.has(keyOf(one)));
  let orders = [...new Map(unknown.map((one) => [keyOf(one), one.order])).values()];
  expect(orders.length).toBeGreaterThan(0);
  const repeated: Sent[] = [];
  // A slow machine may make a request too late, which is an honest refusal and is free.
  for (let round = 0; round < REPEATS && orders.length > 0; round += 1) {
    const asked = orders;
    const answers = await startLoad((index) => asked[index] as Order, {
      perSecond: 200,
      most: asked.length,
      together: 8,
    }).all();
    repeated.push(...answers);
    orders = answers.filter(({ conclusion }) => conclusion !== "paid").map(({ order }) => order);
  }
  expect(orders).toEqual([]);
  return repeated;
}

const keyOf = ({ order }: Sent) => order.idempotencyKey;
