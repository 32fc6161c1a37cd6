// Reads of accounts, holds, statements and sums from the steps: a client reads its own writes, of any process, without waiting for
// a follower.
import { randomUUID } from "node:crypto";
import { DAY_MS, type Lease, type NextAttempt } from "@gr/ledger";
import { createLogger } from "@gr/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { chainProblems } from "../test/chain/chain-checker-store.ts";
import { readsOn } from "../test/chain/chain-reads.ts";
import {
  budget,
  ChainRig,
  type ChainWallet,
  type ChainWriterUnderTest,
  capture,
  claimOf,
  keep,
  newWallet,
  opening,
  place,
  release,
  TAG,
} from "../test/chain/chain-rig.ts";
import { THURSDAY } from "../test/start-billing.ts";
import { summaryOf } from "./account-summary.ts";
import { createHoldReads } from "./hold-reads.ts";
import { readKeptAnswer } from "./kept-answer-store.ts";

let rig: ChainRig;
let writer: ChainWriterUnderTest;
let other: ChainWriterUnderTest;
let reads: ReturnType<typeof readsOn>;
let wallet: ChainWallet;
beforeAll(async () => {
  rig = await ChainRig.start();
  [writer, other] = [await rig.writer(), await rig.writer()];
  reads = readsOn(rig, writer);
});
beforeEach(async () => {
  rig.clock.set(THURSDAY);
  wallet = newWallet();
  await writer.post(...opening(wallet, 1_000n, { period: "day", limit: 500n }));
});
afterAll(async () => {
  try {
    expect(await chainProblems(rig.pool)).toEqual([]);
  } finally {
    await rig.stop();
  }
});

const credits = (page?: Parameters<typeof summaryOf>[1], of = wallet) =>
  reads.accounts.ask(of.accountId, (account) => ({ answer: summaryOf(account, page, rig.clock.now()) }));
const ALL = { limit: 100, after: undefined };

async function charge(amount: bigint, by = writer, cost = 5n): Promise<string> {
  const hold = place(wallet, amount);
  await by.post(hold, capture(wallet, hold.holdId, amount, cost));
  return hold.holdId;
}

describe("credits", () => {
  test("include each answered step, of any process, without a follower", async () => {
    await charge(7n);
    expect(await credits()).toMatchObject({ deposited: 1_000n, remaining: 993n, held: 0n, usage: [] });
    await charge(3n, other);
    await other.post(place(wallet, 20n), {
      kind: "adjustment",
      accountId: wallet.accountId,
      id: randomUUID(),
      credits: -100n,
      note: "goodwill",
    });
    const summary = await credits(ALL);
    expect(summary).toMatchObject({ deposited: 1_000n, remaining: 890n, held: 20n, suspended: false });
    expect(summary.usage).toMatchObject([
      { used: 10n, requests: 2, windowUsed: 10n, windowStart: THURSDAY - DAY_MS / 2 },
    ]);
    await other.post({ kind: "suspend", accountId: wallet.accountId, suspended: true });
    expect((await credits()).suspended).toBe(true);
  });

  test("have an empty window on the next day, before its first hold", async () => {
    await charge(7n);
    rig.clock.advance(DAY_MS);
    expect((await credits(ALL)).usage).toMatchObject([{ used: 7n, windowUsed: 0n, windowStart: null }]);
  });

  test("list keys oldest first, in pages, and only some of them if asked", async () => {
    const keys = [3, 1, 2, 1].map((age) => ({ budgetId: randomUUID(), createdAt: THURSDAY - age }));
    const { accountId } = wallet;
    await other.post(
      ...keys.map(({ budgetId, createdAt }) => budget({ accountId, budgetId }, { createdAt })),
    );
    const ids = ({ usage }: Awaited<ReturnType<typeof credits>>) =>
      usage.map(({ definition }) => definition.id);
    const all = ids(await credits(ALL));
    expect(new Set(all)).toEqual(new Set([wallet.budgetId, ...keys.map(({ budgetId }) => budgetId)]));
    expect([all[0], all[1], all[4]]).toEqual([keys[0]?.budgetId, keys[2]?.budgetId, wallet.budgetId]);
    const first = await credits({ limit: 2, after: undefined });
    expect([ids(first), first.hasMore]).toEqual([all.slice(0, 2), true]);
    const rest = await credits({ limit: 3, after: all[1] });
    expect([ids(rest), rest.hasMore]).toEqual([all.slice(2), false]);
    expect(ids(await credits({ ...ALL, only: [all[3] ?? "", randomUUID()] }))).toEqual([all[3]]);
    await expect(credits({ limit: 1, after: randomUUID() })).rejects.toMatchObject({ param: "after" });
  });

  test("of many parallel questions are each about the present", async () => {
    const asked = Array.from({ length: 30 }, async (_, index) => {
      await charge(1n, index % 2 === 0 ? writer : other);
      return await credits();
    });
    const answers = await Promise.all(asked);
    expect(answers.every(({ remaining }) => remaining < 1_000n)).toBe(true);
    expect((await credits()).remaining).toBe(970n);
  });
});

