// The carry of random books from the tables before the chain: each read answers as those tables do, each later operation is answered as
// the version before would answer it, and the chain's invariants hold.
import { connectPostgres, createLogger } from "@gr/runtime";
import { ManualClock } from "@gr/testing";
import { byDepth } from "@gr/testing/depth";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Hold } from "../holds/hold.ts";
import { createStepLedger, type StepLedger } from "../step-ledger/step-ledger.ts";
import { ContinuedHistory, chainSide, earlierSide } from "../test/earlier/continued-history.ts";
import { earlierBooks, earlierCosts, earlierProviders } from "../test/earlier/earlier-books-store.ts";
import { carry, type EarlierDatabase, earlierDatabase } from "../test/earlier/earlier-database-store.ts";
import { EarlierLedger } from "../test/earlier/earlier-ledger-store.ts";
import { history, type Step } from "../test/history-steps.ts";

const RUNS = byDepth({ quick: 1, deep: 8 });
/** Histories in one database, so one carry has many accounts. */
const HISTORIES = byDepth({ quick: 25, deep: 40 });
const FREE_LIMIT = 2;
const ALL_DAYS = { fromDay: "2020-01-01", toDay: "2099-12-31" };
const MOST = 10_000;
const log = createLogger("silent", "test");

/** An outcome that no later operation of any history had would prove little. */
const EXPECTED = [
  "already_resolved",
  "claim_finished",
  "claim_in_progress",
  "claim_mismatch",
  "spend_limit_exceeded",
];

interface Drawn {
  readonly spenders: Parameters<typeof continued>[0]["spenders"];
  readonly before: readonly Step[];
  readonly after: readonly Step[];
}

/** Later steps never move the clock back: an account of the chain has no earlier time than its latest step. */
const drawn = fc.record({ first: history, later: history }).map(({ first, later }) => ({
  spenders: first.spenders,
  before: first.steps,
  after: later.steps.filter((one) => one.step !== "clock" || one.ms > 0),
}));

function continued(
  one: { readonly spenders: ConstructorParameters<typeof ContinuedHistory>[0] },
  now: number,
) {
  return new ContinuedHistory(one.spenders, now);
}

test("books of the version before are carried: the same reads, the same answers to later operations, and no difference", async () => {
  const seen = new Set<unknown>();
  const property = fc.asyncProperty(
    fc.array(drawn, { minLength: HISTORIES, maxLength: HISTORIES }),
    (histories) => playAll(histories, seen),
  );
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
  expect(EXPECTED.filter((code) => !seen.has(code))).toEqual([]);
}, 1_800_000);

async function playAll(histories: readonly Drawn[], seen: Set<unknown>): Promise<void> {
  const [stays, carried] = [await earlierDatabase("empty"), await earlierDatabase("empty")];
  const began = Date.now();
  const both = [stays, carried].map(({ pool }) => earlierSide(new EarlierLedger(pool, FREE_LIMIT)));
  const worlds: { readonly world: ContinuedHistory; readonly after: readonly Step[] }[] = [];
  for (const { before, after, ...fields } of histories) {
    const world = continued(fields, began - totalAdvance(before) - 60_000);
    await world.begin(both);
    for (const step of before) await world.take(both, step);
    worlds.push({ world, after });
  }
  await carry(carried.url);
  const clock = new ManualClock(Date.now() + 1_000);
  const ledger = await startChain(carried.url, clock);
  try {
    for (const { world } of worlds) {
      world.now = clock.now();
      await expectSameBooks(world, stays, ledger.chain);
    }
    const [earlier] = both;
    if (earlier === undefined) throw new Error("There is no ledger to compare with.");
    const sides = [earlier, chainSide(ledger.chain, (at) => clock.set(Math.max(at.getTime(), clock.now())))];
    for (const { world, after } of worlds) {
      clock.set(world.now);
      for (const step of after) {
        const [expected, actual] = await world.take(sides, step);
        expect({ step, answer: actual }).toEqual({ step, answer: expected });
        if (step.step !== "post") continue;
        for (const { code } of expected as { readonly code: string }[]) seen.add(code);
      }
      clock.set(Math.max(world.now, clock.now()));
      await expectSameBooks(world, stays, ledger.chain);
      clock.set(worlds.reduce((latest, one) => Math.max(latest, one.world.now), clock.now()));
    }
    await expectSameCosts(stays, ledger.chain);
    await repeatAdjustments(worlds, ledger.chain);
    const { differences } = await ledger.chain.verify(true);
    expect(differences).toEqual([]);
  } finally {
    await ledger.stop();
    await stays.drop();
    await carried.drop();
  }
}

