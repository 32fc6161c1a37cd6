// kill -9 of the whole router under load: afterwards the ledger adds up, no hold outlives its deadline, and what the
// upstream billed is in our books to the last unit, charged or lost.

import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { sandboxEnvironment } from "@gr/all-in-one";
import { startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { call } from "../e2e/http.ts";
import { billingOf, overdueHolds } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";

const RUNNING = 50;

describe("kill -9", () => {
  let simulator: Awaited<ReturnType<typeof startSimulator>>;
  let dataDir: string;
  let router: Router | undefined;
  // The upstream lives on while the router dies, as a real one would.
  const env = () => ({
    ...(sandboxEnvironment(simulator.url) as Record<string, string>),
    TEXT_TOTAL_TIMEOUT_MS: "4000",
    TEXT_HEADERS_TIMEOUT_MS: "4000",
    MEDIA_TIMEOUT_MS: "4000",
    HOLD_GRACE_MS: "1000",
    RESOLVE_INTERVAL_MS: "500",
  });

  beforeEach(async () => {
    simulator = await startSimulator({ host: "127.0.0.1", port: 0, tokenDelayMs: 30, imageDelayMs: 3_000 });
    dataDir = await mkdtemp(join(tmpdir(), "generation-router-kill-"));
  });
  afterEach(async () => {
    await router?.dispose();
    await simulator.close();
  }, 60_000);

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
    await until(async () => (await billing.verifyLedger({})).openHolds >= BigInt(RUNNING), {
      timeoutMs: 10_000,
    });
    await router.kill();
    await Promise.all(requests);

    router = await startRouter("all-in-one", { dataDir, env: env() });
    const reborn = await billingOf(dataDir);
    await until(async () => (await reborn.verifyLedger({})).openHolds === 0n, { timeoutMs: 40_000 });
    expect(await overdueHolds(reborn)).toEqual([]);
    const verdict = await reborn.verifyLedger({});
    expect(verdict.differences).toEqual([]);
    expect(verdict.holds).toBeGreaterThan(0n);
    const bill = (await (await fetch(`${simulator.url}/bill`)).json()) as { total_pico_usd: string };
    const booked = BigInt(verdict.chargedCostPicoUsd) + BigInt(verdict.lostCostPicoUsd);
    expect(booked).toBe(BigInt(bill.total_pico_usd));
    const again = await call(router, "POST", "/v1/compat/chat/completions", {
      body: { model: "sandbox/chat", messages: [{ role: "user", content: "still there?" }] },
    });
    expect(again.status).toBe(200);
  }, 150_000);

  test("of PostgreSQL refuses requests while it is away and loses nothing", async () => {
    router = await startRouter("all-in-one", { dataDir, env: env() });
    const running = router;
    const ask = () =>
      call(running, "POST", "/v1/compat/chat/completions", {
        body: { model: "sandbox/chat", messages: [{ role: "user", content: "hello" }] },
      });
    expect((await ask()).status).toBe(200);
    const pidFile = await postmasterOf(dataDir);
    process.kill(Number(pidFile), "SIGKILL");
    const statuses = new Set<number>();
    await until(
      async () => {
        const { status } = await ask();
        statuses.add(status);
        return status === 200;
      },
      { timeoutMs: 20_000 },
    );
    for (const status of statuses) expect([200, 500, 503]).toContain(status);
    const billing = await billingOf(dataDir);
    await until(async () => (await billing.verifyLedger({})).openHolds === 0n, { timeoutMs: 30_000 });
    expect((await billing.verifyLedger({})).differences).toEqual([]);
  }, 120_000);
});

/** The pid of the embedded server, from the file that it keeps in its cluster. */
async function postmasterOf(dataDir: string): Promise<string> {
  const { stdout } = await promisify(execFile)("find", [
    join(dataDir, "postgres"),
    "-name",
    "postmaster.pid",
  ]);
  return (await readFile(stdout.trim(), "utf8")).split("\n", 1)[0] ?? "";
}