describe("holds", () => {
  const ids = ({ holds }: Awaited<ReturnType<typeof reads.holds.list>>) => holds.map(({ id }) => id);
  const list = (fields: Partial<Parameters<typeof reads.holds.list>[0]> = {}) =>
    reads.holds.list({
      accountId: wallet.accountId,
      state: undefined,
      limit: 100,
      after: undefined,
      ...fields,
    });

  test("are listed oldest first with everything that is known of them", async () => {
    const [first, second, third] = [place(wallet, 5n), place(wallet, 6n), place(wallet, 7n)];
    await writer.post(first);
    rig.clock.advance(1);
    await other.post(second, capture(wallet, second.holdId, 4n, 9n));
    rig.clock.advance(1);
    await writer.post(third, release(wallet, third.holdId));
    expect(ids(await list())).toEqual([first.holdId, second.holdId, third.holdId]);
    const { accountId, budgetId: spenderId } = wallet;
    expect((await list({ state: "captured" })).holds).toMatchObject([
      {
        tag: TAG,
        id: second.holdId,
        accountId,
        spenderId,
        credits: 6n,
        charge: 4n,
        cost: 9n,
        state: "captured",
      },
    ]);
    expect(ids(await list({ state: "open" }))).toEqual([first.holdId]);
    expect(ids(await list({ state: "released" }))).toEqual([third.holdId]);
    expect(ids(await list({ accountId: undefined, state: "open", limit: 1_000 }))).toContain(first.holdId);
  });

  test("continue after the last one of a page, also among holds of one moment", async () => {
    const holds = Array.from({ length: 7 }, () => place(wallet, 1n));
    await writer.post(...holds);
    for (const state of ["open", undefined] as const) {
      const all = ids(await list({ state }));
      expect(new Set(all)).toEqual(new Set(holds.map(({ holdId }) => holdId)));
      const pages: string[][] = [];
      for (let more = true; more; ) {
        const page = await list({ state, limit: 3, after: pages.at(-1)?.at(-1) });
        pages.push(ids(page));
        more = page.hasMore;
      }
      expect(pages).toEqual([all.slice(0, 3), all.slice(3, 6), all.slice(6)]);
    }
    expect(await list({ after: randomUUID() })).toEqual({ holds: [], hasMore: false });
  });

  const lease = (service: string, limit = 10) =>
    reads.holds.leaseExpired({ service, limit, leaseMs: 5_000n });

  async function placeDue(service: string, ...inMs: number[]): Promise<string[]> {
    const holds = inMs.map((ms) => ({
      ...place(wallet, 1n, { deadlineAt: rig.clock.now() + ms }),
      tag: { ...TAG, service },
    }));
    await other.post(...holds);
    return holds.map(({ holdId }) => holdId);
  }

  test("past their deadline are leased, the most overdue first, and not again before the end of the lease", async () => {
    const service = randomUUID();
    const [late, later, future, captured] = await placeDue(service, -10, -20, 1, -30);
    await placeDue(randomUUID(), -10);
    await other.post(capture(wallet, captured ?? "", 1n));
    expect((await lease(service)).map(({ id }) => id)).toEqual([later, late]);
    rig.clock.advance(1);
    expect((await lease(service)).map(({ id }) => id)).toEqual([future]);
    expect(await lease(service)).toEqual([]);
    rig.clock.advance(5_000);
    expect((await lease(service, 1)).map(({ id }) => id)).toEqual([later]);
    const counted = (await reads.holds.countOpen()).find((each) => each.service === service);
    expect(counted).toEqual({ service, open: 3, overdueSeconds: 5.021 });
  });

  test("with a kept answer are leased with the amounts of their capture", async () => {
    const service = randomUUID();
    const hold = {
      ...place(wallet, 9n, { claim: claimOf("kept"), deadlineAt: THURSDAY + 1 }),
      tag: { ...TAG, service },
    };
    await writer.post(hold, keep(wallet, hold.holdId, 8n, "the answer"));
    rig.clock.advance(1);
    expect(await lease(service)).toMatchObject([{ id: hold.holdId, kept: { charge: 8n, cost: 5n } }]);
    expect((await list({ state: "open" })).holds).toMatchObject([{ id: hold.holdId, kept: undefined }]);
  });

  test("are listed, counted and leased from the latest list while the follower fails", async () => {
    const service = randomUUID();
    const [holdId] = await placeDue(service, -10);
    await list({ state: "open" });
    const openHolds = { catchUp: () => Promise.reject(new Error("the follower fails")) };
    const post = (operations: readonly Lease[]) => writer.post(...operations);
    const deps = { pool: rig.pool, clock: rig.clock, accounts: reads.accounts, openHolds, post };
    const holds = createHoldReads({ ...deps, log: createLogger("silent", "test") });
    const filter = { accountId: wallet.accountId, state: "open", limit: 10, after: undefined } as const;
    expect(ids(await holds.list(filter))).toEqual([holdId]);
    expect((await holds.countOpen()).find((each) => each.service === service)?.open).toBe(1);
    const leased = await holds.leaseExpired({ service, limit: 10, leaseMs: 5_000n });
    expect(leased.map(({ id }) => id)).toEqual([holdId]);
    await writer.post(capture(wallet, holdId ?? "", 1n));
    rig.clock.advance(5_000);
    expect(await holds.leaseExpired({ service, limit: 10, leaseMs: 5_000n })).toEqual([]);
  });

  test("are each leased to one of many processes", async () => {
    const service = randomUUID();
    const placed = await placeDue(service, ...Array.from({ length: 30 }, () => -1));
    const second = readsOn(rig, other);
    const askers = Array.from({ length: 6 }, (_, index) => (index % 2 === 0 ? reads : second));
    const leases = await Promise.all(
      askers.map(({ holds }) => holds.leaseExpired({ service, limit: 10, leaseMs: 5_000n })),
    );
    const leased = leases.flat().map(({ id }) => id);
    const rest = (await lease(service, 100)).map(({ id }) => id);
    expect([...leased, ...rest].toSorted()).toEqual(placed.toSorted());
  });
});

