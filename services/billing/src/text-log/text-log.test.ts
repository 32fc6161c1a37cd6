// Guarantees of the log of text requests. Only the account of a line finds it, in pages, with the cost from its hold. A request without a
// line is found by its hold. Old lines are deleted.
import { randomUUID } from "node:crypto";
import { HoldState, SpendPeriod, TextApi } from "@gr/proto/billing";
import { isDistributedRun, until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { bucketOf } from "../chain/bucket.ts";
import { PLAN_BY_KEY } from "../chain/step-store.ts";
import { AccountReader } from "../reads/account-reader.ts";
import { lockWaiters } from "../test/ledger-store.ts";
import { addTexts } from "../test/many-texts-store.ts";
import { type BillingUnderTest, startBilling, startBillingOn, THURSDAY } from "../test/start-billing.ts";
import { capture, openWallet, place, post, release, type Wallet } from "../test/wallet.ts";
import { HOLDS, linesQuery, readTexts, type TextFilter } from "./text-list-store.ts";
import { createTextLogStore, FIND_LINE, removeFrom } from "./text-log-store.ts";
import { textMonths } from "./text-months-store.ts";

const DAY_MS = 86_400_000;
const NO_FILTER = {
  ...{ spenderId: undefined, model: undefined, state: undefined },
  ...{ beganAfter: undefined, beganBefore: undefined, before: undefined },
} as const;

/** Removals read no hold. */
const NO_HOLDS = new AccountReader({} as never);

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling({ TEXT_LOG_DAYS: "30" });
});
beforeEach(() => ledger.clock.set(THURSDAY));
afterAll(() => ledger.stopSound());

const lineOf = ({ accountId, spenderId }: Wallet, requestId: string, fields: object = {}) => ({
  ...{ requestId, accountId, spenderId, model: "m" },
  api: TextApi.CHAT,
  stream: true,
  beganAt: BigInt(THURSDAY),
  tookMs: 1_200n,
  ...fields,
});

async function held(from: Wallet): Promise<string> {
  const hold = place(from, 40n, { model: "m" });
  await post(ledger.inProcess, hold);
  return hold.holdId;
}

async function charged(from: Wallet, fields: object = {}): Promise<string> {
  const id = await held(from);
  await post(ledger.inProcess, capture(id, 7n));
  await ledger.texts.writeTexts({ lines: [lineOf(from, id, fields)] });
  return id;
}

