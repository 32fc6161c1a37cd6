// F20, F21: every upstream answers 503 to everything for a while. Each request asks at most once: an upstream sees no
// more requests than the router. A breaker refuses none of them. After the upstream's return every request is answered
// again.
import { creditsOf } from "@gr/money";
import { until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, noOpenHolds } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { chat, image, sendAll, startLoad, tally } from "./load.ts";
import type { Sent } from "./send-order.ts";
import { startGate, startUpstream, type Upstream } from "./upstream.ts";

const STORM = 300;
const ENV = {
  RATE_LIMIT_TEXT_PER_SECOND: "0",
  RATE_LIMIT_MEDIA_PER_SECOND: "0",
  HOLD_GRACE_MS: "3000",
  RESOLVE_INTERVAL_MS: "500",
  TEXT_BREAKER_PAUSE_MS: "500",
};
const PATIENCE_MS = 90_000;

/** Proxy before the simulator. */
let gate: Pick<Upstream, "env" | "close">;
let isDown = false;
/** Generation requests during the outage. */
let attempts = 0;
let upstream: Upstream;
let router: Router;

beforeAll(async () => {
  upstream = await startUpstream();
  gate = await startGate(upstream, ({ method }, _body, outgoing) => {
    if (!isDown || method !== "POST") return false;
    attempts += 1;
    outgoing.writeHead(503, { "content-type": "application/json" }).end('{"error":{"message":"overloaded"}}');
    return true;
  });
  router = await startRouter("all-in-one", { sharedPostgres: true, env: { ...gate.env, ...ENV } });
});
afterAll(async () => {
  await router?.dispose();
  await gate?.close();
  await upstream?.close();
});

test(`${STORM} requests to upstreams that only answer 503 are ${STORM} attempts at most, and after that all are answered again`, async () => {
  const account = await openAccount(router.dataDir, creditsOf("100"));
  const { secret } = await mintKey(router.dataDir, account);
  const order = (index: number) => ({
    ...(index % 3 === 0 ? image(`image ${index}`) : chat(5, index % 3 === 1)),
    baseUrl: router.baseUrl,
    secret,
  });
  const three = () => sendAll([0, 1, 2].map(order)).all();
  const before = await three();
  expect(tally(before)).toEqual({ 200: 3 });

  isDown = true;
  const storm = await startLoad(order, { perSecond: 500, most: STORM, together: 50 }).all();
  expect(storm.filter(({ conclusion }) => conclusion !== "refused")).toEqual([]);
  expect(new Set(storm.map(({ status }) => status))).toEqual(new Set([503]));
  expect(attempts).toBe(STORM);
  isDown = false;

  const after: Sent[] = [];
  await until(
    async () => {
      const sent = await three();
      after.push(...sent);
      return tally(sent)[200] === 3;
    },
    { timeoutMs: PATIENCE_MS },
  );
  await noOpenHolds(router.dataDir, PATIENCE_MS);
  const answered = tally([...before, ...after])[200];
  expect(await expectHonestAnswers(router.dataDir, account, [...before, ...storm, ...after])).toBe(answered);
  await expectExactBooks(router.dataDir, upstream, [account]);
});