describe("the statement of an account", () => {
  const entries = (fields: Partial<Parameters<typeof reads.reports.listEntries>[0]> = {}) =>
    reads.reports.listEntries({
      accountId: wallet.accountId,
      kind: undefined,
      from: undefined,
      until: undefined,
      limit: 100,
      after: undefined,
      ...fields,
    });

  test("has each change of the credit, newest first, with its source, reason, model and key", async () => {
    const { accountId, budgetId: spenderId } = wallet;
    const [deposit, adjustment] = [randomUUID(), randomUUID()];
    const holdId = await charge(7n);
    await writer.post(
      { kind: "deposit", accountId, id: deposit, credits: 50n, note: "card" },
      { kind: "adjustment", accountId, id: adjustment, credits: -3n, note: "ticket 812" },
    );
    await other.post({ kind: "refund", accountId, id: deposit, credits: -50n, note: "card" });
    const all = (await entries()).entries;
    expect(all).toMatchObject([
      { kind: "refund", credits: -50n, source: "card", bookingId: deposit, holdId: null },
      { kind: "adjustment", credits: -3n, reason: "ticket 812", source: null, bookingId: adjustment },
      { kind: "deposit", credits: 50n, source: "card", bookingId: deposit },
      { kind: "charge", credits: -7n, holdId, model: "chat", spenderId, bookingId: null },
      { kind: "deposit", credits: 1_000n },
    ]);
    expect((await entries({ kind: "charge" })).entries).toEqual([all[3]]);
    expect((await entries({ kind: "deposit" })).entries).toEqual([all[2], all[4]]);
    const page = await entries({ limit: 2, after: all[0]?.id });
    expect([page.entries, page.hasMore]).toEqual([[all[1], all[2]], true]);
    expect(await entries({ accountId: randomUUID() })).toEqual({ entries: [], hasMore: false });
  });

  test("is cut by time, also by a time without a step", async () => {
    const times: number[] = [];
    for (let count = 0; count < 5; count += 1) {
      rig.clock.advance(1_000);
      times.push(rig.clock.now());
      await charge(1n);
    }
    const at = async (from: number | undefined, until: number | undefined) => {
      const date = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms));
      const page = await entries({ kind: "charge", from: date(from), until: date(until) });
      return page.entries.map((entry) => entry.at.getTime()).toReversed();
    };
    expect(await at(times[1], times[3])).toEqual(times.slice(1, 3));
    expect(await at((times[1] ?? 0) + 1, undefined)).toEqual(times.slice(2));
    expect(await at(undefined, THURSDAY)).toEqual([]);
    expect(await at((times[4] ?? 0) + 1, undefined)).toEqual([]);
  });
});