describe("a line", () => {
  test("is found with every field, beside what its hold says", async () => {
    const mine = await openWallet(ledger.inProcess, 1_000n);
    const usage = {
      inputTokens: 10n,
      outputTokens: 5n,
      reasoningTokens: 2n,
      toolCalls: { web_search_call: 1n },
    };
    const said = {
      firstByteMs: 90n,
      finishReason: "NULL",
      userTag: 'Ä\u0000 "u\\ser",\n{}',
      usage,
      attempts: [
        { provider: "one", upstreamModel: 'a"\\', outcome: "refused", tookMs: 3n },
        { provider: "two", upstreamModel: "b", outcome: "delivered", tookMs: 1_000n },
      ],
      errorReason: "provider_timeout",
      errorMessage: "It took too long.",
    };
    const id = await charged(mine, said);
    const { text } = await ledger.texts.findText({ accountId: mine.accountId, requestId: id });
    expect(text).toMatchObject({
      ...{ requestId: id, spenderId: mine.spenderId, model: "m", state: HoldState.CAPTURED },
      ...{ chargedCredits: 7n, priceVersion: expect.any(String), placedAt: BigInt(THURSDAY) },
      line: { ...lineOf(mine, id), ...said, userTag: 'Ä "u\\ser",\n{}' },
    });
    // A repeated write changes nothing.
    await ledger.texts.writeTexts({ lines: [lineOf(mine, id, { model: "other" })] });
    expect((await ledger.texts.findText({ accountId: mine.accountId, requestId: id })).text).toEqual(text);
  });

  test("keeps the first 500 characters of a text, and no half of one", async () => {
    const mine = await openWallet(ledger.inProcess, 1_000n);
    const long = { errorMessage: "x".repeat(501), userTag: `${"x".repeat(499)}\u{1f600}` };
    const id = await charged(mine, long);
    const { text } = await ledger.texts.findText({ accountId: mine.accountId, requestId: id });
    const kept = { errorMessage: "x".repeat(500), userTag: `${"x".repeat(499)}\ufffd` };
    expect(text?.line).toMatchObject(kept);
  });

  test("that never came leaves the request findable, with what it cost", async () => {
    const mine = await openWallet(ledger.inProcess, 1_000n);
    const id = await held(mine);
    const find = async () =>
      (await ledger.texts.findText({ accountId: mine.accountId, spenderId: mine.spenderId, requestId: id }))
        .text;
    expect(await find()).toMatchObject({ state: HoldState.OPEN, chargedCredits: 0n });
    await post(ledger.inProcess, release(id));
    expect(await find()).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n });
    expect((await find())?.line).toBeUndefined();
  });

  test("is nobody else's: not another account's, nor another key's", async () => {
    const mine = await openWallet(ledger.inProcess, 1_000n);
    const id = await charged(mine);
    const find = async (accountId: string, spenderId = "") =>
      (await ledger.texts.findText({ accountId, spenderId, requestId: id })).text;
    expect(await find(mine.accountId)).toBeDefined();
    expect(await find(randomUUID())).toBeUndefined();
    expect(await find(mine.accountId, randomUUID())).toBeUndefined();
    expect((await ledger.texts.listTexts({ accountId: randomUUID() })).texts).toEqual([]);
  });

  test.each<[string, object, string]>([
    ["an API that there is not", { api: TextApi.UNSPECIFIED }, "lines[0].api"],
    ["an id that is none", { requestId: "x" }, "lines[0].request_id"],
    ["no model", { model: "" }, "lines[0].model"],
    ["a begin more than a day ahead", { beganAt: BigInt(THURSDAY + DAY_MS + 1) }, "lines[0].began_at"],
  ])("with %s is refused, and so are its neighbours", async (_what, fields, param) => {
    const mine = await openWallet(ledger.inProcess, 1_000n);
    const [bad, good] = [await held(mine), await held(mine)];
    const lines = [lineOf(mine, bad, fields), lineOf(mine, good)];
    await expect(ledger.texts.writeTexts({ lines })).rejects.toMatchObject({
      reason: "invalid_value",
      param,
    });
    expect((await ledger.texts.listTexts({ accountId: mine.accountId })).texts).toEqual([]);
    for (const id of [bad, good]) await post(ledger.inProcess, release(id));
  });
});

test("pages have each line once, newest first, also those of one moment", async () => {
  const mine = await openWallet(ledger.inProcess, 1_000n);
  const ids: string[] = [];
  for (const later of [0, 1, 1, 1, 2]) ids.push(await charged(mine, { beganAt: BigInt(THURSDAY + later) }));
  const read: string[] = [];
  for (let after = "", more = true; more; after = read.at(-1) ?? "") {
    const page = await ledger.texts.listTexts({ accountId: mine.accountId, limit: 2, after });
    read.push(...page.texts.map(({ requestId }) => requestId));
    more = page.hasMore;
  }
  expect(new Set(read)).toEqual(new Set(ids));
  expect([read[0], read.at(-1), read.length]).toEqual([ids.at(-1), ids[0], ids.length]);
  await expect(
    ledger.texts.listTexts({ accountId: mine.accountId, after: randomUUID() }),
  ).rejects.toMatchObject({
    param: "after",
  });
});

test("pages are of a key, a model, a state and a time when asked for", async () => {
  const mine = await openWallet(ledger.inProcess, 1_000n);
  const old = await charged(mine, { beganAt: BigInt(THURSDAY - DAY_MS) });
  const other = await charged(mine, { model: "other" });
  const failed = await held(mine);
  await post(ledger.inProcess, release(failed));
  const running = await held(mine);
  await ledger.texts.writeTexts({ lines: [lineOf(mine, failed), lineOf(mine, running)] });
  const { accountId, spenderId } = mine;
  const idsOf = async (filter: object) =>
    new Set((await ledger.texts.listTexts({ accountId, ...filter })).texts.map(({ requestId }) => requestId));
  expect(await idsOf({ spenderId })).toEqual(new Set([old, other, failed, running]));
  expect(await idsOf({ spenderId: randomUUID() })).toEqual(new Set());
  expect(await idsOf({ model: "other" })).toEqual(new Set([other]));
  expect(await idsOf({ state: HoldState.RELEASED })).toEqual(new Set([failed]));
  await ledger.inProcess.listHolds({ accountId, state: HoldState.OPEN, limit: 1 });
  expect(await idsOf({ state: HoldState.OPEN })).toEqual(new Set([running]));
  expect(await idsOf({ beganBefore: BigInt(THURSDAY) })).toEqual(new Set([old]));
  expect(await idsOf({ beganAfter: BigInt(THURSDAY - DAY_MS) })).toEqual(new Set([other, failed, running]));
});

