// Closed months are sealed once, in order, by any number of processes; an open month, and a month within the margin, never.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { bucketOf } from "../chain/bucket.ts";
import { followersOn } from "../test/chain/chain-reads.ts";
import { ChainRig, capture, newWallet, opening, place, poolOn, release } from "../test/chain/chain-rig.ts";
import { JANUARY_ENDS } from "../test/chain/sealed-book.ts";
import { carry, earlierDatabase } from "../test/earlier/earlier-database-store.ts";
import { EarlierLedger } from "../test/earlier/earlier-ledger-store.ts";
import { verifyChains } from "../verify/verify-chains.ts";
import { closedUntil, MARGIN_MS, sealClosedMonths, sealUntil } from "./seal-months.ts";
import { foldMonth, listSeals, type Seal } from "./seal-store.ts";

const DAY = 86_400_000;
const FEBRUARY_ENDS = Date.UTC(2026, 2, 1);
const NEVER = new AbortController().signal;

let rig: ChainRig;
beforeAll(async () => {
  rig = await ChainRig.start();
});
afterAll(() => rig.stop());

const chainOf = ({ accountId }: { readonly accountId: string }) => ({
  accountId,
  bucket: bucketOf(accountId),
});
const sealsOf = (wallet: { readonly accountId: string }) => listSeals(rig.pool, chainOf(wallet), 0n);
const differences = async (all = true) =>
  (await verifyChains(rig.pool, { now: rig.clock.now(), all })).differences;

test("a month is closed a day after its end", () => {
  expect(closedUntil(JANUARY_ENDS + MARGIN_MS - 1)).toBe(Date.UTC(2026, 0, 1));
  expect(closedUntil(JANUARY_ENDS + MARGIN_MS)).toBe(JANUARY_ENDS);
});

test("each closed month with steps is sealed once, with the hash of the month before, by several processes", async () => {
  const { clock, pool, url } = rig;
  const writer = await rig.writer();
  const [busy, idle] = [newWallet(), newWallet()];
  const first = place(busy, 10n);
  const second = place(busy, 20n);
  await writer.post(...opening(busy, 100n, { limit: 50n, period: "month" }), first, ...opening(idle, 5n));
  clock.set(JANUARY_ENDS + MARGIN_MS - 1);
  await sealClosedMonths(pool, clock.now(), NEVER);
  expect(await sealsOf(busy)).toEqual([]);
  await writer.post(capture(busy, first.holdId, 4n), second);
  clock.set(FEBRUARY_ENDS + 10 * DAY);
  await writer.post(release(busy, second.holdId));
  const pools = await Promise.all([poolOn(url), poolOn(url)]);
  await Promise.all([pool, ...pools].map((each) => sealClosedMonths(each, clock.now(), NEVER)));
  await Promise.all(pools.map((each) => each.end()));
  const [january, february, ...more] = await sealsOf(busy);
  expect(more).toEqual([]);
  expect(january).toMatchObject({
    firstSeq: 1n,
    lastSeq: 4n,
    credited: 100n,
    debited: 0n,
    held: 10n,
    holds: 1n,
  });
  expect(february).toMatchObject({ firstSeq: 5n, lastSeq: 6n, debited: 4n, held: 20n, holds: 2n });
  expect(february?.previousHash).toEqual(january?.hash);
  expect(JSON.parse(february?.content ?? "")).toMatchObject({
    budgets: [{ budget: 1, id: busy.budgetId, limit: "50", window: 3, totals: [[3, "0", "20"]] }],
    holds: [{ id: second.holdId, seq: 6, credits: "20", chain: [1, 3] }],
  });
  expect(await sealsOf(idle)).toHaveLength(1);
  // Followers that are behind the seals are no difference.
  expect(await differences(false)).toEqual([]);
  await followersOn(pool).catchUp();
  expect(await differences()).toEqual([]);
  expect(await differences(false)).toEqual([]);
});

