// Guarantees of stored reports: an attempt counts once, processes add up, bad reports are refused, old rows are deleted.
import { randomUUID } from "node:crypto";
import { RouteCondition } from "@gr/proto/routes";
import type { Pool } from "@gr/runtime";
import { ManualClock, type TestDatabase } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { connect, migratedDatabase } from "../test/migrated-database.ts";
import { healthCalls, REPORTS_KEPT_MS, WINDOWS_KEPT_MS } from "./health-rpc.ts";
import { createHealthStore, type HealthStore } from "./health-store.ts";

const NOON = Date.UTC(2026, 10, 27, 12);
const MINUTES = 300_000;
let database: TestDatabase;
let pool: Pool;
let store: HealthStore;
let clock: ManualClock;

beforeAll(async () => {
  database = await migratedDatabase();
  pool = await connect(database.url);
  store = createHealthStore(pool);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});
beforeEach(async () => {
  clock = new ManualClock(NOON);
  await store.sweep(NOON + WINDOWS_KEPT_MS, NOON + REPORTS_KEPT_MS);
});

const attempts = (provider: string, delivered: bigint, failed: bigint, place = 4, beginsAt = NOON) => ({
  ...{ provider, beginsAt: BigInt(beginsAt), delivered, failed, refused: 0n },
  tookCounts: Array.from({ length: 27 }, (_, index) => (index === place ? delivered : 0n)),
});
const state = {
  provider: "p",
  upstreamModel: "m",
  condition: RouteCondition.OPEN,
  since: 5n,
  until: 9n,
  lossPicoUsd: 7n,
};
const report = (processId: string, number: bigint, rows: object[] = [], states: object[] = []) =>
  healthCalls(store, clock).reportRoutes({
    processId,
    service: "text-proxy",
    number,
    attempts: rows,
    states,
  } as never);
const read = (from = NOON - MINUTES, windowMs = MINUTES) =>
  healthCalls(store, clock).readRoutes({ from: BigInt(from), windowMs: BigInt(windowMs) } as never);

test("reports of all processes add up, and a repeated report changes nothing", async () => {
  const [one, other] = [randomUUID(), randomUUID()];
  await Promise.all([report(one, 1n, [attempts("p", 3n, 1n)]), report(other, 1n, [attempts("p", 2n, 0n)])]);
  await report(one, 1n, [attempts("p", 3n, 1n)]);
  await report(one, 2n, [attempts("p", 5n, 0n, 10), attempts("q", 0n, 2n)]);
  const { providers, processes } = await read();
  expect(providers).toMatchObject([
    { provider: "p", delivered: 10n, failed: 1n, windows: [{ beginsAt: BigInt(NOON), delivered: 10n }] },
    { provider: "q", delivered: 0n, failed: 2n, medianMs: 0n },
  ]);
  // Half of ten are in the place from 283 to 400 ms, the others in the place up to 3.2 s.
  expect([providers[0]?.medianMs, providers[0]?.p95Ms]).toEqual([336n, 2_691n]);
  expect(processes).toHaveLength(2);
});

test("windows are joined to the length that the reader wants", async () => {
  const id = randomUUID();
  const hour = 3_600_000;
  await report(id, 1n, [
    attempts("p", 1n, 0n, 4, NOON - hour),
    attempts("p", 2n, 1n, 4, NOON - hour + MINUTES),
  ]);
  const [provider] = (await read(NOON - hour, hour)).providers;
  expect(provider?.windows).toMatchObject([{ beginsAt: BigInt(NOON - hour), delivered: 3n, failed: 1n }]);
});

test("the states of a process are those of its last report", async () => {
  const id = randomUUID();
  await report(id, 1n, [], [state]);
  expect((await read()).processes).toMatchObject([{ processId: id, states: [state] }]);
  await report(id, 2n);
  expect((await read()).processes).toMatchObject([{ processId: id, states: [] }]);
});

test.each([
  ["process_id", () => report("x", 1n)],
  ["number", () => report(randomUUID(), 0n)],
  ["attempts.provider", () => report(randomUUID(), 1n, [attempts("", 1n, 0n)])],
  ["attempts.begins_at", () => report(randomUUID(), 1n, [attempts("p", 1n, 0n, 4, NOON + 1)])],
  ["attempts.begins_at", () => report(randomUUID(), 1n, [attempts("p", 1n, 0n, 4, NOON + 24 * 3_600_000)])],
  ["attempts", () => report(randomUUID(), 1n, [attempts("p", 1n, -1n)])],
  ["window_ms", () => read(NOON, 1_000)],
  ["window_ms", () => read(NOON - WINDOWS_KEPT_MS, MINUTES)],
  ["from", () => read(NOON - WINDOWS_KEPT_MS - 1, 3_600_000)],
])("a bad %s is refused", async (param, ask) => {
  await expect(ask()).rejects.toMatchObject({ reason: "invalid_value", param });
});

test("rows are deleted after their time", async () => {
  await report(randomUUID(), 1n, [attempts("p", 1n, 0n)]);
  await store.sweep(NOON, NOON);
  expect((await read()).providers).toHaveLength(1);
  await store.sweep(NOON + 1, NOON + 1);
  expect(await read()).toMatchObject({ providers: [], processes: [] });
});
