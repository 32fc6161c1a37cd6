// Guarantees of reports about routes: each attempt counts once, also after lost answers, and no request waits.
import type { RouteHealthService } from "@gr/proto/routes";
import type { ServiceClient } from "@gr/runtime";
import { ManualClock } from "@gr/testing";
import { expect, test } from "@jest/globals";
import {
  ATTEMPT_WINDOW_MS,
  createRouteHealth,
  RouteCondition,
  TOOK_COUNTS,
  tookCountOf,
} from "./route-health.ts";

type Client = ServiceClient<typeof RouteHealthService>;
type Report = Parameters<Client["reportRoutes"]>[0];

const BEGIN = Math.floor(Date.UTC(2026, 10, 27, 12) / ATTEMPT_WINDOW_MS) * ATTEMPT_WINDOW_MS;

function startReports(answers: readonly ("arrives" | "fails" | "answer lost")[]) {
  const reports: Report[] = [];
  const failures: unknown[] = [];
  let calls = 0;
  const client = {
    reportRoutes: async (report: Report) => {
      const answer = answers[calls] ?? "arrives";
      calls += 1;
      if (answer !== "fails") reports.push(report);
      if (answer !== "arrives") throw new Error(answer);
      return {};
    },
  } as unknown as Client;
  const clock = new ManualClock(BEGIN);
  const health = createRouteHealth(client, {
    service: "text-proxy",
    states: () => [{ provider: "p", upstreamModel: "m", condition: RouteCondition.OPEN }],
    failed: (error) => failures.push(error),
    clock,
  });
  return { health, clock, reports, failures };
}

test("a report has the attempts since the one before, by provider and five minutes", async () => {
  const { health, clock, reports } = startReports([]);
  health.record("p", "delivered", 250);
  health.record("p", "failed", 10);
  health.record("q", "refused", 10);
  await health.stop();
  clock.set(BEGIN + ATTEMPT_WINDOW_MS);
  health.record("p", "delivered", 90);
  await health.stop();
  expect(reports.map(({ number, service }) => [number, service])).toEqual([
    [1n, "text-proxy"],
    [2n, "text-proxy"],
  ]);
  expect(reports[0]?.processId).toBe(reports[1]?.processId);
  expect(reports[0]?.attempts).toMatchObject([
    { provider: "p", beginsAt: BigInt(BEGIN), delivered: 1n, failed: 1n, refused: 0n },
    { provider: "q", delivered: 0n, refused: 1n },
  ]);
  expect(reports[1]?.attempts).toMatchObject([
    { provider: "p", beginsAt: BigInt(BEGIN + ATTEMPT_WINDOW_MS) },
  ]);
  expect(reports[0]?.states).toHaveLength(1);
});

test("a report without an answer is repeated under its number, with the same attempts", async () => {
  const { health, reports, failures } = startReports(["answer lost", "fails", "arrives"]);
  health.record("p", "delivered", 250);
  await health.stop();
  health.record("p", "delivered", 250);
  await health.stop();
  await health.stop();
  await health.stop();
  const counts = reports.map(({ number, attempts = [] }) => [
    number,
    attempts.reduce((sum, { delivered = 0n }) => sum + BigInt(delivered), 0n),
  ]);
  expect(counts).toEqual([
    [1n, 1n],
    [1n, 1n],
    [2n, 1n],
  ]);
  // One failure is reported for a series.
  expect(failures).toHaveLength(1);
});

test("durations are counted in half octaves from 100 ms", () => {
  expect([1, 100, 101, 141, 142, 200, 10_000_000].map(tookCountOf)).toEqual([
    0,
    0,
    1,
    1,
    2,
    2,
    TOOK_COUNTS - 1,
  ]);
});
