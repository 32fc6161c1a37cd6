// Guarantees of the two names of a spend limit: a client of the last release and one of this release set the same
// limit, and each of them reads it. The table has both names, too.

import { KeyKind } from "@gr/proto/keys";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type KeysUnderTest, startKeys } from "../test/start-keys.ts";

let world: KeysUnderTest;
let accountId: string;

beforeAll(async () => {
  world = await startKeys();
});
afterAll(() => world.stop());
beforeEach(async () => {
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
});

/** Values of the two columns of a key, the former name first. */
async function stored(keyId: string | undefined): Promise<unknown[]> {
  const sql = "SELECT cap_credits, spend_limit_credits FROM keys.api_key WHERE id = $1";
  const { rows } = await world.db.query({ text: sql, values: [keyId], rowMode: "array" });
  return rows[0] ?? [];
}

const mint = async (limit: { capCredits?: bigint; spendLimitCredits?: bigint }) =>
  (await world.keys.mintKey({ accountId, name: "a key", kind: KeyKind.NORMAL, ...limit })).key;

describe("a spend limit", () => {
  test.each([
    ["the former name", { capCredits: 7n }],
    ["the new name", { spendLimitCredits: 7n }],
    ["both, where the new one is preferred", { capCredits: 5n, spendLimitCredits: 7n }],
  ])("is set by %s and answered under both", async (_, limit) => {
    const both = { capCredits: 7n, spendLimitCredits: 7n };
    const key = await mint(limit);
    expect(key).toMatchObject(both);
    expect((await world.keys.getKey({ accountId, keyId: key?.keyId ?? "" })).key).toMatchObject(both);
    expect((await stored(key?.keyId)).map(Number)).toEqual([7, 7]);
  });

  test.each([
    ["the former name", { cap: { case: "capCredits", value: 9n } }, 9n],
    ["the new name", { spendLimit: { case: "spendLimitCredits", value: 9n } }, 9n],
    [
      "both, where the new one is preferred",
      { cap: { case: "capCredits", value: 5n }, spendLimit: { case: "spendLimitCredits", value: 9n } },
      9n,
    ],
    ["the former removal", { cap: { case: "noCap", value: true } }, undefined],
    ["the new removal", { spendLimit: { case: "noSpendLimit", value: true } }, undefined],
  ] as const)("is changed by %s", async (_, change, expected) => {
    const minted = await mint({ spendLimitCredits: 7n });
    const { key } = await world.keys.updateKey({ accountId, keyId: minted?.keyId ?? "", ...change });
    expect([key?.capCredits, key?.spendLimitCredits]).toEqual([expected, expected]);
    const columns = (await stored(key?.keyId)).map((value) =>
      value === null ? undefined : BigInt(String(value)),
    );
    expect(columns).toEqual([expected, expected]);
  });
});
