// Each guarantee of the chain is proved: a row that breaks it is reported under its name, and sound rows are not. A proof that begins at
// seals is as strict about later steps as a proof of all steps.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { bucketOf } from "../chain/bucket.ts";
import { STEP_COLUMNS } from "../chain/step-columns.ts";
import { LINE_COLUMNS, RECORD_COLUMNS } from "../seals/seal-format-store.ts";
import type { Chain } from "../seals/seal-store.ts";
import { budget, ChainRig, newWallet, opening, place } from "../test/chain/chain-rig.ts";
import { type Book, writeBook, writeSealedBook } from "../test/chain/sealed-book.ts";
import { findChainDifferences } from "./chain-invariants-store.ts";
import { findSealDifferences } from "./seal-invariants-store.ts";
import { listSlice, PLANNER, verifyChains } from "./verify-chains.ts";

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
  expect((await verifyChains(own.pool, { now: own.clock.now(), all: true })).differences).toEqual([]);
  await own.stop();
});

const ROOT = "00000000-0000-4000-8000-000000000000";
/** The last definition of the key in the book has another parent than the one before, or the first parent. */
const OTHER_PARENT = `UPDATE step SET detail = jsonb_set(detail::jsonb, '{definition,parentId}', to_jsonb('${ROOT}'::text))::text
  WHERE kind = 14 AND seq = (SELECT max(seq) FROM step WHERE kind = 14)`;

/** Statements that break a guarantee in the open steps. `{n}` is step n of the book, `OPEN` selects the open steps. */
const BROKEN: readonly (readonly [invariant: string, change: string])[] = [
  ["numbers without a gap, times that never fall", "UPDATE step SET at = at - 1 WHERE seq = {9}"],
  ["numbers without a gap, times that never fall", "DELETE FROM step WHERE seq = {12}"],
  ["totals of accounts", "UPDATE step SET debited = debited + 1 WHERE kind = 13"],
  ["totals of accounts", "UPDATE step SET held = held + 1 WHERE seq = {8}"],
  ["totals of accounts", "UPDATE step SET held = held + 1 WHERE seq = {4}"],
  ["totals of each budget and window", "UPDATE step SET used1 = used1 + 1 WHERE kind = 5 AND OPEN"],
  [
    "windows of an end are those of its place",
    "UPDATE step SET window1 = window1 + 1 WHERE kind = 5 AND OPEN",
  ],
  ["steps of holds have a place", "UPDATE step SET place_seq = 1 WHERE kind = 5 AND OPEN"],
  ["holds end once", "UPDATE step SET place_seq = {4} WHERE seq = {7}"],
  [
    "no change after an end, no end of another size, no charge above a hold",
    "UPDATE step SET credits = credits - 1 WHERE kind = 5 AND OPEN",
  ],
  ["open holds are the latest total", "UPDATE step SET credits = credits + 1 WHERE kind = 2 AND seq = {4}"],
  ["no limit is overrun at any level", "UPDATE step SET held1 = held1 + 450 WHERE kind = 2 AND seq > {20}"],
  [
    "holds count in the budget of their place and in each one above it",
    "UPDATE step SET budget2 = 1, window2 = window1, used2 = used1, held2 = held1 WHERE seq = {4}",
  ],
  [
    "holds count in the budget of their place and in each one above it",
    OTHER_PARENT.replace(`'${ROOT}'::text`, "id::text"),
  ],
  [
    "windows turn with a new day, and only then",
    "UPDATE step SET window1 = window1 + 1 WHERE kind = 2 AND seq > {30}",
  ],
  [
    "a key has one charge within a day",
    "UPDATE step SET kind = 5 WHERE kind = 6 AND seq = {7}; UPDATE step SET claim = (SELECT claim FROM step WHERE seq = {4}) WHERE seq = {6}",
  ],
  [
    "a key has one open hold",
    "UPDATE step SET claim = (SELECT claim FROM step WHERE seq = {8}) WHERE kind = 2 AND seq > {8}",
  ],
  [
    "claims are those of their places, in their order",
    "DELETE FROM claim WHERE key = (SELECT claim FROM step WHERE seq = {4})",
  ],
  [
    "claims are those of their places, in their order",
    "UPDATE claim SET hold_id = (SELECT id FROM step WHERE seq = {6}) WHERE key = (SELECT claim FROM step WHERE seq = {4})",
  ],
  ["kept answers are those of their steps", "DELETE FROM kept_answer"],
  [
    "kept answers are those of their steps",
    "UPDATE kept_answer SET hold_id = account_id WHERE kept_at = (SELECT max(kept_at) FROM kept_answer)",
  ],
  ["states equal their step", "UPDATE account_state SET held = held + 1"],
  ["numbers of budgets are those of their first steps", "UPDATE budget_number SET budget = 2"],
  ["usage by day is the sum of its charges", "UPDATE usage_by_day SET charge = charge + 1"],
  ["usage by day is the sum of its charges", "DELETE FROM usage_by_day"],
  [
    "costs by day are the sum of their bookings",
    "UPDATE cost_by_day SET bookings = bookings + 1 WHERE cost > 3",
  ],
  ["the list of open holds is that of the steps", "DELETE FROM open_hold WHERE place_seq = {8}"],
  ["the list of open holds is that of the steps", "UPDATE open_hold SET deadline_at = deadline_at + 1"],
];

