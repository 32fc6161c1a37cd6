// Guarantees of checks on a real PostgreSQL: of several processes one reports a crossing, once, also over restarts and
// late results. Settings are in force at once.
import { randomUUID } from "node:crypto";
import { createLogger } from "@gr/runtime";
import { ManualClock } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import { createConsoleEvents } from "../events.ts";
import { type ConsoleDatabase, startConsoleDatabase } from "../test/console-database.ts";
import { createAlertChecks } from "./alert-checks.ts";
import { type AlertSettings, createAlertStore, MOST_ALERTS_A_DAY } from "./alert-store.ts";
import type { AccountReadings } from "./read-account.ts";

const MINUTE_MS = 60_000;
const running = new AbortController().signal;
const settings: AlertSettings = {
  lowBalance: 50_000n,
  budgetPercents: [80, 100],
  failurePercent: 20,
  byMail: false,
  webhookUrl: null,
};
const calm: AccountReadings = { balance: 100_000n, budgets: [], requests: { failed: 0, ended: 0 }, pages: 1 };

let database: ConsoleDatabase;
let accountId: string;
const clock = new ManualClock(Date.UTC(2026, 10, 27));
/** Figures of the account, and the number of reads. */
let readings: AccountReadings;
let reads: number;
/** Runs during a read. */
let during: () => Promise<void>;

beforeAll(async () => {
  database = await startConsoleDatabase();
});
beforeEach(async () => {
  await database.pool.query("TRUNCATE alert_setting, alert_crossing, alert");
  accountId = randomUUID();
  await database.store.addAccount(accountId, "An account");
  readings = calm;
  reads = 0;
  during = async () => undefined;
  await save(settings);
});
afterAll(() => database.stop());

const store = () => createAlertStore(database.pool);
const save = (changed: AlertSettings) => store().saveSettings(accountId, changed, new Date(clock.now()));

function startedProcess() {
  const checks = createAlertChecks({
    alerts: store(),
    read: async () => {
      reads += 1;
      const seen = readings;
      await during();
      return seen;
    },
    events: createConsoleEvents(createLogger("silent", "test"), new Registry()),
    clock,
    everyMs: MINUTE_MS,
  });
  return () => checks.checkDue(running);
}

const nextMinute = () => clock.advance(MINUTE_MS);
const kinds = async () =>
  (await store().list(accountId, 1_000, undefined)).map(({ kind }) => kind).toReversed();

test("one of several processes reports a crossing, once", async () => {
  readings = { ...calm, balance: 0n };
  const processes = [startedProcess(), startedProcess(), startedProcess()];
  await Promise.all(processes.map((check) => check()));
  expect([reads, await kinds()]).toEqual([1, ["low_balance"]]);
  for (const check of processes) {
    nextMinute();
    await check();
  }
  expect([reads, await kinds()]).toEqual([4, ["low_balance"]]);
});

test("a top-up between two checks makes the next crossing a new one, in a new process", async () => {
  for (const balance of [0n, 100_000n, 0n]) {
    readings = { ...calm, balance };
    await startedProcess()();
    nextMinute();
  }
  expect(await kinds()).toEqual(["low_balance", "low_balance"]);
});

test("an account is checked once a minute, later with many keys, and at once after a change of its settings", async () => {
  const check = startedProcess();
  await check();
  await check();
  expect(reads).toBe(1);
  await save({ ...settings, lowBalance: 200_000n });
  await check();
  expect([reads, await kinds()]).toEqual([2, ["low_balance"]]);
  readings = { ...calm, pages: 3 };
  nextMinute();
  await check();
  nextMinute();
  nextMinute();
  await check();
  expect(reads).toBe(3);
  nextMinute();
  await check();
  expect(reads).toBe(4);
});

test("a process that stops during a check loses no alert: another one checks after two minutes", async () => {
  readings = { ...calm, balance: 0n };
  // The claim of a process that never returns.
  await store().claimDue(new Date(clock.now()), new Date(clock.now() + 2 * MINUTE_MS));
  const check = startedProcess();
  nextMinute();
  await check();
  expect(await kinds()).toEqual([]);
  nextMinute();
  await check();
  expect(await kinds()).toEqual(["low_balance"]);
});

