// What an account is shown of its money is what the journal has: each line once, each sum to the last unit, nobody else's.
import { randomUUID } from "node:crypto";
import { EntryKind, UsageGroup } from "@gr/proto/billing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import { capture, nextAttempt, openWallet, place, post, putSpender, type Wallet } from "../test/wallet.ts";

const DAY_MS = 86_400_000;

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
beforeEach(() => ledger.clock.set(THURSDAY));
afterAll(() => ledger.stopSound());

async function spend(from: Wallet, credits: bigint, fields: { model?: string; provider?: string } = {}) {
  const hold = place(from, credits, fields);
  await post(ledger.inProcess, hold);
  await post(ledger.inProcess, capture(hold.holdId, credits));
  return hold.holdId;
}

describe("entries", () => {
  test("are all changes of credit, newest first, with where each comes from", async () => {
    const mine = await openWallet(ledger.inProcess, 1_000n);
    const holdId = await spend(mine, 40n, { model: "m" });
    await ledger.inProcess.putAdjustment({
      adjustmentId: randomUUID(),
      accountId: mine.accountId,
      credits: -5n,
      reason: "a mistake",
    });
    const { entries, hasMore } = await ledger.reports.listEntries({ accountId: mine.accountId });
    expect(hasMore).toBe(false);
    expect(entries).toMatchObject([
      { kind: EntryKind.ADJUSTMENT, credits: -5n, reason: "a mistake", source: "", holdId: "" },
      { kind: EntryKind.CHARGE, credits: -40n, holdId, model: "m", spenderId: mine.spenderId, reason: "" },
      { kind: EntryKind.DEPOSIT, credits: 1_000n, source: "test", at: BigInt(THURSDAY) },
    ]);
    const { remainingCredits } = await ledger.inProcess.getCredits({ accountId: mine.accountId });
    expect(entries.reduce((sum, { credits }) => sum + credits, 0n)).toBe(remainingCredits);
  });

  test("come in pages that have each once, whatever is written meanwhile", async () => {
    const mine = await openWallet(ledger.inProcess, 1_000n);
    for (let count = 0; count < 4; count += 1) await spend(mine, 1n);
    const whole = (await ledger.reports.listEntries({ accountId: mine.accountId })).entries;
    const read: bigint[] = [];
    for (let after = 0n, more = true; more; after = read.at(-1) ?? 0n) {
      const page = await ledger.reports.listEntries({ accountId: mine.accountId, limit: 2, after });
      read.push(...page.entries.map(({ entryId }) => entryId));
      more = page.hasMore;
      await spend(mine, 1n);
    }
    expect(read).toEqual(whole.map(({ entryId }) => entryId));
  });

  test("can be asked for by kind and time; nobody sees another's", async () => {
    const mine = await openWallet(ledger.inProcess, 1_000n);
    ledger.clock.set(THURSDAY + DAY_MS);
    await spend(mine, 7n);
    const count = async (filter: { accountId?: string; kind?: EntryKind; from?: bigint; until?: bigint }) =>
      (await ledger.reports.listEntries({ accountId: mine.accountId, ...filter })).entries.length;
    expect(await count({ kind: EntryKind.CHARGE })).toBe(1);
    expect(await count({ from: BigInt(THURSDAY + DAY_MS) })).toBe(1);
    expect(await count({ until: BigInt(THURSDAY + DAY_MS) })).toBe(1);
    expect(await count({ accountId: randomUUID() })).toBe(0);
  });
});

