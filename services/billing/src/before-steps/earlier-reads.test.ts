// Reads across the carry: pages of entries, of holds and of the text log continue in the tables before the chain; expired answers are
// deleted there; and a forged carry is a difference.
import { randomUUID } from "node:crypto";
import type { Id } from "@gr/ledger";
import { connectPostgres, createLogger, type Pool } from "@gr/runtime";
import { ManualClock } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { spanOf } from "../activity/activity-span.ts";
import { createActivityStore } from "../activity/activity-store.ts";
import { createReadActivity } from "../activity/read-activity.ts";
import { createStepLedger, type StepLedger } from "../step-ledger/step-ledger.ts";
import { carry, type EarlierDatabase, earlierDatabase } from "../test/earlier/earlier-database-store.ts";
import { EarlierLedger } from "../test/earlier/earlier-ledger-store.ts";
import { NOTHING, type Operation, placeOf, postedOf } from "../test/earlier/earlier-operations.ts";
import {
  addText,
  followedRows,
  forgeCarry,
  forgePlace,
  forgetPositions,
  latestEntryIds,
  withTampered,
} from "../test/earlier/version-before-store.ts";
import { createTextLogStore, type TextLogStore } from "../text-log/text-log-store.ts";

const log = createLogger("silent", "test");
const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const HOLDS = 4;

const accountId = randomUUID();
const spenderId = randomUUID();
/** Of before: captured, captured, released, open. */
const holdIds = Array.from({ length: HOLDS }, () => randomUUID() as Id);
const laterId = randomUUID();

let database: EarlierDatabase;
let pool: Pool;
let clock: ManualClock;
let chain: StepLedger;
let texts: TextLogStore;
/** Id of the second latest entry of before, as the version before returned it. */
let cursor: bigint;

beforeAll(async () => {
  database = await earlierDatabase("empty");
  const ledger = new EarlierLedger(database.pool);
  const began = Date.now() - 60 * MINUTE;
  const at = (minute: number) => new Date(began + minute * MINUTE);
  await ledger.open(accountId);
  await ledger.putDeposit(accountId, { id: randomUUID(), credits: 600n, status: "COMPLETED" }, at(0));
  const fields = {
    name: "key",
    cap: null,
    period: "lifetime",
    expiresAt: null,
    active: true,
    revision: 0n,
  } as const;
  await ledger.putSpender({ ...fields, id: spenderId, accountId, createdAt: at(0) });
  for (const [index, holdId] of holdIds.entries())
    await ledger.post(placeAt(at(index + 1), holdId), at(index + 1));
  const [first = "", second = "", third = ""] = holdIds;
  await ledger.keep(first, { body: Buffer.from("the answer"), credits: 7n, cost: 8n });
  await ledger.post({ ...NOTHING, kind: "capture", holdId: first, credits: 7n, cost: 8n }, at(6));
  await ledger.post({ ...NOTHING, kind: "capture", holdId: second, credits: 5n, cost: 6n }, at(7));
  await ledger.post({ ...NOTHING, kind: "release", holdId: third, cost: 2n }, at(8));
  await ledger.putAdjustment(accountId, randomUUID(), -9n, at(9));
  for (const [index, holdId] of holdIds.entries())
    await addText(database.pool, { accountId, spenderId, holdId, at: at(index + 1) });
  cursor = (await latestEntryIds(database.pool, accountId))[1] ?? 0n;
  await carry(database.url);
  clock = new ManualClock(Date.now() + 1_000);
  pool = await connectPostgres({ url: database.url, poolSize: 4, schema: "billing", log });
  const events = {
    committed: () => undefined,
    triedAgain: () => undefined,
    refusedFromMemory: () => undefined,
  };
  chain = createStepLedger({ pool, clock, freeLimit: null, log, events });
  texts = createTextLogStore(pool, chain.reader);
  await chain.writer.post([postedOf(placeAt(new Date(clock.now()), laterId))]);
  await chain.writer.post([{ kind: "capture", holdId: laterId, accountId, charge: 11n, cost: 12n }]);
  await addText(database.pool, { accountId, spenderId, holdId: laterId, at: new Date(clock.now()) });
});
afterAll(async () => {
  chain?.close();
  await pool?.end();
  await database?.drop();
});

function placeAt(at: Date, holdId: Id): Operation {
  return placeOf({ accountId, spenderId, holdId, deadlineAt: at.getTime() + 100 * MINUTE });
}

const ENTRIES = {
  accountId,
  kind: undefined,
  from: undefined,
  until: undefined,
  after: undefined,
  limit: 100,
} as const;

test("activity by day has the charges of before and after, as usage has; hours begin with the chain", async () => {
  const store = createActivityStore(pool);
  const readActivity = createReadActivity({ store, accounts: chain.accounts, follow: chain.follow });
  const total = async (bucket: "day" | "hour") => {
    const span = spanOf(bucket, clock.now() - 2 * DAY, clock.now() + 1);
    const filter = { spenderId: undefined, model: undefined, provider: undefined };
    return (await readActivity({ accountId, span, group: "key", ...filter })).total;
  };
  expect(await total("day")).toMatchObject({ requests: 3n, errors: 0n, spend: 23n });
  expect(await total("hour")).toMatchObject({ requests: 1n, spend: 11n });
});

