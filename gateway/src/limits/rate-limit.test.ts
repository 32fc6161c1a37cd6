// Guarantees of every rate limiter, in one process and through a real Redis alike, against a tiny pure model.

import { connectRedis, createLogger } from "@gr/runtime";
import { ManualClock, testRedis } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { advanceRedis } from "../test/redis-time.ts";
import {
  type CountedRequest,
  type Decision,
  type RateLimiter,
  type RateRule,
  rateRule,
} from "./rate-limit.ts";
import { LocalRateLimiter } from "./rate-limit-local.ts";
import { RedisRateLimiter } from "./rate-limit-redis.ts";

/** Seconds of an interval. Redis's clock advances while a test runs, by little beside these intervals. */
const INTERVAL_S = 1_000;
const SLACK_US = 200_000_000;
/** A paused test must not count as an outage. */
const PATIENCE_MS = 10_000;

function rule(burst: number, name = "test"): RateRule {
  const perSecond = 1 / INTERVAL_S;
  return rateRule({ name, requests: "tests", subject: "test", perSecond, burstSeconds: burst * INTERVAL_S });
}

/** A request that counts for one subject only. */
function single(subject: string, limit: RateRule): CountedRequest {
  return { counts: [{ rule: limit, subject }], owner: subject };
}

interface Bench {
  readonly limiter: RateLimiter;
  spend(request: CountedRequest): Promise<Decision>;
  /** Time passes. */
  advance(seconds: number): Promise<void>;
  forgetEverything(): Promise<void>;
  readonly slackUs: number;
  close(): void;
}

async function localBench(): Promise<Bench> {
  const clock = new ManualClock();
  let limiter = new LocalRateLimiter();
  return {
    get limiter() {
      return limiter;
    },
    spend: async (request) => limiter.spend(request, clock.now()),
    advance: async (seconds) => clock.advance(seconds * 1_000),
    forgetEverything: async () => {
      limiter = new LocalRateLimiter();
    },
    slackUs: 0,
    close: () => undefined,
  };
}

/** A local limiter that must not be needed. */
const unused: RateLimiter = {
  spend: () => {
    throw new Error("Redis was not asked");
  },
};

async function redisBench(): Promise<Bench> {
  const { url, flush } = await testRedis();
  const log = createLogger("silent", "test");
  const redis = await connectRedis({ url, name: "test", log, commandTimeoutMs: PATIENCE_MS });
  const limiter = new RedisRateLimiter(redis, unused, log);
  return {
    limiter,
    spend: async (request) => limiter.spend(request, Date.now()),
    advance: (seconds) => advanceRedis(redis, seconds),
    forgetEverything: flush,
    slackUs: SLACK_US,
    close: () => redis.disconnect(),
  };
}

async function spendMany(bench: Bench, count: number, subject: string, limit: RateRule): Promise<boolean[]> {
  const admitted: boolean[] = [];
  for (let i = 0; i < count; i += 1) admitted.push((await bench.spend(single(subject, limit))).isAdmitted);
  return admitted;
}

const times = <T>(count: number, value: T) => Array<T>(count).fill(value);