test("a page of a state reads on until it is full, and refuses to read without an end", async () => {
  const mine = await openWallet(ledger.inProcess, 1_000n);
  const failed: string[] = [];
  for (let at = 0; at < 3; at += 1) {
    const id = await held(mine);
    await post(ledger.inProcess, release(id));
    const beganAt = BigInt(THURSDAY - DAY_MS + at);
    await ledger.texts.writeTexts({ lines: [lineOf(mine, id, { beganAt })] });
    failed.unshift(id);
  }
  for (let at = 0; at < 12; at += 1) await charged(mine, { beganAt: BigInt(THURSDAY + at) });
  const { accountId } = mine;
  const page = async (filter: object) => {
    const request = { accountId, state: HoldState.RELEASED, limit: 2, ...filter };
    const { texts, hasMore } = await ledger.texts.listTexts(request);
    return [texts.map(({ requestId }) => requestId), hasMore];
  };
  expect(await page({})).toEqual([failed.slice(0, 2), true]);
  expect(await page({ after: failed[1] })).toEqual([failed.slice(2), false]);
  const filter: TextFilter = { ...NO_FILTER, accountId, state: "released", limit: 1 };
  await expect(readTexts(ledger.db, filter, "DESC", 10)).rejects.toMatchObject({ param: "began_before" });
  expect((await readTexts(ledger.db, filter, "DESC", 11)).map(({ id }) => id)).toEqual(failed.slice(0, 2));
});

test("the oldest request of a state is found, or a time before it if many others are older", async () => {
  const mine = await openWallet(ledger.inProcess, 1_000n);
  const { accountId } = mine;
  for (let at = 0; at < 6; at += 1) await charged(mine, { beganAt: BigInt(THURSDAY + at) });
  const id = await held(mine);
  await post(ledger.inProcess, release(id));
  await ledger.texts.writeTexts({ lines: [lineOf(mine, id, { beganAt: BigInt(THURSDAY + 6) })] });
  const filter: TextFilter = { ...NO_FILTER, accountId, state: "released", limit: 1 };
  const msOfOldest = async (mostLines: number) => {
    const store = createTextLogStore(ledger.db, NO_HOLDS, { sumMs: 60_000, mostLines });
    return (await store.sum(filter, undefined)).oldestAt?.getTime();
  };
  expect(await msOfOldest(7)).toBe(THURSDAY + 6);
  expect(await msOfOldest(5)).toBe(THURSDAY);
});

test("long pages of one account leave connections to reads of credits", async () => {
  const { accountId } = await openWallet(ledger.inProcess, 5n);
  const other = await ledger.transaction();
  await other.query("LOCK TABLE text_line IN ACCESS EXCLUSIVE MODE");
  const callers = new AbortController();
  const list = () =>
    ledger.texts.listTexts(
      { accountId, state: HoldState.RELEASED },
      { signal: callers.signal, timeoutMs: 60_000 },
    );
  const pages = Promise.allSettled(Array.from({ length: 8 }, list));
  await until(async () => (await lockWaiters(ledger.db)) > 0, { timeoutMs: 60_000 });
  expect(await ledger.inProcess.getCredits({ accountId })).toMatchObject({ remainingCredits: 5n });
  callers.abort();
  await other.query("ROLLBACK");
  await other.end();
  expect((await pages).map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => "rejected"));
});