describe("usage", () => {
  const asked = { fromDay: "2026-01-15", toDay: "2026-01-16" };

  test("is summed by day, spender, model and provider, most spent first, and the total counts what was cut", async () => {
    const mine = await openWallet(ledger.inProcess, 10_000n);
    const other = { ...mine, spenderId: await putSpender(ledger.inProcess, mine.accountId) };
    await spend(mine, 10n, { model: "a", provider: "p" });
    await spend(mine, 20n, { model: "b", provider: "q" });
    ledger.clock.set(THURSDAY + DAY_MS);
    await spend(other, 40n, { model: "a", provider: "q" });
    const sums = async (group: UsageGroup, more: object = {}) => {
      const answer = await ledger.reports.sumUsage({ accountId: mine.accountId, group, ...asked, ...more });
      expect(answer.requests).toBe(BigInt(answer.sums.reduce((sum, one) => sum + Number(one.requests), 0)));
      return answer.sums.map(({ group: name, day, credits }) => [name, day, credits]);
    };
    expect(await sums(UsageGroup.DAY)).toEqual([
      ["2026-01-15", "", 30n],
      ["2026-01-16", "", 40n],
    ]);
    expect(await sums(UsageGroup.MODEL)).toEqual([
      ["a", "", 50n],
      ["b", "", 20n],
    ]);
    expect(await sums(UsageGroup.PROVIDER)).toEqual([
      ["q", "", 60n],
      ["p", "", 10n],
    ]);
    expect(await sums(UsageGroup.SPENDER)).toEqual([
      [other.spenderId, "", 40n],
      [mine.spenderId, "", 30n],
    ]);
    expect(await sums(UsageGroup.PROVIDER, { perDay: true, spenderId: mine.spenderId })).toEqual([
      ["p", "2026-01-15", 10n],
      ["q", "2026-01-15", 20n],
    ]);
    expect(await sums(UsageGroup.MODEL, { model: "b" })).toEqual([["b", "", 20n]]);
    const cut = await ledger.reports.sumUsage({
      accountId: mine.accountId,
      group: UsageGroup.MODEL,
      ...asked,
      limit: 1,
    });
    expect([cut.sums.length, cut.hasMore, cut.credits]).toEqual([1, true, 70n]);
    expect(
      (await ledger.reports.sumUsage({ accountId: randomUUID(), group: UsageGroup.DAY, ...asked })).sums,
    ).toEqual([]);
  });

  test.each([
    [{ fromDay: "2026-02-30" }, "from_day"],
    [{ toDay: "tomorrow" }, "to_day"],
    [{ toDay: "2026-01-14" }, "to_day"],
    [{ fromDay: "2025-01-15" }, "from_day"],
    [{ group: UsageGroup.UNSPECIFIED }, "group"],
    [{ limit: 5_001 }, "limit"],
  ])("%j is refused, and the field is named", async (wrong, param) => {
    const request = { accountId: randomUUID(), group: UsageGroup.DAY, ...asked, ...wrong };
    await expect(ledger.reports.sumUsage(request)).rejects.toMatchObject({ reason: "invalid_value", param });
  });

  test("of spenders is that of those asked for, and of the account's own only", async () => {
    const mine = await openWallet(ledger.inProcess, 100n);
    const foreign = await openWallet(ledger.inProcess, 100n);
    await spend(mine, 3n);
    const spenderIds = [mine.spenderId, foreign.spenderId, randomUUID()];
    const { usage } = await ledger.reports.readSpenders({ accountId: mine.accountId, spenderIds });
    expect(usage).toMatchObject([
      { usedCredits: 3n, requests: 1n, lastUsedDay: "2026-01-15", spender: { spenderId: mine.spenderId } },
    ]);
    const unused = await putSpender(ledger.inProcess, mine.accountId);
    const asked = { accountId: mine.accountId, spenderIds: [unused] };
    expect((await ledger.reports.readSpenders(asked)).usage).toMatchObject([{ lastUsedDay: "" }]);
  });
});

describe("costs of all accounts", () => {
  const day = { fromDay: "2026-01-15", toDay: "2026-01-16" };

  test("are sums by the day of the booking, provider and upstream model, losses among them", async () => {
    const [one, other] = [
      await openWallet(ledger.inProcess, 1_000n),
      await openWallet(ledger.inProcess, 1_000n),
    ];
    const at = { provider: "billed-here", upstreamModel: "vendor/m" };
    for (const wallet of [one, other]) {
      const hold = place(wallet, 10n, at);
      await post(ledger.inProcess, hold);
      await post(ledger.inProcess, capture(hold.holdId, 10n, 7_000_000_000n));
    }
    ledger.clock.set(THURSDAY + DAY_MS);
    const failed = place(one, 10n, at);
    await post(ledger.inProcess, failed);
    await post(ledger.inProcess, nextAttempt(failed.holdId, 2, 5n));
    await post(ledger.inProcess, capture(failed.holdId, 1n, 3n));
    const { sums } = await ledger.reports.sumCosts({ ...day, providers: ["billed-here", "provider-2"] });
    expect(
      sums.map((sum) => [sum.day, sum.provider, sum.upstreamModel, sum.costPicoUsd, sum.entries]),
    ).toEqual([
      ["2026-01-15", "billed-here", "vendor/m", "14000000000", 2n],
      ["2026-01-16", "billed-here", "", "5", 1n],
      ["2026-01-16", "provider-2", "upstream/chat-2", "3", 1n],
    ]);
    // Charges beside costs; the cost of the failed attempt is a loss.
    expect(sums.map(({ chargedCredits, lostPicoUsd }) => [chargedCredits, lostPicoUsd])).toEqual([
      [20n, "0"],
      [0n, "5"],
      [1n, "0"],
    ]);
  });

  test.each([
    [{ fromDay: "2026-02-30" }, "from_day"],
    [{ toDay: "2026-01-14" }, "to_day"],
    [{ toDay: "2026-02-15" }, "from_day"],
    [{ providers: [] }, "providers"],
    [{ providers: [""] }, "providers[0]"],
  ])("%j is refused, and the field is named", async (wrong, param) => {
    await expect(ledger.reports.sumCosts({ ...day, providers: ["p"], ...wrong })).rejects.toMatchObject({
      reason: "invalid_value",
      param,
    });
  });
});
