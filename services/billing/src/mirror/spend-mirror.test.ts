// What every mirror guarantees, in one process and through a real Redis alike.
import { randomUUID } from "node:crypto";
import { OutcomeCode } from "@gr/proto/billing";
import { connectRedis, createLogger, type Redis } from "@gr/runtime";
import { ManualClock, testRedis } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import { inTime } from "../test/in-time.ts";
import { NO_REFUSAL } from "../writer/post-store.ts";
import { LocalSpendMirror } from "./local-mirror.ts";
import { RedisSpendMirror } from "./redis-mirror.ts";
import {
  type Epoch,
  type MirroredPlace,
  NUMBERS_LIFETIME_MS,
  type SpendMirror,
  type SpendNumbers,
} from "./spend-mirror.ts";

const { INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED } = OutcomeCode;
/** A test that stands still for a moment must not take that for an outage. */
const PATIENCE_MS = 10_000;

interface Bench {
  readonly mirror: SpendMirror;
  /** What windows end by. */
  readonly clock: ManualClock;
  /** All numbers become older by so much. */
  age(ms: number): Promise<void>;
  forgetEverything(): Promise<void>;
  close(): void;
}

async function localBench(): Promise<Bench> {
  const [clock, stopwatch] = [new ManualClock(), new ManualClock()];
  let mirror = new LocalSpendMirror(clock, stopwatch);
  return {
    get mirror() {
      return mirror;
    },
    clock,
    age: async (ms) => stopwatch.advance(ms),
    forgetEverything: async () => {
      mirror = new LocalSpendMirror(clock, stopwatch);
    },
    close: () => undefined,
  };
}

async function redisBench(): Promise<Bench> {
  const { url, flush } = await testRedis();
  const log = createLogger("silent", "test");
  const redis = await connectRedis({ url, name: "test", log, commandTimeoutMs: PATIENCE_MS });
  const clock = new ManualClock();
  return {
    mirror: new RedisSpendMirror(redis, clock, { now: () => performance.now() }, log),
    clock,
    age: (ms) => makeOlder(redis, ms),
    forgetEverything: flush,
    close: () => redis.disconnect(),
  };
}

/** The time of death stands at the beginning of each text. */
async function makeOlder(redis: Redis, ms: number): Promise<void> {
  for (const key of await redis.keys("*")) {
    for (const [spender, text] of Object.entries(await redis.hgetall(key))) {
      const [diesAt, ...rest] = text.split(" ");
      if (rest.length > 0) await redis.hset(key, spender, [Number(diesAt) - ms, ...rest].join(" "));
    }
  }
}