test("pages are of a provider, by the last attempt, and of several spenders in one order", async () => {
  const [mine, second] = [
    await openWallet(ledger.inProcess, 1_000n),
    await openWallet(ledger.inProcess, 1_000n),
  ];
  const { accountId } = mine;
  const attempt = (provider: string) => ({ provider, upstreamModel: "m", outcome: "delivered", tookMs: 1n });
  const other = { ...second, accountId };
  await ledger.inProcess.putSpender({
    spender: {
      ...other,
      name: "second",
      period: SpendPeriod.LIFETIME,
      active: true,
      revision: 1n,
      createdAt: BigInt(THURSDAY),
    },
  });
  const one = await charged(mine, { attempts: [attempt("slow"), attempt("fast")] });
  const two = await charged(other, { attempts: [attempt("slow")], beganAt: BigInt(THURSDAY + 1) });
  const three = await charged(mine, { attempts: [attempt("slow")], beganAt: BigInt(THURSDAY + 2) });
  const idsOf = async (filter: object) =>
    (await ledger.texts.listTexts({ accountId, ...filter })).texts.map(({ requestId }) => requestId);
  expect(await idsOf({ provider: "slow" })).toEqual([three, two]);
  expect(await idsOf({ provider: "fast" })).toEqual([one]);
  const both = [other.spenderId, mine.spenderId];
  expect(await idsOf({ spenderIds: both })).toEqual([three, two, one]);
  expect(await idsOf({ spenderIds: [other.spenderId, randomUUID()] })).toEqual([two]);
  expect(await idsOf({ spenderIds: both, provider: "slow", limit: 1 })).toEqual([three]);
  expect(await idsOf({ spenderIds: both, limit: 1, after: three })).toEqual([two]);
  const many = Array.from({ length: 1_001 }, () => randomUUID());
  await expect(idsOf({ spenderIds: many })).rejects.toMatchObject({ param: "spender_ids" });
});

test("sums have all requests of a filter, once, with their charge, and the latencies of charged ones", async () => {
  const mine = await openWallet(ledger.inProcess, 1_000n);
  const { accountId, spenderId } = mine;
  await charged(mine, { tookMs: 100n });
  await charged(mine, { beganAt: BigInt(THURSDAY + 60_000), tookMs: 100n, model: "other" });
  await charged(mine, { beganAt: BigInt(THURSDAY + 119_999), tookMs: 5_000n });
  const failed = await held(mine);
  await post(ledger.inProcess, release(failed));
  const running = await held(mine);
  await ledger.texts.writeTexts({ lines: [lineOf(mine, failed), lineOf(mine, running)] });
  await ledger.inProcess.listHolds({ accountId, state: HoldState.OPEN, limit: 1 });
  const sum = async (filter: object = {}) => {
    const bars = { barsFrom: BigInt(THURSDAY), barMs: 60_000n };
    const { sums, latencies } = await ledger.texts.sumTexts({ filter: { accountId, ...filter }, ...bars });
    const rows = sums.map(({ bar, state, requests, chargedCredits }) => [
      bar,
      state,
      requests,
      chargedCredits,
    ]);
    return {
      rows: new Set(rows.map(String)),
      latencies: latencies.map(({ requests }) => requests).toSorted(),
    };
  };
  const { CAPTURED, RELEASED, OPEN } = HoldState;
  const all = [
    [0, CAPTURED, 1, 7],
    [1, CAPTURED, 2, 14],
    [0, RELEASED, 1, 0],
    [0, OPEN, 1, 0],
  ];
  expect(await sum()).toEqual({ rows: new Set(all.map(String)), latencies: [1n, 2n] });
  expect(await sum({ spenderIds: [spenderId] })).toEqual(await sum());
  expect(await sum({ spenderIds: [randomUUID()] })).toEqual({ rows: new Set(), latencies: [] });
  expect(await sum({ model: "other" })).toEqual({
    rows: new Set([String([1, CAPTURED, 1, 7])]),
    latencies: [1n],
  });
  expect((await sum({ state: OPEN })).rows).toEqual(new Set([String([0, OPEN, 1, 0])]));
  const later = { beganAfter: BigInt(THURSDAY) };
  expect((await sum(later)).rows).toEqual(new Set([String([1, CAPTURED, 2, 14])]));
  const oldest = async (filter: object) =>
    (await ledger.texts.sumTexts({ filter: { accountId, ...filter } })).oldestAt;
  expect([await oldest({}), await oldest(later), await oldest({ model: "none" })]).toEqual([
    ...[BigInt(THURSDAY), BigInt(THURSDAY + 60_000)],
    undefined,
  ]);
  const narrow = { filter: { accountId }, barsFrom: BigInt(THURSDAY), barMs: 1n };
  await expect(ledger.texts.sumTexts(narrow)).rejects.toMatchObject({ param: "bar_ms" });
});

