// A follower in a database that was restored from a dump: PostgreSQL counts transactions anew, and each step is applied once.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { chainProblems } from "../test/chain/chain-checker-store.ts";
import { followersOn } from "../test/chain/chain-reads.ts";
import { ChainRig, capture, newWallet, opening, place } from "../test/chain/chain-rig.ts";
import { moveServer, usageRequests } from "../test/chain/follower-store.ts";

let rig: ChainRig;
beforeAll(async () => {
  rig = await ChainRig.start();
});
afterAll(async () => {
  await rig.stop();
});

test("after a restore from a dump all steps are read again, and later ones once", async () => {
  const writer = await rig.writer();
  const followers = followersOn(rig.pool);
  const wallet = newWallet();
  await writer.post(...opening(wallet, 1_000n));
  const charge = async () => {
    const hold = place(wallet, 10n);
    await writer.post(hold, capture(wallet, hold.holdId, 7n));
  };
  const charges = () => usageRequests(rig.pool, wallet.accountId);
  await charge();
  await followers.catchUp();
  await moveServer(rig.pool);
  await charge();
  await followers.catchUp();
  expect(await charges()).toBe(2);
  await charge();
  await followers.catchUp();
  await followers.catchUp();
  expect(await charges()).toBe(3);
  expect(await chainProblems(rig.pool)).toEqual([]);
});
