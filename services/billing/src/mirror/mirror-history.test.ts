// Random histories through billing with its mirror, and the same ones through billing that has to ask PostgreSQL each
// time: the same answers, the same balances, whatever Redis loses and wherever the clock goes.
import { randomUUID } from "node:crypto";
import { type Outcome, OutcomeCode, SpendPeriod } from "@gr/proto/billing";
import { connectRedis, createLogger, type Redis } from "@gr/runtime";
import { ManualClock, type TestDatabase, testRedis } from "@gr/testing";
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import { migratedDatabase } from "../test/migrated-database.ts";
import { type BillingProcess, startBillingOn, THURSDAY } from "../test/start-billing.ts";
import * as wallet from "../test/wallet.ts";

const { DAY, LIFETIME, MONTH } = SpendPeriod;
const { INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED } = OutcomeCode;
const DAY_MS = 86_400_000;
const SPENDERS = 2;
const RUNS = byDepth({ quick: 20, deep: 200 });
const MOST_ROUNDS = 10;
/** Refusals by each mirror. */
const ENOUGH = 5;

const credits = fc.bigInt({ min: 0n, max: 60n });
/** How many holds ago this one was placed; -1 = now. A place that is not new repeats that place. */
const back = fc.nat({ max: 4 });
const mostlyNew = fc.constantFrom(-1, -1, -1, -1, -1, -1, 0, 2);
const spender = fc.nat({ max: SPENDERS - 1 });
const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("place" as const), back: mostlyNew, spender, credits }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("capture" as const), back, credits }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const), back }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;
const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("post" as const),
      process: fc.nat({ max: 1 }),
      operations: fc.array(operation, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("deposit" as const), credits: fc.bigInt(1n, 50n) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("adjust" as const), credits: fc.bigInt(-30n, 30n) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("spender" as const),
      spender,
      cap: fc.option(fc.bigInt(0n, 60n), { nil: undefined }),
      period: fc.constantFrom(LIFETIME, DAY, MONTH),
      active: fc.constantFrom(true, true, true, false),
      expiresInDays: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined, freq: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("lose" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("clock" as const), hours: fc.constantFrom(1, 12, 24, 720) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

let clock: ManualClock;
let redis: Redis;
let databases: readonly TestDatabase[];
let mirrored: readonly BillingProcess[];
let plain: BillingProcess;
beforeAll(async () => {
  clock = new ManualClock(THURSDAY);
  const { url } = await testRedis();
  const log = createLogger("silent", "test");
  redis = await connectRedis({ url, name: "test", log, commandTimeoutMs: 10_000 });
  const [one, two] = [await migratedDatabase(), await migratedDatabase()];
  databases = [one, two];
  const env = { REDIS_URL: url, REDIS_TIMEOUT_MS: "10000", FREE_REQUESTS_PER_DAY: "0" };
  mirrored = [await startBillingOn(one.url, clock, env), await startBillingOn(one.url, clock, env)];
  plain = await startBillingOn(two.url, clock, { FREE_REQUESTS_PER_DAY: "0" });
});
afterAll(async () => {
  for (const each of [...mirrored, plain]) await each.stop();
  for (const each of databases) await each.drop();
  redis.disconnect();
});

const refusalsOf = async (process: BillingProcess) =>
  Number(/^billing_mirror_refusals_total (\d+)$/m.exec(await process.metrics())?.[1]);

test("the mirror refuses nothing that PostgreSQL would not refuse, and changes no balance", async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
    clock.set(THURSDAY);
    const world = await openWorld();
    for (const each of steps) {
      // Ids say to the millisecond when they were made.
      clock.advance(1);
      await world.take(each);
    }
    await world.compareBalances();
  });
  const fewest = async () => Math.min(...(await Promise.all(mirrored.map(refusalsOf))));
  // What is mirrored lives for a second of real time, so on a slow machine it takes more histories to see enough of it.
  for (let round = 1; round === 1 || ((await fewest()) < ENOUGH && round <= MOST_ROUNDS); round += 1) {
    await fc.assert(property, { numRuns: RUNS });
  }
  expect(await refusalsOf(plain)).toBe(0);
  // Otherwise it would be no proof.
  expect(await fewest()).toBeGreaterThanOrEqual(ENOUGH);
});

interface Hold {
  /** Says when it was made. */
  readonly young: string;
  /** Does not, so PostgreSQL is asked. */
  readonly plain: string;
  readonly placed: { readonly spenderId: string; readonly credits: bigint; readonly deadlineAt: bigint };
}

