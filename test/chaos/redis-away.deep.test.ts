// Redis dies and is not restarted: the split topology still answers, and spend limits and books stay exact.
import { fileURLToPath } from "node:url";
import { type RedisServer, startRedis } from "@gr/embedded";
import { creditsOf } from "@gr/money";
import { until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, noOpenHolds } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { type Gateway, startGateway } from "./extra-gateway.ts";
import { chat, image, sendAll, startLoad, tally } from "./load.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const CACHE = fileURLToPath(new URL("../../.tools", import.meta.url));
const REQUESTS = 200;
const PARALLEL = 100;
const ALLOWED = 5;
const IMAGE_CREDITS = 100n;
/** Each gateway counts for itself, so the default limits of a key would be reached here. */
const ENV = { RATE_LIMIT_MEDIA_PER_SECOND: "1000", MEDIA_MAX_RUNNING: "1000" };
const PATIENCE = { timeoutMs: 180_000 };

let upstream: Upstream;
let redis: RedisServer;
let router: Router;
let other: Gateway;
beforeEach(async () => {
  upstream = await startUpstream({ imageDelayMs: 200 });
  redis = await startRedis({ cacheDir: CACHE });
  router = await startRouter("split", {
    sharedPostgres: true,
    env: { ...upstream.env, ...ENV, REDIS_URL: redis.url },
  });
  other = await startGateway(router, ENV);
});
afterEach(async () => {
  await other?.stop();
  await router?.dispose();
  await redis?.stop();
  await upstream?.close();
});

test("without Redis every request is answered as before, and charged exactly", async () => {
  const account = await openAccount(router.dataDir, creditsOf("10"));
  const { secret } = await mintKey(router.dataDir, account);
  const capped = await mintKey(router.dataDir, account, { cap: IMAGE_CREDITS * BigInt(ALLOWED) });
  const doorOf = (index: number) => (index % 2 === 0 ? router : other).baseUrl;

  const load = startLoad(
    (index) => ({
      ...(index % 20 === 0 ? image(`image ${index}`) : chat(20, index % 2 === 0)),
      baseUrl: doorOf(index >> 1),
      secret,
    }),
    { perSecond: 60, most: REQUESTS, together: 50 },
  );
  await until(() => load.sent.length >= REQUESTS / 4, PATIENCE);
  process.kill(redis.pid, "SIGKILL");
  await redis.exited;
  await until(() => load.started() === REQUESTS, PATIENCE);
  const answered = await load.end();
  expect(tally(answered)).toEqual({ 200: REQUESTS });

  const crowd = await sendAll(
    Array.from({ length: PARALLEL }, (_, index) => ({
      ...image(`one of many ${index}`),
      baseUrl: doorOf(index),
      secret: capped.secret,
    })),
  ).end();
  expect(tally(crowd)).toEqual({ 200: ALLOWED, "402 spend_limit_exceeded": PARALLEL - ALLOWED });

  await noOpenHolds(router.dataDir, PATIENCE.timeoutMs);
  const charges = await expectHonestAnswers(router.dataDir, account, [...answered, ...crowd]);
  expect(charges).toBe(REQUESTS + ALLOWED);
  await expectExactBooks(router.dataDir, upstream, [account]);
});
