// Listing holds, and leasing those past their deadline to whoever finds out what became of them.
import { randomUUID } from "node:crypto";
import { type Hold, HoldState } from "@gr/proto/billing";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, startBillingOn, THURSDAY } from "../test/start-billing.ts";
import { capture, openWallet, place, post, postOne, release, type Wallet } from "../test/wallet.ts";

let ledger: BillingUnderTest;
let mine: Wallet;
beforeEach(async () => {
  await ledger?.stop();
  ledger = await startBilling();
  mine = await openWallet(ledger.billing, 1_000_000n);
});
afterAll(() => ledger.stop());

const ids = ({ holds }: { holds: readonly Hold[] }) => holds.map(({ holdId }) => holdId);

/** Holds whose deadline is so many milliseconds from now, in this order. */
async function placeDue(service: string, ...inMs: number[]): Promise<string[]> {
  const holds = inMs.map((ms) => place(mine, 1n, { service, deadlineAt: BigInt(ledger.clock.now() + ms) }));
  await post(ledger.billing, ...holds);
  return holds.map(({ holdId }) => holdId);
}

describe("ListHolds", () => {
  test("answers each hold with everything that is known of it", async () => {
    const hold = place(mine, 60n);
    await postOne(ledger.billing, hold);
    const open = {
      holdId: hold.holdId,
      accountId: mine.accountId,
      spenderId: mine.spenderId,
      credits: 60n,
      state: HoldState.OPEN,
      chargedCredits: 0n,
      costPicoUsd: 0n,
      service: "text-proxy",
      provider: "openrouter",
      model: "sandbox/chat",
      priceVersion: "v1",
      placedAt: BigInt(THURSDAY),
      deadlineAt: BigInt(THURSDAY + 600_000),
    };
    expect((await ledger.billing.listHolds({})).holds).toMatchObject([open]);
    await postOne(ledger.billing, capture(hold.holdId, 30n, 123n));
    const captured = { ...open, state: HoldState.CAPTURED, chargedCredits: 30n, costPicoUsd: 123n };
    expect((await ledger.billing.listHolds({})).holds).toMatchObject([captured]);
  });

  test("is by account and oldest first, of one account and one state when asked, and no longer than asked", async () => {
    const yours = await openWallet(ledger.billing, 100n);
    const placed: string[] = [];
    for (const from of [mine, yours, mine, mine]) {
      const hold = place(from, 1n);
      await postOne(ledger.billing, hold);
      placed.push(hold.holdId);
      ledger.clock.advance(1);
    }
    const [first, other, second, third] = placed;
    await postOne(ledger.billing, release(second ?? ""));
    const { accountId } = mine;
    const orderOf = (wallet: Wallet) => wallet.accountId.slice(-2) + wallet.accountId;
    const own = [first, second, third];
    const all = orderOf(mine) < orderOf(yours) ? [...own, other] : [other, ...own];
    expect(ids(await ledger.billing.listHolds({}))).toEqual(all);
    expect(ids(await ledger.billing.listHolds({ limit: 2 }))).toEqual(all.slice(0, 2));
    expect(ids(await ledger.billing.listHolds({ state: HoldState.OPEN }))).toEqual([first, other, third]);
    expect(ids(await ledger.billing.listHolds({ accountId }))).toEqual([first, second, third]);
    expect(ids(await ledger.billing.listHolds({ accountId, state: HoldState.OPEN }))).toEqual([first, third]);
    expect(ids(await ledger.billing.listHolds({ state: HoldState.RELEASED }))).toEqual([second]);
  });

  test("goes on after the last one of a page, also among holds of one moment, until there are no more", async () => {
    await placeDue("a", ...Array.from({ length: 7 }, () => 1));
    const all = ids(await ledger.billing.listHolds({}));
    const pages: string[][] = [];
    for (let more = true; more; ) {
      const page = await ledger.billing.listHolds({ limit: 3, after: pages.at(-1)?.at(-1) ?? "" });
      pages.push(ids(page));
      more = page.hasMore;
    }
    expect(pages).toEqual([all.slice(0, 3), all.slice(3, 6), all.slice(6)]);
    expect(await ledger.billing.listHolds({ after: randomUUID() })).toMatchObject({
      holds: [],
      hasMore: false,
    });
  });

  test("answers 100 holds when no limit is given", async () => {
    await placeDue("a", ...Array.from({ length: 101 }, () => 1));
    expect((await ledger.billing.listHolds({})).holds).toHaveLength(100);
    expect((await ledger.billing.listHolds({ limit: 1_000 })).holds).toHaveLength(101);
  });
});

describe("LeaseExpiredHolds", () => {
  const lease = (service = "a", limit = 10, leaseMs = 5_000n) =>
    ledger.billing.leaseExpiredHolds({ service, limit, leaseMs });

  test("leases open holds of that service past their deadline, the most overdue first", async () => {
    const [late, later, future, captured] = await placeDue("a", -10, -20, 1, -30);
    await placeDue("b", -10);
    await postOne(ledger.billing, capture(captured ?? "", 1n));
    expect(ids(await lease())).toEqual([later, late]);
    ledger.clock.advance(1);
    expect(ids(await lease())).toEqual([future]);
  });

  test("does not lease a hold again until its lease is over", async () => {
    const [hold] = await placeDue("a", -10);
    expect(ids(await lease())).toEqual([hold]);
    ledger.clock.advance(4_999);
    expect(ids(await lease())).toEqual([]);
    ledger.clock.advance(1);
    expect(ids(await lease())).toEqual([hold]);
  });

  test("answers no more than asked, and the rest next time", async () => {
    const [first, second, third] = await placeDue("a", -30, -20, -10);
    expect(ids(await lease("a", 2))).toEqual([first, second]);
    expect(ids(await lease("a", 2))).toEqual([third]);
  });

  test("gives each hold to one of many who ask at once", async () => {
    const placed = await placeDue("a", ...Array.from({ length: 60 }, () => -1));
    const other = await startBillingOn(ledger.url, ledger.clock);
    try {
      const leases = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          (index % 2 === 0 ? ledger : other).billing.leaseExpiredHolds({
            service: "a",
            limit: 10,
            leaseMs: 5_000n,
          }),
        ),
      );
      const leased = leases.flatMap(ids);
      const rest = ids(await lease("a", 100));
      expect(new Set([...leased, ...rest])).toEqual(new Set(placed));
      expect(leased.length + rest.length).toBe(placed.length);
    } finally {
      await other.stop();
    }
  });

  test("does not stand in the way of a capture", async () => {
    const [hold] = await placeDue("a", -10);
    await lease();
    await postOne(ledger.billing, capture(hold ?? "", 1n));
    ledger.clock.advance(60_000);
    expect(ids(await lease())).toEqual([]);
    expect((await ledger.billing.verifyLedger({})).differences).toEqual([]);
  });
});
