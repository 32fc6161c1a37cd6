// F18: SIGTERM while many streams are open. Each ends by itself or with an error that says so, all are settled when
// the process has ended, and it ends with exit code 0.
import { creditsOf } from "@gr/money";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { billingOf } from "../e2e/operator.ts";
import { type Router, startRouter, type Topology, topologies } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { chat, sendAll, tally } from "./load.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const STREAMS = 100;
const TOKENS = 100;
const PATIENCE = { timeoutMs: 60_000 };

describe.each(topologies)(`SIGTERM during ${STREAMS} streams: %s`, (topology: Topology) => {
  let upstream: Upstream;
  let router: Router;
  beforeEach(async () => {
    upstream = await startUpstream({ tokenDelayMs: 40 });
    router = await startRouter(topology, { env: upstream.env });
  }, 240_000);
  afterEach(async () => {
    await router?.dispose();
    await upstream?.close();
  });

  test("every stream ends whole, everything is settled, exit code 0", async () => {
    const account = await openAccount(router.dataDir, creditsOf("10"));
    const { secret } = await mintKey(router.dataDir, account);
    const order = { ...chat(TOKENS, true), baseUrl: router.baseUrl, secret };
    const streams = sendAll(Array.from({ length: STREAMS }, () => order));
    const billing = await billingOf(router.dataDir);
    // All of them have been admitted; on a slow machine the first may have ended by then.
    await until(async () => (await billing.verifyLedger({})).holds === BigInt(STREAMS), PATIENCE);
    expect((await billing.verifyLedger({})).openHolds).toBeGreaterThan(0n);
    expect(await router.stop()).toBe(0);
    const sent = await streams.end();
    expect(tally(sent)).toEqual({ 200: STREAMS });

    // What is left is the same data for either topology, and this one is started sooner.
    router = await startRouter("all-in-one", { dataDir: router.dataDir, env: upstream.env });
    expect(await expectHonestAnswers(router.dataDir, account, sent)).toBe(STREAMS);
    await expectExactBooks(router.dataDir, upstream, [account]);
  });
});
