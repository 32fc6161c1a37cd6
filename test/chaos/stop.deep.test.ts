// F18: SIGTERM while many streams are open. Within the grace each ends whole, and all are settled at the end of the
// process. Longer ones are ended with an error or cut, and cost their clients nothing. The exit code is 0 either way.
import { creditsOf } from "@gr/money";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { billingOf } from "../e2e/operator.ts";
import { type Router, startRouter, type Topology, topologies } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, noOpenHolds } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { chat, type RunningLoad, sendAll, tally } from "./load.ts";
import type { Order } from "./send-order.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const STREAMS = 200;
/** Streams of one key; more at once would be above its rate limit. */
const STREAMS_OF_A_KEY = 50;
const TOKENS = 100;
const PATIENCE = { timeoutMs: 180_000 };
/** A slow machine needs its time for this number; the default is for platforms that wait for at most 30 s. */
const LONG_GRACE = { STOP_GRACE_MS: "90000" };
/** Streams of two minutes, far longer than a grace of 2 s. */
const ENDLESS_STREAMS = 40;
const ENDLESS_TOKENS = 3_000;
const SHORT_GRACE = {
  STOP_GRACE_MS: "2000",
  HOLD_LEASE_MS: "10000",
  HOLD_GRACE_MS: "5000",
  RESOLVE_INTERVAL_MS: "500",
};

describe.each(topologies)("SIGTERM during streams: %s", (topology: Topology) => {
  let upstream: Upstream;
  let router: Router;
  let account: string;
  beforeEach(async () => {
    upstream = await startUpstream({ tokenDelayMs: 40 });
  });
  afterEach(async () => {
    await router?.dispose();
    await upstream?.close();
  });

  /** Resolves when all of them have been admitted and some still run. */
  const startStreams = async (count: number, tokens: number): Promise<RunningLoad> => {
    account = await openAccount(router.dataDir, creditsOf("100"));
    const orders: Order[] = [];
    for (let left = count; left > 0; left -= STREAMS_OF_A_KEY) {
      const { secret } = await mintKey(router.dataDir, account);
      const order = { ...chat(tokens, true), baseUrl: router.baseUrl, secret };
      for (let one = 0; one < Math.min(left, STREAMS_OF_A_KEY); one += 1) orders.push(order);
    }
    const streams = sendAll(orders);
    const billing = await billingOf(router.dataDir);
    // On a slow machine the first may have ended by then.
    await until(async () => (await billing.verifyLedger({})).holds === BigInt(count), PATIENCE);
    expect((await billing.verifyLedger({})).openHolds).toBeGreaterThan(0n);
    return streams;
  };

  /** The remaining data are the same for either topology, and this one starts sooner. */
  const startAgain = async (env: Readonly<Record<string, string>>) => {
    router = await startRouter("all-in-one", {
      dataDir: router.dataDir,
      env: { ...upstream.env, ...env },
    });
  };

  test(`every one of ${STREAMS} ends whole, everything is settled, exit code 0`, async () => {
    router = await startRouter(topology, { env: { ...upstream.env, ...LONG_GRACE } });
    const streams = await startStreams(STREAMS, TOKENS);
    expect(await router.stop()).toBe(0);
    const sent = await streams.end();
    expect(tally(sent)).toEqual({ 200: STREAMS });

    await startAgain({});
    expect(await expectHonestAnswers(router.dataDir, account, sent)).toBe(STREAMS);
    await expectExactBooks(router.dataDir, upstream, [account]);
  });

  test("what does not end in time is cut, everything is settled later, exit code 0", async () => {
    router = await startRouter(topology, { env: { ...upstream.env, ...SHORT_GRACE } });
    const streams = await startStreams(ENDLESS_STREAMS, ENDLESS_TOKENS);
    expect(await router.stop()).toBe(0);
    const sent = await streams.end();
    expect(sent.filter(({ conclusion }) => conclusion === "paid")).toEqual([]);

    await startAgain(SHORT_GRACE);
    await noOpenHolds(router.dataDir, 180_000);
    await expectHonestAnswers(router.dataDir, account, sent);
    await expectExactBooks(router.dataDir, upstream, [account]);
  });
});