describe.each([
  ["in one process", localBench],
  ["through Redis", redisBench],
] as const)("the spend mirror %s", (_name, start) => {
  let bench: Bench;
  let accountId: string;
  let spenderId: string;
  beforeAll(async () => {
    bench = await start();
  });
  afterAll(() => bench.close());

  const numbers = (fields: Partial<SpendNumbers> = {}): SpendNumbers => ({
    balance: 100n,
    available: 30n,
    cap: null,
    used: 0n,
    period: "lifetime",
    resetsAt: 0n,
    confirmedAt: BigInt(bench.clock.now()),
    endsAt: 0n,
    ...fields,
  });
  const place = (credits: bigint, fields: Partial<MirroredPlace> = {}): MirroredPlace => ({
    kind: "place",
    holdId: uuidv7({ msecs: bench.clock.now() + 1 }),
    accountId,
    spenderId,
    credits,
    cost: null,
    deadlineAt: 0n,
    tag: null,
    attempt: null,
    billedBy: null,
    most: null,
    claim: null,
    ...fields,
  });
  const begin = async (account = accountId): Promise<Epoch> => {
    const epoch = await bench.mirror.begin(account);
    if (epoch === undefined) throw new Error("no epoch");
    return epoch;
  };
  const keep = (epoch: Epoch, fields?: Partial<SpendNumbers>, spender = spenderId) =>
    bench.mirror.keep(accountId, epoch, new Map([[spender, numbers(fields)]]));
  /** As billing does it: an epoch, a look at PostgreSQL, and the numbers. */
  const learn = async (fields?: Partial<SpendNumbers>, spender?: string) =>
    keep(await begin(), fields, spender);
  const admit = async (...places: MirroredPlace[]) =>
    (await bench.mirror.admit(places)).map((answer) => answer?.code);
  const timed = (name: string, work: () => Promise<void>) =>
    test(name, () =>
      inTime(async () => {
        [accountId, spenderId] = [randomUUID(), randomUUID()];
        await work();
      }),
    );

  timed("asks about everybody it knows nothing of", async () => {
    expect(await admit(place(1_000n), place(1n))).toEqual([undefined, undefined]);
    await begin();
    expect(await admit(place(1_000n))).toEqual([undefined]);
  });

  timed("refuses what the balance does not cover without holds, as PostgreSQL would say it", async () => {
    await learn();
    expect(await bench.mirror.admit([place(100n), place(101n)])).toEqual([
      undefined,
      { code: INSUFFICIENT_CREDITS, refusal: { ...NO_REFUSAL, available: 30n } },
    ]);
  });

  timed("refuses what the cap does not cover without holds, before the balance", async () => {
    const resetsAt = BigInt(bench.clock.now() + 3_600_000);
    await learn({ cap: 50n, used: 40n, period: "day", resetsAt, endsAt: resetsAt });
    const refusal = { ...NO_REFUSAL, available: 30n, cap: 50n, period: "day", resetsAt };
    expect(await bench.mirror.admit([place(10n), place(11n), place(101n)])).toEqual([
      undefined,
      { code: SPEND_LIMIT_EXCEEDED, refusal },
      { code: SPEND_LIMIT_EXCEEDED, refusal },
    ]);
  });

  timed("an overrun balance refuses everything, and a cap of nothing too", async () => {
    await learn({ balance: -5n, available: 0n });
    expect(await admit(place(1n))).toEqual([INSUFFICIENT_CREDITS]);
    await learn({ cap: 0n });
    expect(await admit(place(1n))).toEqual([SPEND_LIMIT_EXCEEDED]);
  });

  timed("amounts are exact up to the last of 64 bits", async () => {
    const most = 2n ** 63n - 2n;
    await learn({ balance: most, available: most });
    expect(await admit(place(most), place(most + 1n))).toEqual([undefined, INSUFFICIENT_CREDITS]);
  });

  timed("numbers die after a second", async () => {
    await learn();
    await bench.age(NUMBERS_LIFETIME_MS);
    expect(await admit(place(101n))).toEqual([undefined]);
  });

  timed("numbers that took a second to read are dead already", async () => {
    const epoch = await begin();
    await keep({ ...epoch, begunAt: epoch.begunAt - NUMBERS_LIFETIME_MS });
    expect(await admit(place(101n))).toEqual([undefined]);
  });

  timed("numbers die with their window, by either clock", async () => {
    const endsAt = BigInt(bench.clock.now() + 500);
    await learn({ endsAt });
    expect(await admit(place(101n))).toEqual([INSUFFICIENT_CREDITS]);
    await bench.age(500);
    expect(await admit(place(101n))).toEqual([undefined]);
    await learn({ endsAt });
    bench.clock.advance(500);
    expect(await admit(place(101n))).toEqual([undefined]);
  });

  timed("newer numbers take the place of older ones", async () => {
    await learn();
    await learn({ balance: 200n });
    expect(await admit(place(101n), place(201n))).toEqual([undefined, INSUFFICIENT_CREDITS]);
  });

  timed("another spender of the account, and another account, are asked about", async () => {
    await learn();
    const [other, stranger] = [
      place(101n, { spenderId: randomUUID() }),
      place(101n, { accountId: randomUUID() }),
    ];
    expect(await admit(other, place(101n), stranger)).toEqual([undefined, INSUFFICIENT_CREDITS, undefined]);
  });

  timed("a hold that is not younger than the numbers may exist, so PostgreSQL is asked", async () => {
    await learn();
    const old = uuidv7({ msecs: bench.clock.now() });
    expect(await admit(place(101n, { holdId: old }), place(101n, { holdId: randomUUID() }))).toEqual([
      undefined,
      undefined,
    ]);
  });

  timed("forgetting an account drops the numbers of all its spenders and nobody else's", async () => {
    const second = randomUUID();
    await learn();
    await learn({}, second);
    const mine = [place(101n), place(101n, { spenderId: second })];
    expect(await admit(...mine)).toEqual([INSUFFICIENT_CREDITS, INSUFFICIENT_CREDITS]);
    await bench.mirror.forget(randomUUID());
    expect(await admit(...mine)).toEqual([INSUFFICIENT_CREDITS, INSUFFICIENT_CREDITS]);
    await bench.mirror.forget(accountId);
    expect(await admit(...mine)).toEqual([undefined, undefined]);
  });

  timed("numbers read before a deposit are not kept after it", async () => {
    const before = await begin();
    await bench.mirror.forget(accountId);
    await keep(before);
    expect(await admit(place(101n))).toEqual([undefined]);
    // Nor when somebody has begun anew meanwhile.
    const after = await begin();
    await keep(before);
    expect(await admit(place(101n))).toEqual([undefined]);
    await keep(after, { balance: 200n });
    await keep(before);
    expect(await admit(place(101n), place(201n))).toEqual([undefined, INSUFFICIENT_CREDITS]);
  });

  timed(
    "numbers read before everything was lost are not kept after it, whatever was forgotten meanwhile",
    async () => {
      // So that a mirror which numbers its epochs is at its first number, before and after.
      await bench.forgetEverything();
      const before = await begin();
      await bench.mirror.forget(accountId);
      await bench.forgetEverything();
      await keep(before);
      expect(await admit(place(101n))).toEqual([undefined]);
      await begin();
      await keep(before);
      expect(await admit(place(101n))).toEqual([undefined]);
    },
  );

  timed("two that read at the same time both keep what they read", async () => {
    const second = randomUUID();
    const [one, two] = [await begin(), await begin()];
    await keep(two, {}, second);
    await keep(one);
    expect(await admit(place(101n), place(101n, { spenderId: second }))).toEqual([
      INSUFFICIENT_CREDITS,
      INSUFFICIENT_CREDITS,
    ]);
  });

  timed("losing everything in the middle only asks more", async () => {
    await learn();
    await bench.forgetEverything();
    expect(await admit(place(101n))).toEqual([undefined]);
    await learn();
    expect(await admit(place(101n))).toEqual([INSUFFICIENT_CREDITS]);
  });

  test("any history refuses only what the numbers of a living epoch refuse", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("begin" as const) }),
      fc.record({
        kind: fc.constant("keep" as const),
        epoch: fc.nat({ max: 3 }),
        balance: fc.nat({ max: 9 }),
      }),
      fc.record({ kind: fc.constantFrom("forget" as const, "lose" as const, "age" as const) }),
      fc.record({ kind: fc.constant("admit" as const), credits: fc.integer({ min: 1, max: 10 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), (steps) =>
        inTime(async () => {
          [accountId, spenderId] = [randomUUID(), randomUUID()];
          const epochs: { readonly epoch: Epoch; readonly era: number }[] = [];
          let era = 0;
          let known: bigint | undefined;
          for (const each of steps) {
            if (each.kind === "begin") epochs.unshift({ epoch: await begin(), era });
            else if (each.kind === "keep") {
              const chosen = epochs[each.epoch];
              if (chosen === undefined) continue;
              await keep(chosen.epoch, { balance: BigInt(each.balance) });
              if (chosen.era === era) known = BigInt(each.balance);
            } else if (each.kind === "admit") {
              const [code] = await admit(place(BigInt(each.credits)));
              // Real time goes on in Redis: numbers may be dead already, which only asks more.
              if (code !== undefined) expect(known).toBeLessThan(BigInt(each.credits));
            } else {
              known = undefined;
              // What is begun before the ageing is too old to be kept.
              if (each.kind === "age") epochs.length = 0;
              else era += 1;
              if (each.kind === "forget") await bench.mirror.forget(accountId);
              else if (each.kind === "lose") await bench.forgetEverything();
              else await bench.age(NUMBERS_LIFETIME_MS);
            }
          }
        }),
      ),
      { numRuns: 60 },
    );
  });
});