describe.each([
  ["in one process", localBench],
  ["through Redis", redisBench],
] as const)("rate limits %s", (_name, start) => {
  let bench: Bench;
  let subject: string;
  let subjects = 0;
  beforeAll(async () => {
    bench = await start();
  });
  beforeEach(() => {
    subjects += 1;
    subject = `subject ${subjects}`;
  });
  afterAll(() => bench.close());

  const expectNear = (actualUs: number, expectedSeconds: number) => {
    expect(actualUs).toBeLessThanOrEqual(expectedSeconds * 1_000_000);
    expect(actualUs).toBeGreaterThanOrEqual(expectedSeconds * 1_000_000 - bench.slackUs);
  };

  test("a burst is admitted whole, then one request for each interval", async () => {
    const limit = rule(5);
    expect(await spendMany(bench, 7, subject, limit)).toEqual([...times(5, true), ...times(2, false)]);
    for (let i = 0; i < 3; i += 1) {
      await bench.advance(INTERVAL_S);
      expect(await spendMany(bench, 2, subject, limit)).toEqual([true, false]);
    }
    await bench.advance(INTERVAL_S * 100);
    expect(await spendMany(bench, 6, subject, limit)).toEqual([...times(5, true), false]);
  });

  test("refused requests cost nothing", async () => {
    const limit = rule(2);
    await spendMany(bench, 50, subject, limit);
    await bench.advance(INTERVAL_S);
    expect(await spendMany(bench, 2, subject, limit)).toEqual([true, false]);
  });

  test("what is left, the reset and the wait are told exactly", async () => {
    const limit = rule(3);
    for (const used of [1, 2, 3]) {
      const decision = await bench.spend(single(subject, limit));
      expect(decision).toMatchObject({ isAdmitted: true, remaining: 3 - used, retryAfterUs: 0 });
      expectNear(decision.resetUs, used * INTERVAL_S);
    }
    const refused = await bench.spend(single(subject, limit));
    expect(refused).toMatchObject({ isAdmitted: false, remaining: 0 });
    expectNear(refused.resetUs, 3 * INTERVAL_S);
    expectNear(refused.retryAfterUs, INTERVAL_S);
    await bench.advance(Math.ceil(refused.retryAfterUs / 1_000_000));
    expect((await bench.spend(single(subject, limit))).isAdmitted).toBe(true);
  });

  test("subjects and rules do not touch each other", async () => {
    const [one, two] = [rule(1, "one"), rule(1, "two")];
    expect(await spendMany(bench, 2, subject, one)).toEqual([true, false]);
    expect(await spendMany(bench, 2, `${subject}, another`, one)).toEqual([true, false]);
    expect(await spendMany(bench, 2, subject, two)).toEqual([true, false]);
  });

  const both = (key: string, keys: RateRule, owners: RateRule): CountedRequest => ({
    counts: [
      { rule: keys, subject: key },
      { rule: owners, subject },
    ],
    owner: subject,
  });

  test("two keys of an account have the account's limit together", async () => {
    const [keys, owners] = [rule(3, "keys"), rule(4, "owners")];
    const admitted: boolean[] = [];
    for (const key of ["a", "a", "b", "b", "b", "a", "c"]) {
      admitted.push((await bench.spend(both(`${subject} ${key}`, keys, owners))).isAdmitted);
    }
    expect(admitted).toEqual([true, true, true, true, false, false, false]);
  });

  test("a request that one limit refuses is not counted by the other", async () => {
    const [keys, owners] = [rule(1, "keys"), rule(3, "owners")];
    const [one, other] = [`${subject} 1`, `${subject} 2`];
    for (const admitted of [true, false, false, false]) {
      expect((await bench.spend(both(one, keys, owners))).isAdmitted).toBe(admitted);
    }
    // The account still has two requests, and its other keys keep theirs after the refusal.
    expect((await bench.spend(both(other, keys, owners))).remaining).toBe(0);
    expect((await bench.spend(single(subject, owners))).remaining).toBe(0);
    const fresh = `${subject} 3`;
    expect((await bench.spend(both(fresh, keys, owners))).isAdmitted).toBe(false);
    const alone = { counts: [{ rule: keys, subject: fresh }], owner: subject };
    expect((await bench.spend(alone)).isAdmitted).toBe(true);
  });

  test("the decision has the figures of the tighter limit", async () => {
    const [keys, owners] = [rule(2, "keys"), rule(3, "owners")];
    const seen = async (key: string) => {
      const { count, isAdmitted, remaining } = await bench.spend(both(`${subject} ${key}`, keys, owners));
      return [count.rule.name, isAdmitted, remaining];
    };
    expect(await seen("a")).toEqual(["keys", true, 1]);
    expect(await seen("a")).toEqual(["keys", true, 0]);
    expect(await seen("a")).toEqual(["keys", false, 0]);
    expect(await seen("b")).toEqual(["owners", true, 0]);
    expect(await seen("b")).toEqual(["owners", false, 0]);
    // Both refuse, and the wait is the longer one.
    const refused = await bench.spend(both(`${subject} a`, keys, rule(3, "owners")));
    expectNear(refused.retryAfterUs, INTERVAL_S);
  });

  test("a limit that was lowered holds from the next request on and never waits longer than its own window", async () => {
    await spendMany(bench, 10, subject, rule(10));
    const lower = rule(2);
    const refused = await bench.spend(single(subject, lower));
    expect(refused.isAdmitted).toBe(false);
    expectNear(refused.retryAfterUs, INTERVAL_S);
    await bench.advance(INTERVAL_S);
    expect(await spendMany(bench, 2, subject, lower)).toEqual([true, false]);
  });

  test("a clock that is set back makes nobody wait longer than the window", async () => {
    const limit = rule(2);
    await spendMany(bench, 3, subject, limit);
    await bench.advance(-1_000_000);
    expect((await bench.spend(single(subject, limit))).isAdmitted).toBe(false);
    await bench.advance(INTERVAL_S);
    expect((await bench.spend(single(subject, limit))).isAdmitted).toBe(true);
  });

  test("losing everything in the middle only admits more", async () => {
    const limit = rule(4);
    expect(await spendMany(bench, 5, subject, limit)).toEqual([...times(4, true), false]);
    await bench.forgetEverything();
    expect(await spendMany(bench, 5, subject, limit)).toEqual([...times(4, true), false]);
  });

  test("any history is decided as the model decides it", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("take" as const), subject: fc.constantFrom("a", "b") }),
      fc.record({ kind: fc.constant("wait" as const), quarters: fc.nat({ max: 9 }) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 25 }),
        async (burst, steps) => {
          await bench.forgetEverything();
          const limit = rule(burst);
          // In quarters of an interval.
          const backlogs = new Map<string, number>();
          for (const each of steps) {
            if (each.kind === "wait") {
              await bench.advance((each.quarters * INTERVAL_S) / 4);
              for (const [name, backlog] of backlogs)
                backlogs.set(name, Math.max(0, backlog - each.quarters));
              continue;
            }
            const before = backlogs.get(each.subject) ?? 0;
            const admitted = before + 4 <= burst * 4;
            const after = admitted ? before + 4 : before;
            backlogs.set(each.subject, after);
            const decision = await bench.spend(single(each.subject, limit));
            expect(decision.isAdmitted).toBe(admitted);
            expect(decision.remaining).toBe(Math.floor((burst * 4 - after) / 4));
            expectNear(decision.resetUs, (after * INTERVAL_S) / 4);
            if (!admitted) expectNear(decision.retryAfterUs, ((after + 4 - burst * 4) * INTERVAL_S) / 4);
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("rate limits in one process", () => {
  test("are decided without a promise", () => {
    expect(new LocalRateLimiter().spend(single("a", rule(1)), 0)).not.toBeInstanceOf(Promise);
  });

  test("memory is bounded: those quiet for longest are forgotten, and of that rule only", () => {
    const limiter = new LocalRateLimiter(2);
    const [keys, addresses] = [rule(1, "keys"), rule(1, "addresses")];
    limiter.spend(single("key", keys), 0);
    for (const address of ["1", "2", "3"]) limiter.spend(single(address, addresses), 0);
    expect(limiter.spend(single("3", addresses), 0).isAdmitted).toBe(false);
    expect(limiter.spend(single("1", addresses), 0).isAdmitted).toBe(true);
    expect(limiter.spend(single("key", keys), 0).isAdmitted).toBe(false);
  });
});

test("a rate that divides no second evenly is never exceeded", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 0, max: 60 }),
      (perSecond, burstSeconds) => {
        const limit = rateRule({ name: "test", requests: "", subject: "", perSecond, burstSeconds });
        expect(limit.intervalUs * perSecond).toBeGreaterThanOrEqual(1_000_000);
        expect(limit.burst).toBe(Math.max(1, perSecond * burstSeconds));
      },
    ),
  );
});
