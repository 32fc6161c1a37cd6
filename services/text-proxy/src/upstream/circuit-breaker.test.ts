// Guarantees of the breaker: failures in a row open it unless a single account may have caused them. It never refuses
// a request. One request at a time is a probe, and a request that was sent before the last change does not count.
import { ManualClock } from "@gr/testing";
import { beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { CircuitBreaker, type Fault, type Permit } from "./circuit-breaker.ts";

const PAUSE = 5_000;
let clock: ManualClock;
let breaker: CircuitBreaker;
let events: (string | number)[];

beforeEach(() => {
  clock = new ManualClock(1_000_000);
  events = [];
  breaker = new CircuitBreaker({ failures: 3, pauseMs: PAUSE }, () => clock.now(), {
    opened: (pauseMs) => events.push(pauseMs),
    closed: () => events.push("closed"),
  });
});

const enter = (account = "a"): Permit => breaker.enter(account);
function fail(times: number, fault: Fault = "upstream", account = "a"): void {
  for (let time = 0; time < times; time += 1) enter(account).failed(fault);
}

describe("a breaker", () => {
  test("opens after failures in a row, and only then", () => {
    fail(2);
    enter().succeeded();
    fail(2);
    enter().ignored();
    expect(breaker.isOpen).toBe(false);
    fail(1);
    expect(breaker.isOpen).toBe(true);
    expect(breaker.waitMs).toBe(PAUSE);
    expect(events).toEqual([PAUSE]);
  });

  test("has a condition for operators from its first opening until it closes", () => {
    expect(breaker.condition).toBeUndefined();
    breaker.coolDown(1_000);
    expect(breaker.condition).toMatchObject({ name: "cooling", until: 1_001_000 });
    fail(3);
    expect(breaker.condition).toEqual({ name: "open", since: 1_000_000, until: 1_000_000 + PAUSE });
    clock.advance(PAUSE);
    const probe = enter();
    expect(breaker.condition?.name).toBe("probing");
    probe.failed("upstream");
    expect(breaker.condition).toMatchObject({ name: "open", since: 1_000_000 });
    clock.advance(breaker.waitMs);
    enter().succeeded();
    expect(breaker.condition).toBeUndefined();
  });

  test("lets one request try it after its pause, and closes when that is answered", () => {
    fail(3);
    clock.advance(PAUSE);
    expect(breaker.waitMs).toBe(0);
    const probe = enter();
    expect(breaker.waitMs).toBeGreaterThan(0);
    probe.succeeded();
    expect(breaker.waitMs).toBe(0);
    expect(events).toEqual([PAUSE, "closed"]);
    fail(2);
    expect(breaker.isOpen).toBe(false);
  });

  test("waits twice as long after each try that fails, up to a minute, and from the beginning after one that does not", () => {
    fail(3);
    for (const pause of [10_000, 20_000, 40_000, 60_000, 60_000]) {
      clock.advance(breaker.waitMs);
      enter().failed("upstream");
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
    enter().ignored();
    enter().succeeded();
    expect(breaker.isOpen).toBe(false);
  });

  test("closes when any request that was sent since it opened is answered, and not when any of them fails again", () => {
    fail(3);
    const sent = enter("b");
    fail(3);
    expect(breaker.waitMs).toBe(PAUSE);
    sent.succeeded();
    expect(breaker.isOpen).toBe(false);
  });

  test("does not wait longer because of a failure that the request of its probe may have caused", () => {
    fail(3);
    for (let round = 0; round < 3; round += 1) {
      clock.advance(breaker.waitMs);
      enter().failed("unclear");
      expect(breaker.waitMs).toBe(PAUSE);
    }
  });

  test("opens by unclear failures only when a second account has one, whatever the order of the accounts", () => {
    fail(1_000, "unclear", "a");
    expect(breaker.isOpen).toBe(false);
    enter("b").succeeded();
    fail(1, "unclear", "b");
    fail(1, "unclear", "a");
    expect(breaker.isOpen).toBe(false);
    fail(1, "unclear", "b");
    expect(breaker.isOpen).toBe(true);
  });

  test("is open after a run of failures exactly when the run speaks of the upstream or is of several accounts", () => {
    const word = fc.record({
      account: fc.constantFrom("a", "b", "c"),
      end: fc.constantFrom<Fault | "succeeded" | "ignored">(
        "upstream",
        "unclear",
        "unclear",
        "succeeded",
        "ignored",
      ),
    });
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), (words) => {
        const tried = new CircuitBreaker({ failures: 3, pauseMs: PAUSE }, () => clock.now(), {
          opened: () => undefined,
          closed: () => undefined,
        });
        let run: { account: string; end: string }[] = [];
        for (const { account, end } of words) {
          const permit = tried.enter(account);
          if (end === "ignored" || end === "succeeded") permit[end]();
          else permit.failed(end);
          if (end === "succeeded") run = [];
          else if (end !== "ignored") run.push({ account, end });
          const ofUpstream = run.filter((each) => each.end === "upstream").length;
          const accounts = new Set(run.map((each) => each.account)).size;
          expect(tried.isOpen).toBe(ofUpstream >= 3 || (accounts >= 2 && run.length >= 3));
        }
      }),
    );
  });

  test("hears nothing of what was sent before it opened or closed", () => {
    const [early, late] = [enter(), enter()];
    fail(3);
    early.succeeded();
    expect(breaker.isOpen).toBe(true);
    clock.advance(PAUSE);
    enter().succeeded();
    late.failed("upstream");
    fail(2);
    expect(breaker.isOpen).toBe(false);
  });

  test("hears the first word of each request", () => {
    const permit = enter();
    permit.succeeded();
    permit.failed("upstream");
    fail(2);
    expect(breaker.isOpen).toBe(false);
  });
});

test("an upstream that asks to be left alone is the last choice for so long, and may be asked all the same", () => {
  breaker.coolDown(2_000);
  breaker.coolDown(1_000);
  expect(breaker.isCooling).toBe(true);
  enter().ignored();
  clock.advance(2_000);
  expect(breaker.isCooling).toBe(false);
});