/** Changes of the sealed book at the seam. */
const SPANNING: readonly (readonly [invariant: string, change: string])[] = [
  [
    "no change after an end, no end of another size, no charge above a hold",
    "UPDATE step SET credits = credits - 1 WHERE kind = 5 AND id = 'CAPTURED'",
  ],
  [
    "windows of an end are those of its place",
    "UPDATE step SET window1 = window1 + 1 WHERE kind = 5 AND id = 'CAPTURED'",
  ],
  [
    "totals of each budget and window",
    "UPDATE step SET used1 = used1 + 1 WHERE kind = 5 AND id = 'CAPTURED'",
  ],
  ["steps of holds have a place", "UPDATE step SET place_seq = 2 WHERE kind = 8"],
  ["steps of holds have a place", "UPDATE step SET place_seq = {0} WHERE kind = 5 AND id = 'CAPTURED'"],
  ["open holds are the latest total", "DELETE FROM step WHERE kind = 5 AND id = 'CAPTURED'"],
  [
    "places, deposits, refunds and adjustments begin once",
    "DROP INDEX step_beginning; UPDATE step SET id = 'ENDED' WHERE seq = {4}",
  ],
  [
    "a key has one charge within a day",
    "UPDATE step SET claim = (SELECT claim FROM step WHERE id = 'ENDED' AND kind = 2) WHERE seq = {4}",
  ],
  [
    "a key has one open hold",
    "UPDATE step SET claim = (SELECT claim FROM step WHERE id = 'OPEN_HOLD' AND kind = 2) WHERE seq = {4}",
  ],
  ["claims are those of their places, in their order", "DELETE FROM claim WHERE hold_id = 'OPEN_HOLD'"],
  ["claims are those of their places, in their order", "DELETE FROM claim WHERE hold_id = 'ENDED'"],
  [
    "claims are those of their places, in their order",
    "UPDATE claim SET hold_id = account_id WHERE hold_id = 'CAPTURED'",
  ],
  [
    "kept answers are those of their steps",
    "UPDATE kept_answer SET kept_at = kept_at + 1 WHERE hold_id = 'OPEN_HOLD'",
  ],
  ["the list of open holds is that of the steps", "DELETE FROM open_hold WHERE hold_id = 'OPEN_HOLD'"],
  [
    "the list of open holds is that of the steps",
    "UPDATE open_hold SET leased_until = 1 WHERE hold_id = 'OPEN_HOLD'",
  ],
  [
    "windows turn with a new day, and only then",
    "UPDATE step SET window1 = window1 - 1 WHERE kind = 2 AND window1 = (SELECT max(window1) FROM step)",
  ],
  ["numbers of budgets are those of their first steps", "DELETE FROM budget_number"],
  [
    "the budget above a budget never changes",
    `UPDATE seal SET content = jsonb_set(content::jsonb, '{budgets,0,parent}', to_jsonb('${ROOT}'::text))::text`,
  ],
  ["no step is older than the seal before it", "UPDATE step SET at = at - 3600000 WHERE seq = {3}"],
  ["the last step of a sealed month is that of its seal", "UPDATE step SET held = held + 1 WHERE seq = {0}"],
  [
    "the last step of a sealed month is that of its seal",
    "DELETE FROM step WHERE account_id = (SELECT account_id FROM seal)",
  ],
  ["seals have the hash of their facts", "UPDATE seal SET debited = debited + 1"],
  ["seals have the hash of their facts", "UPDATE seal SET holds = holds + 1"],
  ["seals have the hash of their facts", `UPDATE seal SET content = replace(content, '"10"', '"11"')`],
  ["seals follow the seal before", "UPDATE seal SET previous_hash = hash"],
  ["seals follow the seal before", "UPDATE seal SET first_seq = 2"],
];

