// Copies of spend windows in Redis: the latest step wins. A text that no process has written is no copy. A busy, slow or dead Redis costs
// copies.
import { randomUUID } from "node:crypto";
import { type Account, findBudget, newAccount } from "@gr/ledger";
import { connectRedis, createLogger, type Redis } from "@gr/runtime";
import { RedisLine, testRedis, until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { addBudget } from "../chain/state-text.ts";
import { budget } from "../test/chain/chain-rig.ts";
import { CopySigner, keyOf, nameOf, USED_UP_KEY } from "./copy-text.ts";
import { RedisCopies } from "./redis-copies.ts";
import type { WindowCopy } from "./window-copy.ts";

const PATIENCE = { timeoutMs: 60_000 };
const DAY_MS = 86_400_000;
const stopwatch = { now: () => performance.now() };
const log = createLogger("silent", "test");
const signer = new CopySigner("a secret of all processes of an installation");

let line: RedisLine;
let direct: Redis;
let clients: Redis[];
let counts: { written: number; dropped: number };
beforeEach(async () => {
  const { url } = await testRedis();
  line = await RedisLine.to(url);
  direct = await connectRedis({ url, name: "test", log, commandTimeoutMs: 30_000 });
  clients = [direct];
  counts = { written: 0, dropped: 0 };
});
afterEach(async () => {
  for (const client of clients) client.disconnect();
  await line.close();
});

/** Copies with patience by default. A paused test is no outage. */
async function newCopies(commandTimeoutMs = 30_000, wait?: () => Promise<void>): Promise<RedisCopies> {
  const redis = await connectRedis({ url: line.url, name: "test", log, commandTimeoutMs });
  clients.push(redis);
  const counted = (outcome: "written" | "dropped", copies: number) => {
    counts[outcome] += copies;
  };
  return new RedisCopies({ redis, signer, stopwatch, log, counted, ...(wait && { wait }) });
}

const wallet = { accountId: randomUUID(), budgetId: randomUUID() };

function copyAt(seq: number, { accountId, budgetId } = wallet): WindowCopy {
  const account: Account = { ...newAccount(accountId), seq, at: seq, credited: BigInt(seq) };
  const { definition } = budget({ accountId, budgetId }, { limit: 2n ** 60n });
  const totals = new Map([[1, { used: 5n, held: 0n, holds: 0 }]]);
  addBudget(account, { definition, no: 7, window: 1, windowStart: null, totals, used: 5n, requests: 1 });
  return { budgetId, account };
}

async function store(copies: RedisCopies, copy: WindowCopy, isUsedUp = true): Promise<void> {
  const before = counts.written;
  copies.send(copy, isUsedUp);
  await until(() => counts.written > before, PATIENCE);
}

const stored = async () => signer.read(nameOf(copyAt(1)), (await direct.get(keyOf(nameOf(copyAt(1))))) ?? "");
const seqs = async (copies: RedisCopies) => (await copies.readUsedUp()).map(({ account }) => account.seq);

test("a copy has totals and windows after its step, and an earlier one never replaces it", async () => {
  const [one, other] = [await newCopies(), await newCopies()];
  await store(one, copyAt(12));
  await store(other, copyAt(11));
  const copy = await stored();
  expect(copy?.account).toEqual(copyAt(12).account);
  expect(copy && findBudget(copy.account, wallet.budgetId)?.totals.get(1)?.used).toBe(5n);
  await store(other, copyAt(13));
  expect((await stored())?.account.seq).toBe(13);
  const lifetime = await direct.pttl(keyOf(nameOf(copyAt(1))));
  expect(lifetime).toBeGreaterThan(0);
  expect(lifetime).toBeLessThanOrEqual(DAY_MS);
});

test("a start reads the used-up budgets, and no longer those with credits again", async () => {
  const copies = await newCopies();
  const other = { accountId: randomUUID(), budgetId: randomUUID() };
  await store(copies, copyAt(3));
  await store(copies, copyAt(4, other), false);
  expect(await seqs(copies)).toEqual([3]);
  await store(copies, copyAt(5), false);
  expect(await seqs(copies)).toEqual([]);
});

test("copies that wait are replaced by later ones, and dropped beyond their number", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const copies = await newCopies(30_000, () => held);
  await store(copies, copyAt(1));
  for (let seq = 2; seq <= 50; seq += 1) copies.send(copyAt(seq), true);
  for (let no = 0; no < 10_010; no += 1)
    copies.send(copyAt(1, { accountId: randomUUID(), budgetId: randomUUID() }), false);
  expect(counts).toEqual({ written: 1, dropped: 11 });
  release();
  await until(() => counts.written === 10_001, PATIENCE);
  expect((await stored())?.account.seq).toBe(50);
});

const key = () => keyOf(nameOf(copyAt(1)));
const LIES: Record<string, () => Promise<unknown>> = {
  garbage: () => direct.set(key(), "garbage", "PX", DAY_MS),
  "half of a text": async () => direct.set(key(), (await direct.get(key()))?.slice(0, 200) ?? "", "KEEPTTL"),
  "other numbers": async () => {
    const text = (await direct.get(key())) ?? "";
    await direct.set(key(), text.replace('{"$int":"5"}', '{"$int":"9"}'), "KEEPTTL");
  },
  "a later step": async () =>
    direct.set(key(), (await direct.get(key()))?.replaceAll("20", "99") ?? "", "KEEPTTL"),
  "another account": async () => {
    const other = copyAt(20, { accountId: randomUUID(), budgetId: wallet.budgetId });
    await direct.set(key(), signer.textOf(other), "KEEPTTL");
  },
  "another type": async () => {
    await direct.del(key());
    await direct.lpush(key(), "an element");
  },
  "a list of another type": async () => {
    await direct.del(USED_UP_KEY);
    await direct.hset(USED_UP_KEY, "a", "b");
  },
  "a list of other names": async () => {
    await direct.del(USED_UP_KEY);
    await direct.zadd(USED_UP_KEY, 1, "a:b", 2, "", 3, randomUUID());
  },
  nothing: () => direct.flushdb(),
};

test.each(Object.entries(LIES))("%s is no copy, and the next commit ends it", async (_name, lie) => {
  const [writer, reader] = [await newCopies(), await newCopies()];
  await store(writer, copyAt(20));
  expect(await seqs(reader)).toEqual([20]);
  await lie();
  expect(await seqs(await newCopies())).toEqual([]);
  await store(writer, copyAt(1_000));
  expect(await seqs(await newCopies())).toEqual([1_000]);
});

test("a step far ahead without an end does not keep later copies away", async () => {
  const copies = await newCopies();
  await direct.set(key(), `${Number.MAX_SAFE_INTEGER} signature {}`);
  await store(copies, copyAt(3));
  expect(await seqs(copies)).toEqual([3]);
});

test.each(["freeze", "cut"] as const)(
  "%s: copies are dropped, and later ones are written again",
  async (outage) => {
    const copies = await newCopies(300);
    await until(() => {
      copies.send(copyAt(1), true);
      return counts.written > 0;
    }, PATIENCE);
    line[outage]();
    const { dropped } = counts;
    copies.send(copyAt(2), true);
    await until(() => counts.dropped > dropped, PATIENCE);
    expect(await copies.readUsedUp()).toEqual([]);
    line.mend();
    await until(async () => {
      copies.send(copyAt(3), true);
      return (await stored())?.account.seq === 3;
    }, PATIENCE);
  },
);