function totalAdvance(steps: readonly Step[]): number {
  return steps.reduce((sum, one) => sum + (one.step === "clock" && one.ms > 0 ? one.ms : 0), 0);
}

async function startChain(url: string, clock: ManualClock) {
  const pool = await connectPostgres({ url, poolSize: 4, schema: "billing", log });
  const events = {
    committed: () => undefined,
    triedAgain: () => undefined,
    refusedFromMemory: () => undefined,
  };
  const chain = createStepLedger({ pool, clock, freeLimit: FREE_LIMIT, log, events });
  const stop = async () => {
    chain.close();
    await pool.end();
  };
  return { chain, stop };
}

/** The columns that the version before reads. */
function holdRowOf({ id, spenderId, credits, state, charge, cost, attempt, tag, ...times }: Hold) {
  const { placedAt, deadlineAt } = times;
  const own = { id, spenderId, credits, state, charge, cost, attempt, ...tag };
  return { ...own, placedAt: new Date(placedAt), deadlineAt: new Date(deadlineAt) };
}

function dateOf(unixMs: number | null): Date | null {
  return unixMs === null ? null : new Date(unixMs);
}

async function expectSameBooks(
  world: ContinuedHistory,
  { pool }: EarlierDatabase,
  chain: StepLedger,
): Promise<void> {
  for (const accountId of world.accountIds) {
    const expected = await earlierBooks(pool, accountId, new Date(world.now));
    const {
      usage,
      hasMore: _,
      ...credits
    } = await chain.accounts.readCredits(accountId, { limit: MOST, after: undefined });
    const keys = usage.map(({ accountId: _account, definition, ...use }) => {
      const { parentId: _parent, level: _level, limit: cap, ...key } = definition;
      const times = { expiresAt: dateOf(key.expiresAt), createdAt: dateOf(key.createdAt) };
      const used = { ...use, requests: BigInt(use.requests), windowStart: dateOf(use.windowStart) };
      return { ...key, ...times, cap, ...used };
    });
    const { holds } = await chain.holds.list({ accountId, state: undefined, limit: MOST, after: undefined });
    const { entries } = await chain.reports.listEntries({
      ...{ accountId, kind: undefined, from: undefined, until: undefined, after: undefined, limit: MOST },
    });
    const { sums } = await chain.reports.sumUsage({
      ...{
        accountId,
        group: "spender",
        perDay: true,
        ...ALL_DAYS,
        spenderId: undefined,
        model: undefined,
        limit: MOST,
      },
    });
    const lastUsed = await chain.reports.lastUsedDays(accountId, world.spenderIds);
    const answers: unknown[] = [];
    for (const { id } of holds.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
      const answer = await chain.answers.read(accountId, id);
      if (answer !== undefined) answers.push({ holdId: id, body: answer.body });
    }
    expect({
      credits,
      keys,
      // The list has the ended holds of before first.
      holds: holds.map(holdRowOf).toSorted(byAge),
      entries: entries.map(({ id: _id, ...entry }) => entry),
      usage: sums,
      lastUsed: [...lastUsed]
        .map(([id, day]) => ({ id, day }))
        .toSorted((one, other) => (one.id < other.id ? -1 : 1)),
      answers,
    }).toEqual(expected);
    expect(entries.map(({ id }) => id)).toEqual(
      entries.map(({ id }) => id).toSorted((one, other) => Number(other - one)),
    );
  }
}

async function expectSameCosts({ pool }: EarlierDatabase, chain: StepLedger): Promise<void> {
  const providers = await earlierProviders(pool);
  const costs = await chain.reports.sumCosts({ ...ALL_DAYS, providers, limit: MOST });
  const expected = await earlierCosts(pool);
  expect(costs.map(({ cost, lost, ...sum }) => ({ ...sum, cost: `${cost}`, lost: `${lost}` }))).toEqual(
    expected,
  );
}

/** An adjustment of before is not booked again. */
async function repeatAdjustments(
  worlds: readonly { readonly world: ContinuedHistory }[],
  chain: StepLedger,
): Promise<void> {
  for (const { world } of worlds) {
    for (const { id, accountId, credits } of world.adjustments) {
      const before = await chain.accounts.readCredits(accountId);
      await chain.accounts.putAdjustment({ id, accountId, credits, reason: "test" });
      expect(await chain.accounts.readCredits(accountId)).toEqual(before);
      const other = chain.accounts.putAdjustment({ id, accountId, credits: credits + 1n, reason: "test" });
      await expect(other).rejects.toMatchObject({ reason: "invalid_value", param: "adjustment_id" });
    }
  }
}

function byAge(one: { placedAt: Date; id: string }, other: { placedAt: Date; id: string }): number {
  return one.placedAt.getTime() - other.placedAt.getTime() || (one.id < other.id ? -1 : 1);
}
