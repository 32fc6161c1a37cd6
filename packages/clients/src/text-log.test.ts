// Guarantees of the text log: lines are written together and in order, despite failures. No caller waits, and lost
// lines are counted.
import { systemClock } from "@gr/runtime";
import { until } from "@gr/testing";
import { beforeEach, expect, test } from "@jest/globals";
import { createTextLog, type TextLineInit, type TextLog } from "./text-log.ts";

let written: string[][];
let down: boolean;
let lost: number;
let log: TextLog;

const line = (requestId: string): TextLineInit => ({ requestId });
let calls: number;
const round = async () => {
  const before = calls;
  await until(() => calls > before, { timeoutMs: 60_000 });
};
beforeEach(() => {
  [written, down, lost, calls] = [[], false, 0, 0];
  const writeTexts = async ({ lines = [] }: { lines?: readonly TextLineInit[] }) => {
    calls += 1;
    if (down) throw new Error("billing is down");
    written.push(lines.map(({ requestId }) => requestId ?? ""));
    return {};
  };
  const client = { writeTexts } as unknown as Parameters<typeof createTextLog>[0];
  log = createTextLog(client, { lost: (lines) => (lost += lines) }, systemClock);
});

test("lines that gather leave in one call, at most 500 at once, and the rest at the end", async () => {
  for (let number = 0; number < 501; number += 1) log.add(line(`${number}`));
  await log.stop();
  expect(written.map(({ length }) => length)).toEqual([500, 1]);
  expect(written.flat()).toEqual(Array.from({ length: 501 }, (_, number) => `${number}`));
  expect(lost).toBe(0);
});

test("lines wait for a billing that is down, and are in order when it is back", async () => {
  down = true;
  log.add(line("a"));
  log.start();
  await until(() => calls === 1, { timeoutMs: 60_000 });
  log.add(line("b"));
  await round();
  down = false;
  await round();
  await log.stop();
  expect([written.flat(), lost]).toEqual([["a", "b"], 0]);
});

test("lines that cannot be written at the end, or wait in too large a number, are counted as lost", async () => {
  down = true;
  for (let number = 0; number < 20_003; number += 1) log.add(line(`${number}`));
  expect(lost).toBe(3);
  await log.stop();
  expect(lost).toBe(20_003);
});