describe.each([
  ["without a seal", writeBook],
  ["behind a seal", writeSealedBook],
] as const)("a proof %s", (_, write) => {
  let rig: ChainRig;
  let book: Book;
  beforeAll(async () => {
    rig = await ChainRig.start();
    book = await write(rig);
  });
  afterAll(() => rig.stop());

  /** @returns the names among these that are broken by the change, which is not committed */
  async function brokenBy(change: string, ...invariants: string[]): Promise<string[]> {
    const { sealedSeq, spanning, wallet } = book;
    // The open part of the sealed book has one step before the book, and the other book has three.
    const stepOf = (number: number) =>
      sealedSeq === 0 || number === 0 ? sealedSeq + number : sealedSeq + number - 2;
    const text = change
      .replaceAll(/\{(\d+)\}/g, (_, number) => String(stepOf(Number(number))))
      .replaceAll("OPEN_HOLD", spanning?.open ?? "")
      .replaceAll("CAPTURED", spanning?.captured ?? "")
      .replaceAll("ENDED", spanning?.ended ?? "")
      .replaceAll("OPEN", `seq > ${sealedSeq}`);
    const bucket = bucketOf(wallet.accountId);
    return await rig.withClient(async (client) => {
      await client.query(`${PLANNER}; BEGIN; ALTER TABLE step DROP CONSTRAINT step_is_sound; ${text}`);
      const list = () => listSlice(client, [bucket, bucket], false);
      const found = await findChainDifferences(client, await list(), list, rig.clock.now(), invariants);
      await client.query("ROLLBACK");
      return [...new Set(found.map(({ invariant }) => invariant))];
    });
  }

  test("sound rows have no difference, and their totals are those of all steps", async () => {
    const isSealed = book.sealedSeq > 0;
    const now = rig.clock.now();
    const report = await verifyChains(rig.pool, { now, all: false });
    expect(report).toEqual({
      differences: [],
      ...(isSealed
        ? { accounts: 2n, holds: 519n, openHolds: 5n, chargedCredits: 18n, chargedCost: "15", lostCost: "48" }
        : { accounts: 1n, holds: 514n, openHolds: 2n, chargedCredits: 7n, chargedCost: "5", lostCost: "3" }),
    });
    expect(await verifyChains(rig.pool, { now, all: true })).toEqual(report);
  });

  test.each(BROKEN)("reports: %s", async (invariant, change) => {
    expect(await brokenBy(change, invariant)).toEqual([invariant]);
  });

  test("reports a beginning that is stored twice, and a balance below zero by a hold", async () => {
    const invariants = [
      "places, deposits, refunds and adjustments begin once",
      "no balance is below zero by a hold",
    ];
    const change = `DROP INDEX step_beginning;
      UPDATE step SET id = (SELECT id FROM step WHERE seq = {4}) WHERE kind = 2 AND seq = {6};
      UPDATE step SET held = held + 1995 WHERE kind = 2 AND seq = {8}`;
    expect(await brokenBy(change, ...invariants)).toEqual(invariants);
  });

  if (write !== writeSealedBook) return;

  test.each(SPANNING)("reports at the seal: %s", async (invariant, change) => {
    expect(await brokenBy(change, invariant)).toEqual([invariant]);
  });
});

describe("a proof of all steps", () => {
  let rig: ChainRig;
  let chain: Chain;
  beforeAll(async () => {
    rig = await ChainRig.start();
    const { accountId } = (await writeSealedBook(rig)).wallet;
    chain = { accountId, bucket: bucketOf(accountId) };
  });
  afterAll(() => rig.stop());

  const CHANGES: Readonly<Record<string, string>> = {
    id: "account_id",
    place_seq: "coalesce(place_seq, 0) + 1",
    claim: "sha256('other')",
    detail: `'{"note":"other"}'`,
    ...Object.fromEntries(
      ["billed_by", "service", "provider", "upstream_model", "model", "price_version"].map((name) => [
        name,
        "'other'",
      ]),
    ),
  };

  test.each([...new Set([...LINE_COLUMNS, ...RECORD_COLUMNS])].filter((name) => name !== "seq"))(
    "reports another %s in a sealed step",
    async (column) => {
      const change = CHANGES[column] ?? `coalesce(${column}, 0) + 1`;
      await rig.withClient(async (client) => {
        await client.query("BEGIN; ALTER TABLE step DROP CONSTRAINT step_is_sound");
        expect(await findSealDifferences(client, chain)).toEqual([]);
        const text = `UPDATE step SET ${column} = ${change} WHERE account_id = $1 AND seq = 4`;
        await client.query(text, [chain.accountId]);
        const found = await findSealDifferences(client, chain);
        expect(found).toMatchObject([{ invariant: "sealed steps are those of their seal" }]);
        await client.query("ROLLBACK");
      });
    },
  );

  test("reports a sealed step that is missing, and a seal whose content has another hash", async () => {
    await rig.withClient(async (client) => {
      await client.query("BEGIN; DELETE FROM step WHERE seq = 5");
      expect(await findSealDifferences(client, chain)).toHaveLength(1);
      await client.query("ROLLBACK; BEGIN");
      await client.query("UPDATE seal SET content = '{}', hash = sha256('{}')");
      expect(await findSealDifferences(client, chain)).toHaveLength(1);
      await client.query("ROLLBACK");
    });
  });
});

test("the texts of a sealed step have each column but those of its place in the table", () => {
  const named = new Set<string>(["account_id", "bucket", ...LINE_COLUMNS, ...RECORD_COLUMNS]);
  expect(STEP_COLUMNS.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([]);
});
