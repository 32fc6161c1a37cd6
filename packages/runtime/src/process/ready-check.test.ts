// Guarantee of ready checks: simultaneous callers share one test of the condition.
import { expect, test } from "@jest/globals";
import { createReadyCheck } from "./ready-check.ts";

const options = { problem: "PostgreSQL does not answer", keptMs: 1_000 };

test("is tried once for all who ask within the time that an answer is kept", async () => {
  let now = 0;
  let tries = 0;
  const work = async () => {
    tries += 1;
  };
  const ready = createReadyCheck({ ...options, work, clock: { now: () => now } });
  expect(await Promise.all([ready(), ready(), ready()])).toEqual([true, true, true]);
  now = 999;
  await ready();
  expect(tries).toBe(1);
  now = 1_000;
  await ready();
  expect(tries).toBe(2);
});

test("says why not, and recovers", async () => {
  let now = 0;
  let broken = true;
  const work = async () => {
    if (broken) throw new Error("no such luck");
  };
  const ready = createReadyCheck({ ...options, work, clock: { now: () => now } });
  expect(await ready()).toBe("PostgreSQL does not answer (no such luck)");
  broken = false;
  now = 1_000;
  expect(await ready()).toBe(true);
});

test("an answer that is kept for long is kept for three seconds when something is wrong", async () => {
  let now = 0;
  let broken = true;
  const work = async () => {
    if (broken) throw new Error("no such luck");
  };
  const ready = createReadyCheck({ ...options, keptMs: 60_000, work, clock: { now: () => now } });
  expect(await ready()).not.toBe(true);
  broken = false;
  now = 2_999;
  expect(await ready()).not.toBe(true);
  now = 3_000;
  expect(await ready()).toBe(true);
  broken = true;
  now = 62_999;
  expect(await ready()).toBe(true);
});
