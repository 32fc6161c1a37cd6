// Followers apply each committed step once: behind transactions that stay open, with other followers, and after cut connections.
import { decide, type Operation } from "@gr/ledger";
import { createLogger, type PoolClient } from "@gr/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { startCold } from "../chain/state-store.ts";
import { prepareForFlushes, writeFlush } from "../chain/step-store.ts";
import { chainProblems } from "../test/chain/chain-checker-store.ts";
import { followersOn } from "../test/chain/chain-reads.ts";
import {
  ChainRig,
  type ChainWallet,
  type ChainWriterUnderTest,
  capture,
  newWallet,
  opening,
  place,
  poolOn,
  release,
} from "../test/chain/chain-rig.ts";
import { cursorRows, openHoldRows, skipTransactions, usageRequests } from "../test/chain/follower-store.ts";
import { THURSDAY } from "../test/start-billing.ts";
import { Follower } from "./follower.ts";
import { sumsReader } from "./sums-store.ts";

/** More than one slice of a range. */
const MANY_TRANSACTIONS = 4_100;

let rig: ChainRig;
let writer: ChainWriterUnderTest;
let wallet: ChainWallet;
let followers: ReturnType<typeof followersOn>;
beforeAll(async () => {
  rig = await ChainRig.start();
  writer = await rig.writer();
  followers = followersOn(rig.pool);
});
beforeEach(async () => {
  wallet = newWallet();
  await writer.post(...opening(wallet, 1_000_000n));
});
afterAll(async () => {
  try {
    await followers.catchUp();
    expect(await chainProblems(rig.pool)).toEqual([]);
  } finally {
    await rig.stop();
  }
});

async function charge(of: ChainWallet = wallet, by = writer): Promise<void> {
  const hold = place(of, 10n);
  await by.post(hold, capture(of, hold.holdId, 7n));
}

const chargesOf = (of: ChainWallet = wallet) => usageRequests(rig.pool, of.accountId);

/** Writes the steps of an operation in a transaction that stays open. */
async function writeOpen(client: PoolClient, operation: Operation): Promise<void> {
  const types = await prepareForFlushes(client);
  const { accountId } = operation;
  const account = (await startCold(client, [accountId])).get(accountId)?.account;
  if (account === undefined) throw new Error("The account was not read.");
  const facts = { absentHolds: new Set<string>(), claims: new Map() };
  const terms = { now: THURSDAY, freeLimit: null };
  const decided = decide(new Map([[accountId, account]]), [operation], new Map([[accountId, facts]]), terms);
  if (!("steps" in decided)) throw new Error("The operation needs a fact.");
  await client.query("BEGIN");
  await writeFlush(client, { steps: decided.steps, claims: [], answers: [] }, types);
}

describe("steps", () => {
  test("are in sums and in the list of open holds after the next round, once", async () => {
    const [open, freed] = [place(wallet, 5n), place(wallet, 6n)];
    await charge();
    await writer.post(open, freed, release(wallet, freed.holdId, 3n));
    await followers.catchUp();
    await followers.catchUp();
    expect(await chargesOf()).toBe(1);
    expect(await openHoldRows(rig.pool, wallet.accountId)).toEqual([open.holdId]);
    await writer.post(capture(wallet, open.holdId, 1n));
    await charge();
    await followers.catchUp();
    expect(await chargesOf()).toBe(3);
    expect(await openHoldRows(rig.pool, wallet.accountId)).toEqual([]);
    expect(await chainProblems(rig.pool)).toEqual([]);
  });

  test("of a transaction that stays open are applied after its commit, and delay no other step", async () => {
    const late = newWallet();
    const hold = place(late, 10n);
    await writer.post(...opening(late, 100n), hold);
    await rig.withClient(async (client) => {
      await client.query("SET idle_in_transaction_session_timeout = 0");
      await writeOpen(client, capture(late, hold.holdId, 7n));
      for (let round = 1; round <= 60; round += 1) {
        await charge();
        await followers.catchUp();
        expect(await chargesOf()).toBe(round);
      }
      expect(await chargesOf(late)).toBe(0);
      expect(await openHoldRows(rig.pool, late.accountId)).toEqual([hold.holdId]);
      await client.query("COMMIT");
    });
    await followers.catchUp();
    expect(await chargesOf(late)).toBe(1);
    expect(await openHoldRows(rig.pool, late.accountId)).toEqual([]);
    await followers.catchUp();
    expect(await chainProblems(rig.pool)).toEqual([]);
  });

  test("of a transaction that is rolled back are never applied", async () => {
    const hold = place(wallet, 10n);
    await writer.post(hold);
    await rig.withClient(async (client) => {
      await writeOpen(client, capture(wallet, hold.holdId, 7n));
      await followers.catchUp();
      await client.query("ROLLBACK");
    });
    await followers.catchUp();
    expect(await chargesOf()).toBe(0);
    expect(await openHoldRows(rig.pool, wallet.accountId)).toEqual([hold.holdId]);
  });

  test("behind many transactions of others are applied in slices", async () => {
    await charge();
    await skipTransactions(rig.pool, MANY_TRANSACTIONS);
    await charge();
    await skipTransactions(rig.pool, MANY_TRANSACTIONS);
    await charge();
    await followers.catchUp();
    expect(await chargesOf()).toBe(3);
  });
});

describe("several processes", () => {
  test("follow at the same time, and each step counts once", async () => {
    const pools = [await poolOn(rig.url), await poolOn(rig.url), await poolOn(rig.url)];
    try {
      const all = [followers, ...pools.map(followersOn)];
      let isWriting = true;
      const following = all.map(async ({ catchUp }) => {
        while (isWriting) await catchUp();
      });
      for (let count = 0; count < 40; count += 1) await charge();
      isWriting = false;
      await Promise.all(following);
      await followers.catchUp();
      expect(await chargesOf()).toBe(40);
      expect(await chainProblems(rig.pool)).toEqual([]);
    } finally {
      for (const pool of pools) await pool.end();
    }
  });

  test("skip the buckets of a process that is in a round", async () => {
    await charge();
    await rig.withClient(async (client) => {
      await client.query("BEGIN");
      await cursorRows(client, "sums", true);
      await followers.sums.catchUp();
      expect(await chargesOf()).toBe(0);
      await client.query("ROLLBACK");
    });
    await followers.sums.catchUp();
    expect(await chargesOf()).toBe(1);
  });
});

test("callers cannot cause rounds with steps without a pause", async () => {
  const waits: number[] = [];
  const wait = async (ms: number) => {
    waits.push(ms);
  };
  const log = createLogger("silent", "test");
  const follower = new Follower({ pool: rig.pool, reader: sumsReader, log, pauseMs: 3_600_000, wait });
  await charge();
  await follower.catchUp();
  expect(waits).toEqual([]);
  await charge();
  await follower.catchUp();
  expect(waits).toEqual([expect.any(Number)]);
  expect(waits[0]).toBeGreaterThan(0);
  expect(await chargesOf()).toBe(2);
});

test("an idle ledger is not written to", async () => {
  await followers.catchUp();
  const before = await rig.withClient((client) => cursorRows(client, "sums", false));
  for (let round = 0; round < 3; round += 1) await followers.catchUp();
  expect(await rig.withClient((client) => cursorRows(client, "sums", false))).toEqual(before);
});