test("pages of entries are the whole list, also from a cursor of the version before", async () => {
  const { entries: all } = await chain.reports.listEntries(ENTRIES);
  expect(all.map(({ kind, credits }) => `${kind} ${credits}`)).toEqual([
    "charge -11",
    "adjustment -9",
    "charge -5",
    "charge -7",
    "deposit 600",
  ]);
  const paged: bigint[] = [];
  for (let hasMore = true; hasMore; ) {
    const page = await chain.reports.listEntries({ ...ENTRIES, after: paged.at(-1), limit: 2 });
    paged.push(...page.entries.map(({ id }) => id));
    hasMore = page.hasMore;
  }
  expect(paged).toEqual(all.map(({ id }) => id));
  const rest = await chain.reports.listEntries({ ...ENTRIES, after: cursor });
  expect(rest.entries).toEqual(all.slice(3));
});

test("entries are selected by kind and time on both sides of the carry", async () => {
  const { entries } = await chain.reports.listEntries({ ...ENTRIES, kind: "charge" });
  expect(entries.map(({ credits }) => credits)).toEqual([-11n, -5n, -7n]);
  const [latest, , , first] = (await chain.reports.listEntries(ENTRIES)).entries;
  const between = { from: first?.at, until: latest?.at };
  const selected = await chain.reports.listEntries({ ...ENTRIES, ...between });
  expect(selected.entries.map(({ credits }) => credits)).toEqual([-9n, -5n, -7n]);
});

test("pages of holds are the whole list, oldest first", async () => {
  const named: Id[] = [];
  for (let hasMore = true; hasMore; ) {
    const page = await chain.holds.list({ accountId, state: undefined, after: named.at(-1), limit: 2 });
    named.push(...page.holds.map(({ id }) => id));
    hasMore = page.hasMore;
  }
  expect(named).toEqual([...holdIds, laterId]);
  const states = ["open", "captured", "released"] as const;
  const counts = states.map(async (state) => {
    const { holds } = await chain.holds.list({ accountId, state, after: undefined, limit: 100 });
    return holds.length;
  });
  expect(await Promise.all(counts)).toEqual([1, 3, 1]);
});

test("the text log has requests of both sides, with the state and the charge of their holds", async () => {
  const filter = {
    ...{ accountId, spenderId: undefined, model: undefined, state: undefined, beganAfter: undefined },
    ...{ beganBefore: undefined, before: undefined, limit: 100 },
  };
  const seen = (await texts.list(filter)).map(({ id, state, charge }) => ({ id, state, charge }));
  const [first, second, third, open] = holdIds;
  expect(seen).toEqual([
    { id: laterId, state: "captured", charge: 11n },
    { id: open, state: "open", charge: 0n },
    { id: third, state: "released", charge: 0n },
    { id: second, state: "captured", charge: 5n },
    { id: first, state: "captured", charge: 7n },
  ]);
  expect((await texts.list({ ...filter, state: "captured" })).map(({ id }) => id)).toEqual([
    laterId,
    second,
    first,
  ]);
  const found = await Promise.all(holdIds.map((id) => texts.find(accountId, id)));
  expect(found.map((text) => text?.state)).toEqual(["captured", "captured", "released", "open"]);
  expect(found[0]?.placedAt).toBe(found[0]?.line?.beganAt.getTime());
});

test("an answer of before is read for a day after its claim, and then deleted", async () => {
  const [first = ""] = holdIds;
  const read = async () => (await chain.answers.read(accountId, first))?.body;
  expect(await read()).toEqual(Buffer.from("the answer"));
  const before = clock.now();
  try {
    clock.set(before + DAY);
    expect(await read()).toBeUndefined();
    await chain.sweep(new AbortController().signal);
  } finally {
    clock.set(before);
  }
  expect(await read()).toBeUndefined();
});

test("followers that read all steps again, as after a restore, have the rows of the carry", async () => {
  await chain.follow();
  const before = await followedRows(pool);
  expect(before).toMatchObject({ budgets: 1n, holds: 1n });
  await forgetPositions(pool);
  await chain.follow();
  expect(await followedRows(pool)).toEqual(before);
  expect((await chain.verify(true)).differences).toEqual([]);
});

test("a forged carry, and a later place with the freedoms of a carried one, are differences", async () => {
  const invariantsAfter = async (forge: (accountId: Id) => string) => {
    const verify = async () => (await chain.verify(true)).differences.map(({ invariant }) => invariant);
    return await withTampered(pool, forge(accountId), verify);
  };
  expect((await chain.verify(true)).differences).toEqual([]);
  expect(await invariantsAfter(forgeCarry)).toContain("carried totals are those before the chain");
  const later = await invariantsAfter(forgePlace);
  expect(later).toContain("carries are the first steps of an account");
  expect(later).toContain("carried holds are those that were open before the chain");
});