test("a late result of a process that lost its claim changes nothing", async () => {
  readings = { ...calm, balance: 0n };
  const late = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  during = () => {
    begun.resolve();
    return late.promise;
  };
  const slow = startedProcess()();
  await begun.promise;
  during = async () => undefined;
  clock.advance(2 * MINUTE_MS);
  readings = calm;
  await startedProcess()();
  late.resolve();
  await slow;
  expect(await kinds()).toEqual([]);
});

test("a result for settings that were changed since is discarded", async () => {
  readings = { ...calm, balance: 0n };
  during = async () => {
    during = async () => undefined;
    await save({ ...settings, lowBalance: null });
  };
  await startedProcess()();
  expect(await kinds()).toEqual([]);
});

test("a rule that is switched off and on again reports its crossing anew", async () => {
  readings = { ...calm, balance: 0n };
  const check = startedProcess();
  await check();
  await save({ ...settings, lowBalance: null });
  await save(settings);
  await check();
  expect(await kinds()).toEqual(["low_balance", "low_balance"]);
});

test("an account without rules is not read", async () => {
  await save({ ...settings, lowBalance: null, budgetPercents: [], failurePercent: null });
  await startedProcess()();
  expect(reads).toBe(0);
});

test("a failed check is repeated a minute later, and delays no other account", async () => {
  const other = randomUUID();
  await database.store.addAccount(other, "Another account");
  await store().saveSettings(other, settings, new Date(clock.now()));
  const check = startedProcess();
  during = () => Promise.reject(new Error("billing is away"));
  await check();
  expect(reads).toBe(2);
  during = async () => undefined;
  nextMinute();
  await check();
  expect(reads).toBe(4);
});

test("budgets cause at most 200 alerts in 24 hours, and leave room for the balance", async () => {
  const many = Array.from({ length: MOST_ALERTS_A_DAY + 50 }, (_, at) => ({
    ...{ id: `key ${at}`, name: "k", level: "key" as const, limit: 100n, used: 100n, period: "1" },
  }));
  readings = { ...calm, balance: 0n, budgets: many };
  const check = startedProcess();
  await check();
  const reported = await kinds();
  expect(reported.filter((kind) => kind === "budget")).toHaveLength(MOST_ALERTS_A_DAY);
  expect(reported.filter((kind) => kind === "low_balance")).toHaveLength(1);
  nextMinute();
  readings = { ...readings, budgets: many.map((one) => ({ ...one, period: "2" })) };
  await check();
  expect(await kinds()).toHaveLength(reported.length);
  clock.advance(24 * 60 * MINUTE_MS);
  readings = { ...readings, budgets: many.slice(0, 1).map((one) => ({ ...one, period: "3" })) };
  await check();
  expect(await kinds()).toHaveLength(reported.length + 1);
});

test("the history has pages, and ends after its time except for alerts that are still being sent", async () => {
  const alerts = store();
  for (let at = 0; at < 5; at += 1) {
    const way = { ...settings, byMail: at === 0 };
    await alerts.add(accountId, { kind: "test", facts: { at } }, way, new Date(clock.now()));
  }
  const first = await alerts.list(accountId, 2, undefined);
  const second = await alerts.list(accountId, 2, first.at(-1)?.ordinal);
  expect([...first, ...second].map(({ facts }) => facts["at"])).toEqual([4, 3, 2, 1]);
  await alerts.sweep(new Date(clock.now()));
  expect(await kinds()).toHaveLength(5);
  await alerts.sweep(new Date(clock.now() + 1));
  expect(await alerts.list(accountId, 9, undefined)).toMatchObject([{ mail: "pending" }]);
});

test.each(["key", "member"] as const)(
  "an alert is open while its threshold is crossed; of a budget of a %s it is the highest percent",
  async (level) => {
    const key = { id: "k1", name: "CI", level, limit: 100n, period: "1" };
    readings = { ...calm, balance: 0n, budgets: [{ ...key, used: 85n }] };
    const check = startedProcess();
    await check();
    nextMinute();
    readings = { ...readings, budgets: [{ ...key, used: 100n }] };
    await check();
    const open = async () =>
      (await store().open(accountId, new Date(clock.now()))).map(({ kind, facts }) => [
        kind,
        facts["percent"] ?? null,
      ]);
    expect(await open()).toEqual([
      ["budget", 100],
      ["low_balance", null],
    ]);
    nextMinute();
    readings = { ...readings, balance: 100_000n, budgets: [{ ...key, used: 0n, period: "2" }] };
    await check();
    expect(await open()).toEqual([]);
    expect(await kinds()).toHaveLength(3);
  },
);