describe("sums", () => {
  const usage = (fields: Partial<Parameters<typeof reads.reports.sumUsage>[0]> = {}) =>
    reads.reports.sumUsage({
      accountId: wallet.accountId,
      group: "model",
      perDay: false,
      fromDay: "2026-01-15",
      toDay: "2026-01-16",
      spenderId: undefined,
      model: undefined,
      limit: 100,
      ...fields,
    });

  test("of usage have the charges of each day, model, provider and key", async () => {
    const second = { accountId: wallet.accountId, budgetId: randomUUID() };
    await other.post(budget(second));
    await charge(7n);
    const hold = { ...place(second, 5n), tag: { ...TAG, model: "image", provider: "bfl" } };
    await writer.post(hold, capture(second, hold.holdId, 5n));
    rig.clock.advance(DAY_MS);
    await charge(2n);
    const one = (group: string, requests: bigint, credits: bigint, day = "") => ({
      group,
      day,
      requests,
      credits,
    });
    const of = async (fields: Parameters<typeof usage>[0]) => (await usage(fields)).sums;
    expect(await usage()).toEqual({
      sums: [one("chat", 2n, 9n), one("image", 1n, 5n)],
      hasMore: false,
      requests: 3n,
      credits: 14n,
    });
    expect(await of({ group: "day" })).toEqual([one("2026-01-15", 2n, 12n), one("2026-01-16", 1n, 2n)]);
    expect(await of({ group: "provider", perDay: true })).toEqual([
      one("bfl", 1n, 5n, "2026-01-15"),
      one("openrouter", 1n, 7n, "2026-01-15"),
      one("openrouter", 1n, 2n, "2026-01-16"),
    ]);
    expect(await of({ group: "spender", model: "image" })).toEqual([one(second.budgetId, 1n, 5n)]);
    expect(await of({ spenderId: wallet.budgetId, toDay: "2026-01-15" })).toEqual([one("chat", 1n, 7n)]);
    expect((await usage({ limit: 1 })).hasMore).toBe(true);
    const days = await reads.reports.lastUsedDays(wallet.accountId, [wallet.budgetId, second.budgetId]);
    expect(Object.fromEntries(days)).toEqual({
      [wallet.budgetId]: "2026-01-16",
      [second.budgetId]: "2026-01-15",
    });
  });

  test("of costs have every booking: charged, failed and late, with the model of the last attempt", async () => {
    const [one, two, three] = [randomUUID(), randomUUID(), randomUUID()];
    const { accountId } = wallet;
    const hold = { ...place(wallet, 9n), tag: { ...TAG, provider: one, upstreamModel: "first" } };
    const { holdId } = hold;
    const next: NextAttempt = {
      ...{ kind: "next", accountId, holdId, attempt: 2, provider: two, upstreamModel: "second" },
      ...{ cost: 11n, deadlineAt: THURSDAY + 600_000, billedBy: one },
    };
    const freed = { ...place(wallet, 9n), tag: { ...TAG, provider: three, upstreamModel: "third" } };
    await writer.post(hold, next, capture(wallet, holdId, 4n, 20n));
    // A repeat reports a higher cost of the first attempt, and the bill of the second is higher than the charge.
    await other.post({ ...next, cost: 15n }, capture(wallet, holdId, 4n, 26n));
    await other.post(freed, release(wallet, freed.holdId, 3n), release(wallet, freed.holdId, 8n));
    const sums = await reads.reports.sumCosts({
      fromDay: "2026-01-15",
      toDay: "2026-01-15",
      providers: [one, two, three],
      limit: 10,
    });
    const day = "2026-01-15";
    expect(new Set(sums)).toEqual(
      new Set([
        { day, provider: one, upstreamModel: "", cost: 15n, entries: 2n, charged: 0n, lost: 15n },
        { day, provider: two, upstreamModel: "second", cost: 26n, entries: 2n, charged: 4n, lost: 6n },
        { day, provider: three, upstreamModel: "third", cost: 8n, entries: 2n, charged: 0n, lost: 8n },
      ]),
    );
  });
});