test("a sum ends at its limit, which is a fault of its times and not of billing", async () => {
  const { accountId } = await openWallet(ledger.inProcess, 0n);
  const other = await ledger.transaction();
  await other.query("LOCK TABLE text_line IN ACCESS EXCLUSIVE MODE");
  const store = createTextLogStore(ledger.db, NO_HOLDS, { sumMs: 100, mostLines: 1 });
  const sum = store.sum({ ...NO_FILTER, accountId, limit: 1 }, { from: THURSDAY, widthMs: 60_000 });
  await expect(sum).rejects.toMatchObject({ reason: "invalid_value", param: "began_after" });
  await other.query("ROLLBACK");
  await other.end();
});

describe("a large log over three partitions", () => {
  const MONTHS = ["text_line_2026_04", "text_line_2026_03", "text_request"];
  const APRIL_20 = Date.UTC(2026, 3, 20);
  /** Of the partitions that PostgreSQL names, and of the first one. */
  const INDEXES = {
    account: ["_account_id_began_at_id_idx", "_of_account"],
    spender: ["_spender_id_began_at_id_idx", "_of_spender"],
    model: ["_account_id_model_began_at_id_idx", "_of_model"],
    provider: ["_account_id_expr_began_at_id_idx", "_of_provider"],
  } as const;
  let mine: Wallet;
  let db: Awaited<ReturnType<BillingUnderTest["transaction"]>>;

  beforeAll(async () => {
    mine = await openWallet(ledger.inProcess, 1_000n);
    const areMade = async () => (await textMonths(ledger.db)).length === MONTHS.length;
    await until(areMade, { timeoutMs: 60_000 });
    db = await ledger.transaction();
    await addTexts(db, mine, 20_000, { endsAt: APRIL_20, apartMs: 500_000 });
    await db.query(PLAN_BY_KEY);
  });
  afterAll(async () => {
    await db.query("ROLLBACK");
    await db.end();
  });

  const planOf = async (text: string, values: unknown[], options = "") => {
    const { rows } = await db.query<{ "QUERY PLAN": string }>(`EXPLAIN ${options} ${text}`, values);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  };
  const pageOf = (filter: Partial<TextFilter>) =>
    linesQuery({ ...NO_FILTER, accountId: mine.accountId, limit: 20, ...filter }, "DESC");
  /** Partitions in the order of the plan, and their indexes. */
  const scansOf = (plan: string) =>
    Array.from(plan.matchAll(/using (\S+) on (text_(?:line|request)\S*) /g), ([, index, month]) => ({
      index,
      month,
    }));
  const monthsOf = async (filter: Partial<TextFilter>) => {
    const { text, values } = pageOf(filter);
    return scansOf(await planOf(text, values)).map(({ month }) => month);
  };

  test("is read by pages from an index of each and never sorted, by account and by key, with filters and without", async () => {
    const time = { beganAfter: new Date(0), beganBefore: new Date(APRIL_20) };
    const cases: [Partial<TextFilter>, (keyof typeof INDEXES)[], (keyof typeof INDEXES)[]][] = [
      [{}, ["account"], ["spender"]],
      [{ before: { id: randomUUID(), beganAt: new Date(APRIL_20) } }, ["account"], ["spender"]],
      [{ state: "released" }, ["account"], ["spender"]],
      // A key's lines of a model are few in either index.
      [{ model: "m1" }, ["model"], ["model", "spender"]],
      [{ model: "rare" }, ["model"], ["model", "spender"]],
      [{ ...time, model: "m1" }, ["model"], ["model", "spender"]],
    ];
    for (const [filter, ofAccount, ofKey] of cases) {
      for (const [allowed, owner] of [
        [ofAccount, {}],
        [ofKey, { spenderId: mine.spenderId }],
      ] as const) {
        const { text, values } = pageOf({ ...owner, ...filter });
        const plan = await planOf(text, values);
        const scans = scansOf(plan);
        expect([filter, scans.map(({ month }) => month)]).toEqual([filter, MONTHS]);
        const names = allowed.flatMap((kind) => INDEXES[kind]);
        const others = scans.filter(({ index, month }) => !names.some((name) => index === `${month}${name}`));
        expect([filter, others]).toEqual([filter, []]);
        expect([filter, plan]).toEqual([filter, expect.not.stringMatching(/Seq Scan|Sort|Merge Append/)]);
      }
    }
    const provider = pageOf({ provider: "p" });
    const plan = await planOf(provider.text, provider.values);
    expect(scansOf(plan).map(({ index }) => index)).toEqual(
      MONTHS.map((month) => `${month}${INDEXES.provider[month === "text_request" ? 1 : 0]}`),
    );
    expect(plan).not.toMatch(/Seq Scan|Sort|Merge Append/);
    const spenders = pageOf({ spenderIds: [mine.spenderId, randomUUID()] });
    const both = await planOf(spenders.text, spenders.values);
    expect(scansOf(both).map(({ index }) => index)).toEqual(
      MONTHS.map((month) => `${month}${INDEXES.spender[month === "text_request" ? 1 : 0]}`),
    );
    expect(both).not.toMatch(/Seq Scan|Merge Append/);
  });

  test("is read in its newest partition by the first page, and by others only in those of their times", async () => {
    const { text, values } = pageOf({});
    const plan = await planOf(text, values, "(ANALYZE, COSTS OFF, TIMING OFF)");
    const scans = plan.split("\n").filter((row) => / on text_(line|request)\S* /.test(row));
    expect(scans.map((row) => row.includes("never executed"))).toEqual([false, true, true]);
    const march = new Date(Date.UTC(2026, 2, 10));
    expect(await monthsOf({ before: { id: randomUUID(), beganAt: march } })).toEqual(MONTHS.slice(1));
    expect(await monthsOf({ beganAfter: march })).toEqual(MONTHS.slice(0, 2));
    expect(await monthsOf({ beganAfter: march, beganBefore: new Date(Date.UTC(2026, 2, 20)) })).toEqual([
      "text_line_2026_03",
    ]);
  });

  test("has the holds of a page, which one server finds by their ids", async () => {
    const { accountId } = mine;
    const { text, values } = pageOf({});
    const { rows } = await db.query<{ id: string }>(text, values);
    const ids = rows.map(({ id }) => id);
    const plan = await planOf(HOLDS, [bucketOf(accountId), accountId, ids]);
    if (isDistributedRun()) expect(plan).toMatch(/Task Count: 1\b/);
    else
      expect(plan).toMatch(
        /using step_beginning on step .*using step_pkey on step e .*using step_pkey on step n /s,
      );
    expect(plan).not.toMatch(/Seq Scan/);
  });

  test("is read for an id in the partition of its hold, from the key of the partition", async () => {
    const day = [Date.UTC(2026, 2, 10), Date.UTC(2026, 2, 12)].map((at) => new Date(at));
    const plan = await planOf(FIND_LINE, [randomUUID(), mine.accountId, ...day]);
    expect(scansOf(plan)).toEqual([{ index: "text_line_2026_03_pkey", month: "text_line_2026_03" }]);
  });

  test("is searched for old lines from one account to the next in an index", async () => {
    const values = [new Date(0), new Date(0)];
    for (const month of MONTHS) {
      const plan = await planOf(removeFrom(month), values);
      expect(plan).toMatch(/text_request_of_account|text_line_\d+_\d+_account_id_began_at_id_idx/);
      expect(plan).not.toMatch(/Seq Scan on text_/);
    }
  });
});

