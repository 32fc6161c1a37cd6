// Shards that move: no step is lost, and sums have each step once. One PostgreSQL passes the same tests without a move.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { chainProblems } from "../test/chain/chain-checker-store.ts";
import { followersOn } from "../test/chain/chain-reads.ts";
import {
  ChainRig,
  type ChainWallet,
  type ChainWriterUnderTest,
  capture,
  claimOf,
  newWallet,
  opening,
  place,
} from "../test/chain/chain-rig.ts";
import { openHoldRows, usageRequests } from "../test/chain/follower-store.ts";
import { moveShard, secondPhases } from "../test/chain/shards-store.ts";
import { readLatestSteps } from "../windows-copy/latest-step-store.ts";
import { BUCKETS, groupByShard, shardsOf } from "./shard-store.ts";

const SHARDS = 8;

let rig: ChainRig;
let writer: ChainWriterUnderTest;
let followers: ReturnType<typeof followersOn>;
beforeAll(async () => {
  rig = await ChainRig.start();
  writer = await rig.writer();
  followers = followersOn(rig.pool);
});
afterAll(async () => {
  try {
    expect(await chainProblems(rig.pool)).toEqual([]);
  } finally {
    await rig.stop();
  }
});

/** A wallet in each bucket of the first 32. */
async function openWallets(): Promise<ChainWallet[]> {
  const wallets = Array.from({ length: 32 }, (_, bucket) => {
    const { accountId, budgetId } = newWallet();
    return { accountId: accountId.slice(0, -2) + bucket.toString(16).padStart(2, "0"), budgetId };
  });
  await writer.post(...wallets.flatMap((wallet) => opening(wallet, 1_000n)));
  return wallets;
}

test("one flush of accounts in all shards is stored, and decided again where another writer was first", async () => {
  const wallets = await openWallets();
  const [one, other] = [await rig.writer(), await rig.writer()];
  for (const each of [one, other, one, other]) {
    const codes = await each.codes(...wallets.map((wallet) => place(wallet, 10n)));
    expect(new Set(codes)).toEqual(new Set(["done"]));
  }
});

test("the latest steps of accounts in all shards are read", async () => {
  const ids = (await openWallets()).map(({ accountId }) => accountId);
  const client = await rig.pool.connect();
  try {
    const latest = await readLatestSteps(client, ids);
    expect(ids.map((id) => latest.get(id)?.credited)).toEqual(ids.map(() => 1_000n));
    expect(await readLatestSteps(client, [])).toEqual(new Map());
  } finally {
    client.release();
  }
});

test("steps with claims commit in one phase", async () => {
  const before = await secondPhases(rig.pool);
  for (const wallet of await openWallets()) {
    const hold = place(wallet, 10n, { claim: claimOf(wallet.accountId) });
    expect(await writer.codes(hold, capture(wallet, hold.holdId, 3n))).toEqual(["done", "done"]);
  }
  expect(await secondPhases(rig.pool)).toBe(before);
});

test("sums have each step once while every shard moves to another server and back", async () => {
  const wallets = await openWallets();
  const open = new Map<ChainWallet, string[]>(wallets.map((wallet) => [wallet, []]));
  const charge = async () => {
    for (const wallet of wallets) {
      const [ended, kept] = [place(wallet, 10n), place(wallet, 1n)];
      expect(await writer.codes(ended, kept, capture(wallet, ended.holdId, 7n))).toEqual([
        "done",
        "done",
        "done",
      ]);
      open.get(wallet)?.push(kept.holdId);
    }
  };
  let charges = 0;
  for (const way of ["there", "back"]) {
    for (let shard = 0; shard < SHARDS; shard += 1) {
      // Steps that the followers have and have not applied before the move.
      if (shard % 4 === 0) {
        await charge();
        await followers.catchUp();
        await charge();
        charges += 2;
      }
      await moveShard(rig.pool, shard);
    }
    await followers.catchUp();
    for (const wallet of wallets) {
      expect([way, await usageRequests(rig.pool, wallet.accountId)]).toEqual([way, charges]);
      expect(await openHoldRows(rig.pool, wallet.accountId)).toEqual(open.get(wallet));
    }
  }
  expect(await chainProblems(rig.pool)).toEqual([]);
});

test("each bucket is in one group", async () => {
  const shards = await shardsOf(rig.pool);
  const groups = groupByShard(shards, BUCKETS, (bucket) => bucket);
  expect(groups).toHaveLength(shards.isDistributed ? SHARDS : 1);
  expect(groups.flat().toSorted((one, other) => one - other)).toEqual(BUCKETS);
  expect(groupByShard(shards, [], (bucket: number) => bucket)).toEqual([]);
});
