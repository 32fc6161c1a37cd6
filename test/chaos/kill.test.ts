// kill -9 of the whole router under load. Afterwards the ledger verifies, no hold outlives its deadline, and the
// upstream's bill is in our books to the last unit, charged or lost.

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Hold, HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { call } from "../e2e/http.ts";
import { billingOf, overdueHolds } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { SHORT_WAITS } from "./mixed-load.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const RUNNING = 50;

describe("kill -9", () => {
  let upstream: Upstream;
  let dataDir: string;
  let router: Router | undefined;
  // The upstream outlives the router, like a real one.
  const env = () => ({
    ...upstream.env,
    ...SHORT_WAITS,
    HOLD_GRACE_MS: "1000",
  });

  beforeEach(async () => {
    upstream = await startUpstream({ tokenDelayMs: 150, imageDelayMs: 3_000 });
    dataDir = await mkdtemp(join(tmpdir(), "generation-router-kill-"));
  });
  afterEach(async () => {
    await router?.dispose();
    await upstream.close();
  });

  test(`of the process during ${RUNNING} running requests loses and doubles nothing`, async () => {
    router = await startRouter("all-in-one", { dataDir, env: env() });
    const before = router;
    const requests = Array.from({ length: RUNNING }, (_, index) => {
      const prompt = `request ${index} #tokens=100`;
      const [path, body] =
        index % 10 === 0
          ? ["images/generations", { model: "sandbox/image", prompt }]
          : [
              "chat/completions",
              { model: "sandbox/chat", stream: true, messages: [{ role: "user", content: prompt }] },
            ];
      return call(before, "POST", `/v1/compat/${path}`, { body }).catch(() => undefined);
    });
    const billing = await billingOf(dataDir);
    // All of them have been admitted; on a slow machine the first may have ended by then, but not the last.
    let holds: readonly Hold[] = [];
    const areAdmitted = async () => {
      ({ holds } = await billing.listHolds({ limit: 1_000 }));
      return holds.length >= RUNNING;
    };
    await until(areAdmitted, { timeoutMs: 60_000 });
    await router.kill();
    expect(holds.some(({ state }) => state === HoldState.OPEN)).toBe(true);
    await Promise.all(requests);

    router = await startRouter("all-in-one", { dataDir, env: env() });
    const reborn = await billingOf(dataDir);
    await until(async () => (await reborn.verifyLedger({})).openHolds === 0n, { timeoutMs: 60_000 });
    expect(await overdueHolds(reborn)).toEqual([]);
    const verdict = await reborn.verifyLedger({});
    expect(verdict.differences).toEqual([]);
    expect(verdict.holds).toBeGreaterThan(0n);
    const booked = BigInt(verdict.chargedCostPicoUsd) + BigInt(verdict.lostCostPicoUsd);
    expect(booked).toBe((await upstream.bill()).total);
    const again = await call(router, "POST", "/v1/compat/chat/completions", {
      body: { model: "sandbox/chat", messages: [{ role: "user", content: "still there?" }] },
    });
    expect(again.status).toBe(200);
  });
});