const listed = async ({ accountId }: Wallet) => {
  const { texts } = await ledger.texts.listTexts({ accountId, limit: 1_000 });
  return texts.map(({ requestId }) => requestId);
};

test("lines go with their month when it is older than they are kept, and what they cost stays", async () => {
  const mine = await openWallet(ledger.inProcess, 1_000n);
  const id = await charged(mine, { beganAt: BigInt(Date.UTC(2025, 11, 1) - 1) });
  const kept = await charged(mine, { beganAt: BigInt(Date.UTC(2025, 11, 1)) });
  expect(await listed(mine)).toEqual([kept, id]);
  // A round begins with the process.
  const process = await startBillingOn(ledger.url, ledger.clock, { TEXT_LOG_DAYS: "30" });
  await until(async () => !(await listed(mine)).includes(id), { timeoutMs: 60_000 });
  expect(await listed(mine)).toEqual([kept]);
  const { text } = await ledger.texts.findText({ accountId: mine.accountId, requestId: id });
  expect(text).toMatchObject({ chargedCredits: 7n });
  await process.stop();
});

describe("an account's own term", () => {
  const DAYS_AGO = (days: number) => ({ beganAt: BigInt(THURSDAY - days * DAY_MS) });
  const round = (days: number) =>
    createTextLogStore(ledger.db, NO_HOLDS).removeOld(
      days,
      new Date(ledger.clock.now()),
      new AbortController().signal,
    );
  const isKept = async (wallet: Wallet, requestId: string) => (await listed(wallet)).includes(requestId);

  test("goes before the installation's, in both directions, and for lines that are there already", async () => {
    const short = await openWallet(ledger.inProcess, 1_000n);
    const usual = await openWallet(ledger.inProcess, 1_000n);
    const long = await openWallet(ledger.inProcess, 1_000n);
    const ids = await Promise.all([short, usual, long].map((wallet) => charged(wallet, DAYS_AGO(20))));
    const young = await charged(short, DAYS_AGO(4));
    await ledger.texts.setTextRetention({ accountId: short.accountId, days: 5 });
    await ledger.texts.setTextRetention({ accountId: long.accountId, days: 90 });
    const kept = () => Promise.all([short, usual, long].map((wallet, at) => isKept(wallet, ids[at] ?? "")));
    await round(30);
    expect(await kept()).toEqual([false, true, true]);
    await round(7);
    expect(await kept()).toEqual([false, false, true]);
    expect(await isKept(short, young)).toBe(true);
  });

  test("of 0 days keeps no line, and what a request cost stays findable", async () => {
    const mine = await openWallet(ledger.inProcess, 1_000n);
    const before = await charged(mine);
    await ledger.texts.setTextRetention({ accountId: mine.accountId, days: 0 });
    const after = await charged(mine);
    ledger.clock.advance(1);
    await round(30);
    expect([await isKept(mine, before), await isKept(mine, after)]).toEqual([false, false]);
    const { text } = await ledger.texts.findText({ accountId: mine.accountId, requestId: after });
    expect(text).toMatchObject({ chargedCredits: 7n });
  });

  test("keeps lines where the installation keeps none", async () => {
    const [mine, other] = [
      await openWallet(ledger.inProcess, 1_000n),
      await openWallet(ledger.inProcess, 1_000n),
    ];
    await ledger.texts.setTextRetention({ accountId: mine.accountId, days: 5 });
    const process = await startBillingOn(ledger.url, ledger.clock, { TEXT_LOG_DAYS: "0" });
    const [kept, not] = [await held(mine), await held(other)];
    await process.texts.writeTexts({ lines: [lineOf(mine, kept), lineOf(other, not)] });
    expect([await isKept(mine, kept), await isKept(other, not)]).toEqual([true, false]);
    await process.stop();
  });

  test("is told, and can be taken back", async () => {
    const { accountId } = await openWallet(ledger.inProcess, 1_000n);
    const term = async () => {
      const { days, own } = await ledger.texts.getTextRetention({ accountId });
      return { days, own };
    };
    expect(await term()).toEqual({ days: 30, own: false });
    expect(await ledger.texts.setTextRetention({ accountId, days: 0 })).toMatchObject({ days: 0, own: true });
    expect(await term()).toEqual({ days: 0, own: true });
    expect(await ledger.texts.setTextRetention({ accountId })).toMatchObject({ days: 30, own: false });
  });

  test.each([
    [{ days: -1 }, "invalid_value"],
    [{ days: 36_501 }, "invalid_value"],
    [{ accountId: "7", days: 1 }, "invalid_value"],
    [{ accountId: randomUUID(), days: 1 }, "account_not_found"],
  ])("%j is refused", async (fields, reason) => {
    const { accountId } = await openWallet(ledger.inProcess, 1_000n);
    await expect(ledger.texts.setTextRetention({ accountId, ...fields })).rejects.toMatchObject({ reason });
    expect(await ledger.texts.getTextRetention({ accountId })).toMatchObject({ own: false });
  });
});