/** An account with two spenders, in both ledgers. */
async function openWorld() {
  const accountId = randomUUID();
  const spenderIds = Array.from({ length: SPENDERS }, () => randomUUID());
  const holds: Hold[] = [];
  const all = [...mirrored.slice(0, 1), plain].map(({ inProcess }) => inProcess);
  const everywhere = async (work: (billing: BillingProcess["inProcess"]) => Promise<unknown>) => {
    for (const billing of all) await work(billing);
  };
  await everywhere(async (billing) => {
    await billing.openAccount({ accountId });
    for (const spenderId of spenderIds) await wallet.putSpender(billing, accountId, { spenderId });
    await wallet.deposit(billing, accountId, 50n);
  });
  const holdOf = (one: Operation): Hold => {
    const known = holds[Math.max(holds.length - 1 - one.back, 0)];
    if (one.back !== -1 && known !== undefined) return known;
    const { spender: index, credits: amount } = { spender: 0, credits: 1n, ...one };
    const placed = { spenderId: spenderIds[index] ?? "", credits: amount, deadlineAt: BigInt(clock.now()) };
    const hold = { young: uuidv7({ msecs: clock.now() }), plain: randomUUID(), placed };
    holds.push(hold);
    return hold;
  };
  const message = (one: Operation, holdId: string, { placed }: Hold): wallet.OperationInit => {
    if (one.kind === "release") return wallet.release(holdId);
    if (one.kind === "capture") return wallet.capture(holdId, one.credits);
    const { spenderId, credits: amount, deadlineAt } = placed;
    return wallet.place({ accountId, spenderId }, amount, { holdId, deadlineAt });
  };
  const post = async ({ process, operations }: Extract<Step, { kind: "post" }>) => {
    const billing = mirrored[process]?.inProcess ?? plain.inProcess;
    const each = operations.map((one) => ({ one, hold: holdOf(one) }));
    const seen = await wallet.post(billing, ...each.map(({ one, hold }) => message(one, hold.young, hold)));
    const truth = await wallet.post(
      plain.inProcess,
      ...each.map(({ one, hold }) => message(one, hold.plain, hold)),
    );
    for (const [index, outcome] of seen.entries()) expectSame(outcome, truth[index]);
  };
  const put = async (one: Extract<Step, { kind: "spender" }>) => {
    const expiry =
      one.expiresInDays === undefined ? {} : { expiresAt: BigInt(THURSDAY + one.expiresInDays * DAY_MS) };
    const cap = one.cap === undefined ? {} : { capCredits: one.cap };
    const { period, active } = one;
    const spenderId = spenderIds[one.spender] ?? "";
    await everywhere((billing) =>
      wallet.putSpender(billing, accountId, { spenderId, period, active, ...cap, ...expiry }),
    );
  };
  return {
    async take(one: Step): Promise<void> {
      if (one.kind === "post") return post(one);
      if (one.kind === "spender") return put(one);
      if (one.kind === "clock") return clock.advance(one.hours * 3_600_000);
      if (one.kind === "lose") return void (await redis.flushdb());
      if (one.kind === "deposit") {
        return everywhere((billing) => wallet.deposit(billing, accountId, one.credits));
      }
      if (one.credits === 0n) return;
      const adjustment = { adjustmentId: randomUUID(), accountId, credits: one.credits, reason: "test" };
      return everywhere((billing) => billing.putAdjustment(adjustment));
    },
    async compareBalances(): Promise<void> {
      const [seen, truth] = await Promise.all(
        all.map((billing) => billing.getCredits({ accountId, bySpender: true })),
      );
      expect(seen).toEqual(truth);
    },
  };
}

/** What is available is of the moment of the last look, so it is not compared. */
function expectSame(seen: Outcome, truth: Outcome | undefined): void {
  // What was charged meanwhile may have used up the cap too.
  const both = seen.code === INSUFFICIENT_CREDITS && truth?.code === SPEND_LIMIT_EXCEEDED;
  if (both) {
    expect([seen.inFlight, truth.inFlight]).toEqual([false, false]);
    return;
  }
  const { code, inFlight, capCredits, period, resetsAt, expiresAt } = seen;
  expect({ code, inFlight, capCredits, period, resetsAt, expiresAt }).toEqual({
    code: truth?.code,
    inFlight: truth?.inFlight,
    capCredits: truth?.capCredits,
    period: truth?.period,
    resetsAt: truth?.resetsAt,
    expiresAt: truth?.expiresAt,
  });
}
