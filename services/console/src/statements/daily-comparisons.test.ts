// Guarantees of daily comparisons: one of all processes compares each statement once a day, for the last three complete
// days. Each process exposes the stored difference. A statement that was not read is tried again an hour later.
import { create } from "@bufbuild/protobuf";
import { ServiceError } from "@gr/proto";
import { StatementComparisonSchema } from "@gr/proto/console";
import { createLogger } from "@gr/runtime";
import { ManualClock } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import { createConsoleEvents } from "../events.ts";
import { type ConsoleDatabase, startConsoleDatabase } from "../test/console-database.ts";
import { createComparisonStore } from "./comparison-store.ts";
import { createDailyComparisons } from "./daily-comparisons.ts";
import type { Reconcile, Reconciliation } from "./reconcile.ts";
import type { Statement } from "./statement-config.ts";

const HOUR_MS = 3_600_000;
const THURSDAY_NOON = Date.parse("2026-01-15T12:00:00Z");
const running = new AbortController().signal;
const reader = { read: async () => [] };
const statements: readonly Statement[] = [
  { name: "read", providers: ["read"], reader },
  { name: "by-csv", providers: ["by-csv"], reader: undefined },
];

let database: ConsoleDatabase;
const clock = new ManualClock(THURSDAY_NOON);
let asked: Reconciliation[];
let answer: () => Promise<string>;

beforeAll(async () => {
  database = await startConsoleDatabase();
});
beforeEach(async () => {
  clock.set(THURSDAY_NOON);
  asked = [];
  answer = async () => "0";
  await database.pool.query("DELETE FROM statement_comparison");
});
afterAll(() => database.stop());

function startedProcess() {
  const metrics = new Registry();
  const events = createConsoleEvents(createLogger("silent", "test"), metrics, ["read"]);
  const comparisons = createComparisonStore(database.pool);
  const reconcile: Reconcile = {
    compare: async (order) => {
      asked.push(order);
      const { statement, days } = order;
      const sums = {
        offPicoUsd: await answer(),
        billedPicoUsd: "7",
        bookedPicoUsd: "5",
        unassignedPicoUsd: "0",
      };
      return create(StatementComparisonSchema, { statement, fromDay: days.from, toDay: days.to, ...sums });
    },
  };
  const daily = createDailyComparisons({ statements, reconcile, comparisons, events, clock });
  return {
    round: () => daily.compareDue(running),
    comparisons,
    metricOf: async (name: string) => (await metrics.getSingleMetric(name)?.get())?.values,
  };
}

test("one of several processes compares the last three complete days, and all of them expose the difference", async () => {
  answer = async () => "2500000000000";
  const processes = [startedProcess(), startedProcess(), startedProcess()];
  for (const { metricOf } of processes) {
    expect(await metricOf("statement_difference_usd")).toMatchObject([
      { value: 0, labels: { upstream: "read" } },
    ]);
  }
  await Promise.all(processes.map(({ round }) => round()));
  expect(asked).toMatchObject([{ statement: "read", days: { from: "2026-01-12", to: "2026-01-14" } }]);
  for (const { round, metricOf } of processes) {
    await round();
    expect(await metricOf("statement_difference_usd")).toMatchObject([
      { value: 2.5, labels: { upstream: "read" } },
    ]);
  }
  expect(asked).toHaveLength(1);
  const [stored] = (await processes[0]?.comparisons.list(["read", "by-csv"])) ?? [];
  expect(stored).toMatchObject({
    statement: "read",
    problem: null,
    comparison: { billedPicoUsd: "7", toDay: "2026-01-14" },
  });
});

test("the next day is compared six hours after its end, and not before", async () => {
  const { round } = startedProcess();
  await round();
  clock.set(Date.parse("2026-01-16T05:59:59Z"));
  await round();
  expect(asked).toHaveLength(1);
  clock.set(Date.parse("2026-01-16T06:00:00Z"));
  await round();
  expect(asked[1]?.days).toEqual({ from: "2026-01-13", to: "2026-01-15" });
});

test("a statement that is first compared after midnight leaves out the day that is not settled", async () => {
  clock.set(Date.parse("2026-01-15T01:00:00Z"));
  await startedProcess().round();
  expect(asked[0]?.days).toEqual({ from: "2026-01-11", to: "2026-01-13" });
});

test("a statement that was not read is counted, keeps its last comparison, and is tried again an hour later", async () => {
  const { round, metricOf, comparisons } = startedProcess();
  answer = async () => "1000000000000";
  await round();
  clock.advance(24 * HOUR_MS);
  answer = () =>
    Promise.reject(new ServiceError("service_unavailable", "The statement of read was not read."));
  await round();
  await round();
  expect(asked).toHaveLength(2);
  expect(await metricOf("statement_reads_failed_total")).toMatchObject([{ value: 1 }]);
  expect(await metricOf("statement_difference_usd")).toMatchObject([{ value: 1 }]);
  expect(await comparisons.list(["read"])).toMatchObject([
    { problem: "The statement of read was not read.", comparison: { offPicoUsd: "1000000000000" } },
  ]);
  clock.advance(HOUR_MS);
  answer = async () => "0";
  await round();
  expect(await comparisons.list(["read"])).toMatchObject([
    { problem: null, comparison: { offPicoUsd: "0" } },
  ]);
  expect(await metricOf("statement_difference_usd")).toMatchObject([{ value: 0 }]);
});

test("a process that stops during a comparison stores no problem", async () => {
  const stopping = new AbortController();
  const store = createComparisonStore(database.pool);
  answer = () => {
    stopping.abort();
    return Promise.reject(new ServiceError("service_unavailable", "away"));
  };
  const reconcile: Reconcile = {
    compare: async () => {
      await answer();
      throw new Error("not reached");
    },
  };
  const events = createConsoleEvents(createLogger("silent", "test"), new Registry(), ["read"]);
  await createDailyComparisons({ statements, reconcile, comparisons: store, events, clock }).compareDue(
    stopping.signal,
  );
  expect(await store.list(["read"])).toMatchObject([{ problem: null, comparison: undefined }]);
});
