// Each guarantee of the chain is proved: a row that breaks it is reported under its name, and sound rows are not.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { followersOn } from "../test/chain/chain-reads.ts";
import {
  budget,
  ChainRig,
  capture,
  claimOf,
  keep,
  newWallet,
  opening,
  place,
  release,
} from "../test/chain/chain-rig.ts";
import { findChainDifferences, verifyChains } from "./chain-invariants-store.ts";

let rig: ChainRig;
beforeAll(async () => {
  rig = await ChainRig.start();
  const writer = await rig.writer();
  const wallet = newWallet();
  const { accountId } = wallet;
  await writer.post(...opening(wallet, 1_000n, { limit: 500n, period: "day" }));
  const [charged, freed, kept, open] = [
    place(wallet, 10n, { claim: claimOf("a") }),
    place(wallet, 10n, { claim: claimOf("b") }),
    place(wallet, 10n, { claim: claimOf("c") }),
    place(wallet, 10n),
  ];
  await writer.post(charged, capture(wallet, charged.holdId, 7n), freed, release(wallet, freed.holdId, 3n));
  await writer.post(kept, keep(wallet, kept.holdId, 8n), open, budget(wallet, { limit: 400n, revision: 2n }));
  for (let count = 0; count < 34; count += 1) {
    const more = Array.from({ length: 15 }, () => place(wallet, 1n));
    await writer.post(...more, ...more.map(({ holdId }) => release(wallet, holdId)));
  }
  // The state is stored before this flush.
  await writer.post({ kind: "adjustment", accountId, id: randomUUID(), credits: -1n });
  await followersOn(rig.pool).catchUp();
});
afterAll(() => rig.stop());

test("sound rows have no difference, and their totals are counted", async () => {
  expect(await verifyChains(rig.pool, rig.clock.now())).toEqual({
    differences: [],
    accounts: 1n,
    holds: 514n,
    openHolds: 2n,
    chargedCredits: 7n,
    chargedCost: "5",
    lostCost: "3",
  });
});

test("a period that changes and changes back between two holds opens two windows", async () => {
  const own = await ChainRig.start();
  const writer = await own.writer();
  const wallet = newWallet();
  const first = place(wallet, 10n);
  await writer.post(...opening(wallet, 100n, { limit: 50n, period: "day" }), first);
  for (const [index, period] of (["month", "day"] as const).entries()) {
    await writer.post(budget(wallet, { limit: 50n, period, revision: BigInt(2 + index) }));
  }
  await writer.post(place(wallet, 10n));
  expect((await verifyChains(own.pool, own.clock.now())).differences).toEqual([]);
  await own.stop();
});

/** The first definition of the key. A later one has no parent. */
const OWN_PARENT =
  "UPDATE step SET detail = jsonb_set(detail::jsonb, '{definition,parentId}', to_jsonb(id::text))::text WHERE seq = 3";

/** Statements that break a guarantee in the rows of the account above. */
const BROKEN: readonly (readonly [invariant: string, change: string])[] = [
  ["numbers without a gap, times that never fall", "UPDATE step SET at = at - 1 WHERE seq = 9"],
  ["numbers without a gap, times that never fall", "DELETE FROM step WHERE seq = 12"],
  ["totals of accounts", "UPDATE step SET debited = debited + 1 WHERE kind = 13"],
  ["totals of accounts", "UPDATE step SET held = held + 1 WHERE seq = 8"],
  ["totals of each budget and window", "UPDATE step SET used1 = used1 + 1 WHERE kind = 5"],
  ["windows of an end are those of its place", "UPDATE step SET window1 = window1 + 1 WHERE kind = 5"],
  ["steps of holds have a place", "UPDATE step SET place_seq = 1 WHERE kind = 5"],
  ["holds end once", "UPDATE step SET place_seq = (SELECT place_seq FROM step WHERE kind = 5) WHERE seq = 7"],
  [
    "no change after an end, no end of another size, no charge above a hold",
    "UPDATE step SET credits = credits - 1 WHERE kind = 5",
  ],
  ["open holds are the latest total", "UPDATE step SET credits = credits + 1 WHERE kind = 2 AND seq = 4"],
  ["no limit is overrun at any level", "UPDATE step SET held1 = held1 + 450 WHERE kind = 2 AND seq > 20"],
  [
    "holds count in the budget of their place and in each one above it",
    "UPDATE step SET budget2 = 1, window2 = window1, used2 = used1, held2 = held1 WHERE seq = 4",
  ],
  ["holds count in the budget of their place and in each one above it", OWN_PARENT],
  ["the budget above a budget never changes", OWN_PARENT],
  [
    "windows turn with a new day, and only then",
    "UPDATE step SET window1 = window1 + 1 WHERE kind = 2 AND seq > 30",
  ],
  [
    "a key has one charge within a day",
    "UPDATE step SET kind = 5 WHERE kind = 6 AND seq = 7; UPDATE step SET claim = (SELECT claim FROM step WHERE seq = 4) WHERE seq = 6",
  ],
  [
    "a key has one open hold",
    "UPDATE step SET claim = (SELECT claim FROM step WHERE seq = 8) WHERE kind = 2 AND seq > 8",
  ],
  [
    "claims are those of their places, in their order",
    "DELETE FROM claim WHERE key = (SELECT claim FROM step WHERE seq = 4)",
  ],
  ["kept answers are those of their steps", "DELETE FROM kept_answer"],
  ["states equal their step", "UPDATE account_state SET held = held + 1"],
  ["numbers of budgets are those of their first steps", "UPDATE budget_number SET budget = 2"],
  ["usage by day is the sum of its charges", "UPDATE usage_by_day SET charge = charge + 1"],
  ["usage by day is the sum of its charges", "DELETE FROM usage_by_day"],
  [
    "costs by day are the sum of their bookings",
    "UPDATE cost_by_day SET bookings = bookings + 1 WHERE cost > 3",
  ],
  ["the list of open holds is that of the steps", "DELETE FROM open_hold WHERE place_seq = 8"],
  ["the list of open holds is that of the steps", "UPDATE open_hold SET deadline_at = deadline_at + 1"],
];

describe("a difference is reported:", () => {
  test.each(BROKEN)("%s", async (invariant, change) => {
    await rig.withClient(async (client) => {
      await client.query("BEGIN");
      await client.query("ALTER TABLE step DROP CONSTRAINT step_is_sound");
      await client.query(change);
      const found = await findChainDifferences(client, [0, 255], rig.clock.now());
      expect(found.map((each) => each.invariant)).toContain(invariant);
      await client.query("ROLLBACK");
    });
  });

  test("a beginning that is stored twice, a balance below zero by a hold", async () => {
    await rig.withClient(async (client) => {
      await client.query("BEGIN; DROP INDEX step_beginning; ALTER TABLE step DROP CONSTRAINT step_is_sound");
      await client.query(
        "UPDATE step SET id = (SELECT id FROM step WHERE seq = 4) WHERE kind = 2 AND seq = 6",
      );
      await client.query("UPDATE step SET held = held + 995 WHERE kind = 2 AND seq = 8");
      const found = (await findChainDifferences(client, [0, 255], rig.clock.now())).map(
        (each) => each.invariant,
      );
      expect(found).toContain("places, deposits, refunds and adjustments begin once");
      expect(found).toContain("no balance is below zero by a hold");
      await client.query("ROLLBACK");
    });
  });
});
