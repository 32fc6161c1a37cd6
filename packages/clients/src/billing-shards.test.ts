// Guarantees of the account placement: it never changes. Another answer tomorrow would read accounts in the wrong
// ledger.
import type { BillingService } from "@gr/proto/billing";
import type { ServiceClient } from "@gr/runtime";
import { expect, test } from "@jest/globals";
import { BillingShards, PARTS, partOf, shardOf } from "./billing-shards.ts";

const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const ids = Array.from({ length: 20_000 }, (_, number) => idOf(number));

test("an account is in the part that it was always in, however its id is spelt", () => {
  expect([1, 2, 3, 4].map((number) => partOf(idOf(number)))).toEqual([71, 926, 612, 2]);
  const id = "0190B6E4-7C1A-7D3E-9F00-ABCDEFABCDEF";
  expect(partOf(id)).toBe(partOf(id.toLowerCase()));
});

test("accounts spread over all ledgers alike", () => {
  const counts = Array.from({ length: 4 }, () => 0);
  for (const id of ids) counts[shardOf(id, 4)] = (counts[shardOf(id, 4)] ?? 0) + 1;
  for (const count of counts) expect(Math.abs(count - ids.length / 4)).toBeLessThan(ids.length / 40);
});

test("twice as many ledgers cut each in two, and move nothing between others", () => {
  for (let shards = 1; shards < PARTS; shards *= 2) {
    const strays = ids.filter((id) => Math.floor(shardOf(id, shards * 2) / 2) !== shardOf(id, shards));
    expect({ shards, strays }).toEqual({ shards, strays: [] });
  }
  expect(ids.every((id) => shardOf(id, PARTS) === partOf(id) && shardOf(id, 1) === 0)).toBe(true);
});

test("other numbers of ledgers are refused", () => {
  const some = (count: number) =>
    Array.from({ length: count }, () => ({}) as ServiceClient<typeof BillingService>);
  for (const count of [0, 3, 6, 2 * PARTS])
    expect(() => new BillingShards(some(count))).toThrow(`There are ${count} ledgers`);
  const two = new BillingShards(some(2));
  for (const id of ids.slice(0, 50)) expect(two.of(id)).toBe(two.all[shardOf(id, 2)]);
});
