// The pauses between attempts, in calculated times.
import { expect, test } from "@jest/globals";
import { MOST_ATTEMPTS, nextAttemptAt } from "./retry-schedule.ts";

const HOUR_MS = 3_600_000;
const failure = { status: 500, error: "500" };

test("attempts follow each other in growing pauses, the last after 24 h", () => {
  let now = 0;
  const times = [now];
  for (let attempts = 1; ; attempts += 1) {
    const next = nextAttemptAt({ startedAt: 0, attempts }, failure, now, 0);
    if (next === undefined) break;
    times.push(next);
    now = next;
  }
  expect(times).toHaveLength(MOST_ATTEMPTS);
  expect(times.slice(0, 3)).toEqual([0, 5_000, 300_000]);
  expect(times.at(-1)).toBe(24 * HOUR_MS);
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  expect(gaps.slice(0, 5)).toEqual(gaps.slice(0, 5).toSorted((a, b) => a - b));
});

test("jitter lengthens a pause by a tenth at most", () => {
  const at = (random: number) => nextAttemptAt({ startedAt: 0, attempts: 2 }, failure, 5_000, random);
  expect([at(0), at(1)]).toEqual([300_000, 300_000 + 29_500]);
});

test.each([
  ["an answer 410", { status: 410, error: "gone" }],
  ["a forbidden address", { error: "refused", isFinal: true }],
])("after %s there is no further attempt", (_, why) => {
  expect(nextAttemptAt({ startedAt: 0, attempts: 1 }, why, 0, 0)).toBeUndefined();
});

test("a receiver may ask for a longer pause, within the 24 h", () => {
  const asks = (retryAfterMs: number) =>
    nextAttemptAt({ startedAt: 0, attempts: 1 }, { ...failure, retryAfterMs }, 1_000, 0);
  expect([asks(1_000), asks(HOUR_MS), asks(100 * HOUR_MS)]).toEqual([6_000, HOUR_MS + 1_000, 24 * HOUR_MS]);
});

test("after an outage of ours the attempts do not follow each other at once", () => {
  const now = 10 * HOUR_MS;
  expect(nextAttemptAt({ startedAt: 0, attempts: 1 }, failure, now, 0)).toBe(now + 5_000);
});