test("memory of a process is bounded: what is forgotten is asked", async () => {
  const clock = new ManualClock();
  const mirror = new LocalSpendMirror(clock, clock, 2);
  const payers = Array.from({ length: 3 }, () => ({ accountId: randomUUID(), spenderId: randomUUID() }));
  const holdId = uuidv7({ msecs: clock.now() + 1 });
  const rest = {
    kind: "place",
    holdId,
    credits: 1n,
    cost: null,
    deadlineAt: 0n,
    tag: null,
    attempt: null,
    billedBy: null,
    most: null,
    claim: null,
  } as const;
  for (const { accountId, spenderId } of payers) {
    const epoch = await mirror.begin(accountId);
    const nothing = { balance: 0n, available: 0n, cap: null, used: 0n, period: "lifetime" } as const;
    const each = { ...nothing, resetsAt: 0n, confirmedAt: BigInt(clock.now()), endsAt: 0n };
    await mirror.keep(accountId, epoch, new Map([[spenderId, each]]));
  }
  const answers = await mirror.admit(payers.map((payer) => ({ ...rest, ...payer })));
  expect(answers.map((answer) => answer?.code)).toEqual([
    undefined,
    INSUFFICIENT_CREDITS,
    INSUFFICIENT_CREDITS,
  ]);
});
