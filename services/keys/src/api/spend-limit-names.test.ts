// Guarantees of the two names of a spend limit: a client of the last release and one of this release set the same
// limit, and each of them reads it.

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
  });
});
