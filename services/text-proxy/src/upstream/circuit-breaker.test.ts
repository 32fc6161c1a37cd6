// Guarantees of the breaker: failures in a row open it, one request at a time tries it, and nothing that was sent before it
// opened or closed changes it afterwards.
import { ManualClock } from "@gr/testing";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { CircuitBreaker, type Passage } from "./circuit-breaker.ts";

const PAUSE = 5_000;
let clock: ManualClock;
let breaker: CircuitBreaker;
let told: (string | number)[];

beforeEach(() => {
  clock = new ManualClock(1_000_000);
  told = [];
  breaker = new CircuitBreaker({ failures: 3, pauseMs: PAUSE }, () => clock.now(), {
    opened: (pauseMs) => told.push(pauseMs),
    closed: () => told.push("closed"),
  });
});

function enter(): Passage {
  const passage = breaker.enter();
  if (passage === undefined) throw new Error("it may not be asked");
  return passage;
}
function fail(times: number): void {
  for (let time = 0; time < times; time += 1) enter().failed();
}

describe("a breaker", () => {
  test("opens after failures in a row, and only then", () => {
    fail(2);
    enter().succeeded();
    fail(2);
    enter().left();
    expect(breaker.isOpen).toBe(false);
    fail(1);
    expect(breaker.isOpen).toBe(true);
    expect(breaker.waitMs).toBe(PAUSE);
    expect(breaker.enter()).toBeUndefined();
    expect(told).toEqual([PAUSE]);
  });

  test("lets one request try it after its pause, and closes when that is answered", () => {
    fail(3);
    clock.advance(PAUSE);
    expect(breaker.waitMs).toBe(0);
    const probe = enter();
    expect(breaker.enter()).toBeUndefined();
    expect(breaker.waitMs).toBeGreaterThan(0);
    probe.succeeded();
    expect(breaker.waitMs).toBe(0);
    expect(told).toEqual([PAUSE, "closed"]);
    fail(2);
    expect(breaker.isOpen).toBe(false);
  });

  test("waits twice as long after each try that fails, up to a minute, and from the beginning after one that does not", () => {
    fail(3);
    for (const pause of [10_000, 20_000, 40_000, 60_000, 60_000]) {
      clock.advance(breaker.waitMs);
      enter().failed();
      expect(breaker.waitMs).toBe(pause);
    }
    clock.advance(breaker.waitMs);
    enter().succeeded();
    fail(3);
    expect(breaker.waitMs).toBe(PAUSE);
  });

  test("has the next request try it when the first one says nothing", () => {
    fail(3);
    clock.advance(PAUSE);
    enter().left();
    enter().succeeded();
    expect(breaker.isOpen).toBe(false);
  });

  test("hears nothing of what was sent before it opened or closed", () => {
    const [early, late] = [enter(), enter()];
    fail(3);
    early.succeeded();
    expect(breaker.isOpen).toBe(true);
    clock.advance(PAUSE);
    enter().succeeded();
    late.failed();
    fail(2);
    expect(breaker.isOpen).toBe(false);
  });

  test("hears the first word of each request", () => {
    const passage = enter();
    passage.succeeded();
    passage.failed();
    fail(2);
    expect(breaker.isOpen).toBe(false);
  });
});

test("an upstream that asks to be left alone is the last choice for so long, and may be asked all the same", () => {
  breaker.rest(2_000);
  breaker.rest(1_000);
  expect(breaker.rests).toBe(true);
  enter().left();
  clock.advance(2_000);
  expect(breaker.rests).toBe(false);
});