test("a step that a slow clock dates into a sealed month belongs to the next seal, and is reported", async () => {
  const { clock, pool } = rig;
  const wallet = newWallet();
  const writer = await rig.writer();
  clock.set(FEBRUARY_ENDS - DAY);
  await writer.post(...opening(wallet, 100n));
  await sealUntil(pool, FEBRUARY_ENDS + 31 * DAY, NEVER);
  expect(await sealsOf(wallet)).toHaveLength(1);
  const late = place(wallet, 1n);
  await writer.post(late);
  await followersOn(pool).catchUp();
  const late1 = [
    { invariant: "no step is older than the seal before it", subject: `account ${wallet.accountId}, step 4` },
  ];
  expect(await differences(false)).toMatchObject(late1);
  clock.set(FEBRUARY_ENDS + 50 * DAY);
  await writer.post(release(wallet, late.holdId));
  await sealUntil(pool, FEBRUARY_ENDS + 61 * DAY, NEVER);
  await followersOn(pool).catchUp();
  const [, second, third] = await sealsOf(wallet);
  expect([second, third]).toMatchObject([
    { firstSeq: 4n, lastSeq: 4n },
    { firstSeq: 5n, lastSeq: 5n },
  ]);
  expect(await differences(false)).toEqual([]);
  expect(await differences()).toEqual([]);
});

test("a seal does not depend on the number of steps of one statement", async () => {
  const wallet = newWallet();
  const writer = await rig.writer();
  await writer.post(...opening(wallet, 10_000n, { limit: 9_000n, period: "day" }));
  const kept = place(wallet, 3n);
  await writer.post(kept);
  for (let flush = 0; flush < 12; flush += 1) {
    const holds = Array.from({ length: 100 }, () => place(wallet, 1n));
    await writer.post(...holds, ...holds.map(({ holdId }) => capture(wallet, holdId, 1n)));
    rig.clock.advance(DAY / 5);
  }
  const month = { endsAt: BigInt(rig.clock.now() + DAY), lastSeq: 2_404n };
  const seals: (Seal | undefined)[] = [];
  for (const steps of [1_000, 2_000, 50_000]) {
    seals.push(await foldMonth(rig.pool, chainOf(wallet), undefined, month, steps));
  }
  expect(seals[0]).toMatchObject({ lastSeq: 2_404n, held: 3n, debited: 1_200n });
  expect(seals[1]).toEqual(seals[0]);
  expect(seals[2]).toEqual(seals[0]);
});

test("an account from before the chain is sealed with its carried totals and holds", async () => {
  const database = await earlierDatabase("empty");
  const ledger = new EarlierLedger(database.pool);
  const [accountId, spenderId, holdId] = [randomUUID(), randomUUID(), randomUUID()];
  const now = Date.now();
  await ledger.open(accountId);
  await ledger.putDeposit(accountId, { id: randomUUID(), credits: 900n, status: "COMPLETED" }, new Date(now));
  await ledger.putSpender({
    ...{ name: "key", cap: 500n, period: "day", expiresAt: null, active: true, revision: 0n, parentId: null },
    ...{ id: spenderId, accountId, createdAt: new Date(now) },
  });
  const tag = {
    ...{ service: "text-proxy", provider: "openrouter", upstreamModel: "upstream/chat" },
    ...{ model: "chat", priceVersion: "v1" },
  };
  const operation = {
    ...({ kind: "place", holdId, accountId, spenderId, credits: 30n, most: null, cost: null } as const),
    ...{ deadlineAt: BigInt(now + DAY), tag, attempt: null, billedBy: null, claim: null },
  };
  await ledger.post(operation, new Date(now));
  await carry(database.url);
  const pool = await poolOn(database.url);
  await sealUntil(pool, now + 62 * DAY - (now % DAY) - new Date(now).getUTCDate() * DAY, NEVER);
  const [seal] = await listSeals(pool, { accountId, bucket: bucketOf(accountId) }, 0n);
  expect(seal).toMatchObject({ firstSeq: 1n, credited: 900n, held: 30n, holds: 1n });
  expect(JSON.parse(seal?.content ?? "")).toMatchObject({ holds: [{ id: holdId, credits: "30" }] });
  for (const all of [false, true]) {
    expect((await verifyChains(pool, { now, all })).differences).toEqual([]);
  }
  await pool.end();
  await database.drop();
});
