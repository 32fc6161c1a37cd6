// Two ledgers over two databases behind one client: every account is in one of them with all that is its own, whoever ends
// a request finds its hold, and a ledger that is silent keeps nobody waiting but its own accounts.
import { BillingShards, createBilling, ReleaseReason, shardOf } from "@gr/clients";
import { systemClock } from "@gr/runtime";
import { Random } from "@gr/testing/random";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, THURSDAY } from "./test/start-billing.ts";
import { deposit, putSpender, type Wallet } from "./test/wallet.ts";

const SEED = 20_261_122;
const ACCOUNTS = 24;
const CREDITS = 1_000n;
const SERVICE = "text-proxy";

const uuidOf = (kind: number, number: number) =>
  `0000000${kind}-0000-4000-8000-${String(number).padStart(12, "0")}`;

describe("two ledgers", () => {
  let ledgers: readonly BillingUnderTest[];
  let shards: BillingShards;
  let wallets: Wallet[];
  let holds = 0;

  beforeAll(async () => {
    ledgers = [await startBilling(), await startBilling()];
    shards = new BillingShards(ledgers.map(({ billing }) => billing));
    wallets = [];
    for (let number = 0; number < ACCOUNTS; number += 1) {
      const accountId = uuidOf(1, number);
      const client = shards.of(accountId);
      await client.openAccount({ accountId });
      await deposit(client, accountId, CREDITS);
      const spenderId = await putSpender(client, accountId, { spenderId: uuidOf(2, number) });
      wallets.push({ accountId, spenderId });
    }
  });
  afterAll(async () => {
    await ledgers[0]?.stop();
  });

  const placing = (wallet: Wallet, credits: bigint, deadlineAt = THURSDAY + 600_000) => {
    holds += 1;
    const facts = { provider: "openrouter", model: "m", upstreamModel: "m", priceVersion: "v1" };
    return { ...wallet, ...facts, holdId: uuidOf(3, holds), credits, service: SERVICE, deadlineAt };
  };
  /** Another process: it has placed nothing. */
  const client = () => createBilling(shards, systemClock);
  const walletsIn = (shard: number) => wallets.filter(({ accountId }) => shardOf(accountId, 2) === shard);

  test("hold each account once, and charge it what its requests cost, whichever process ends them", async () => {
    const random = new Random(SEED);
    const [one, other] = [client(), client()];
    const charged = new Map<string, bigint>();
    const requests = Array.from({ length: 240 }, () => {
      const wallet = random.pick(wallets);
      return { wallet, request: placing(wallet, 9n), cost: BigInt(random.below(9)), fate: random.below(4) };
    });
    await Promise.all(
      requests.map(async ({ wallet, request, cost, fate }) => {
        expect(await one.place(request)).toEqual({ held: 9n });
        const by = fate < 2 ? one : other;
        const { holdId } = request;
        if (fate === 3) return await by.release(holdId, ReleaseReason.FAILED);
        const longer = { holdId, credits: 12n, deadlineAt: request.deadlineAt + 1 };
        expect(await by.extend(longer)).toEqual({ kind: "extended", held: 12n });
        expect(await by.capture({ holdId, credits: cost, cost: cost * 100_000_000n })).toBe(true);
        charged.set(wallet.accountId, (charged.get(wallet.accountId) ?? 0n) + cost);
      }),
    );
    for (const { accountId } of wallets) {
      const { remainingCredits, heldCredits } = await shards.of(accountId).getCredits({ accountId });
      const expected = CREDITS - (charged.get(accountId) ?? 0n);
      expect({ accountId, remainingCredits, heldCredits }).toEqual({
        accountId,
        remainingCredits: expected,
        heldCredits: 0n,
      });
    }
    for (const [shard, ledger] of ledgers.entries()) {
      const { rows } = await ledger.db.query<{ id: string }>("SELECT id FROM account ORDER BY id");
      const ours = walletsIn(shard).map(({ accountId }) => accountId);
      expect(ours.length).toBeGreaterThan(2);
      expect(rows.map(({ id }) => id)).toEqual(ours);
      const verdict = await ledger.billing.verifyLedger({});
      expect(verdict).toMatchObject({ differences: [], openHolds: 0n, accounts: BigInt(ours.length) });
    }
  });

  test("give the holds that are overdue in either of them to whoever resolves them", async () => {
    const gone = client();
    const overdue = [0, 1].map((shard) => placing(walletsIn(shard)[0] as Wallet, 5n, THURSDAY - 1));
    for (const request of overdue) await gone.place(request);
    const resolver = client();
    const leased = await resolver.leaseExpired(SERVICE, 100, 60_000);
    const ids = overdue.map(({ holdId }) => holdId);
    expect(leased.map(({ holdId }) => holdId).toSorted()).toEqual(ids);
    for (const holdId of ids) await resolver.release(holdId, ReleaseReason.FAILED);
    for (const { billing } of ledgers) {
      expect(await billing.verifyLedger({})).toMatchObject({ differences: [], openHolds: 0n });
    }
  });

  test("one that is silent keeps its own accounts waiting alone, and nothing is concluded about its holds", async () => {
    const [here, away] = [0, 1].map((shard) => walletsIn(shard)[0] as Wallet) as [Wallet, Wallet];
    const one = client();
    const [open, lost] = [placing(here, 5n), placing(away, 5n)];
    await one.place(open);
    await one.place(lost);
    await ledgers[1]?.stop();

    await expect(one.place(placing(away, 5n))).rejects.toMatchObject({ reason: "billing_unavailable" });
    // Who does not know where it is must not take it for free, nor for charged.
    const { holdId } = lost;
    const tries = [one, client()].flatMap((by) => [
      by.release(holdId, ReleaseReason.FAILED),
      by.capture({ holdId, credits: 1n, cost: 1n }),
    ]);
    const reasons = (await Promise.allSettled(tries)).map(
      (end) => end.status === "rejected" && end.reason.reason,
    );
    expect(reasons).toEqual(Array.from(tries, () => "outcome_unknown"));
    expect(await client().capture({ holdId: open.holdId, credits: 1n, cost: 1n })).toBe(true);
    const next = placing(here, 5n);
    expect(await one.place(next)).toEqual({ held: 5n });
    expect(await one.capture({ holdId: next.holdId, credits: 2n, cost: 2n })).toBe(true);
    expect(await ledgers[0]?.billing.verifyLedger({})).toMatchObject({ differences: [], openHolds: 0n });
  });
});