describe("dry runs", () => {
  const judge = async (claim: ReturnType<typeof claimOf>, of = wallet) =>
    (await reads.dryRuns.judgeClaim({ ...of, claim })).code;
  const check = async (size: bigint, claimKey?: string) =>
    (await reads.dryRuns.checkSpender({ ...wallet, claimKey, credits: size })).code;

  test("of a claim have the answer of a place, at each state of its owner", async () => {
    const claim = claimOf("a");
    expect(await judge(claim)).toBe("done");
    const hold = place(wallet, 9n, { claim });
    await other.post(hold);
    expect(await judge(claim)).toBe("claim_in_progress");
    expect(await judge(claimOf("a", "other content"))).toBe("claim_mismatch");
    await other.post(capture(wallet, hold.holdId, 9n));
    expect(await judge(claim)).toBe("claim_finished");
    rig.clock.advance(DAY_MS);
    expect(await judge(claim)).toBe("done");
  });

  test("of a claim whose owner another process has just placed and freed follow it", async () => {
    const claim = claimOf("b");
    for (let count = 0; count < 3; count += 1) {
      const hold = place(wallet, 9n, { claim });
      await other.post(hold);
      expect(await judge(claim)).toBe("claim_in_progress");
      await other.post(release(wallet, hold.holdId));
      expect(await judge(claim)).toBe("done");
    }
  });

  test("of a key refuse only for reasons that do not depend on open holds, unless the claim is known", async () => {
    await writer.post(place(wallet, 450n));
    expect(await check(500n)).toBe("done");
    expect(await check(501n)).toBe("spend_limit_exceeded");
    const claim = claimOf("c");
    await other.post(place(wallet, 1n, { claim }));
    expect(await check(501n, claim.key)).toBe("done");
    await other.post(budget(wallet, { active: false, revision: 2n }));
    expect(await check(0n)).toBe("spender_inactive");
  });

  test("of an unknown account are those of an unknown key", async () => {
    expect(await judge(claimOf("d"), newWallet())).toBe("done");
    const { code } = await reads.dryRuns.checkSpender({ ...newWallet(), claimKey: undefined, credits: 1n });
    expect(code).toBe("spender_inactive");
  });
});

test("a kept answer is read by its account, for the lifetime of its claim", async () => {
  const hold = place(wallet, 9n, { claim: claimOf("e") });
  await writer.post(hold, keep(wallet, hold.holdId, 8n, "the answer"));
  const read = (accountId = wallet.accountId) =>
    readKeptAnswer(rig.pool, accountId, hold.holdId, rig.clock.now());
  const answer = await read();
  expect([answer?.contentType, answer?.body.toString()]).toEqual(["application/json", "the answer"]);
  expect(await read(randomUUID())).toBeUndefined();
  rig.clock.advance(DAY_MS - 1);
  expect(await read()).toBeDefined();
  rig.clock.advance(1);
  expect(await read()).toBeUndefined();
});

test("a promoted standby without the latest steps is read as it is", async () => {
  const [first, second] = [place(wallet, 10n), place(wallet, 20n)];
  await writer.post(first);
  const held = async () => await reads.accounts.ask(wallet.accountId, ({ held: sum }) => ({ answer: sum }));
  const before = await held();
  await writer.post(second);
  expect(await held()).toBe(before + 20n);
  await rig.withClient((client) => client.query("DELETE FROM step WHERE id = $1", [second.holdId]));
  expect(await held()).toBe(before);
  const late = await rig.writer();
  await late.post(place(wallet, 5n));
  expect(await held()).toBe(before + 5n);
});
