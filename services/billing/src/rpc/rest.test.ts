// GET /v1/credits: the balance, and the usage of each key, exactly as the interface says.
import { randomUUID } from "node:crypto";
import type { Principal } from "@gr/identity";
import { SpendPeriod } from "@gr/proto/billing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import {
  capture,
  deposit,
  openAccount,
  openWallet,
  place,
  post,
  putSpender,
  type Wallet,
} from "../test/wallet.ts";

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
beforeEach(() => ledger.clock.set(THURSDAY));
afterAll(() => ledger.stop());

const as = (accountId: string, kind: Principal["kind"] = "normal"): Principal => ({
  accountId,
  keyId: randomUUID(),
  kind,
});
const credits = async (accountId: string, search = "") => ledger.rest(`/v1/credits${search}`, as(accountId));

async function spend(from: Wallet, ...amounts: bigint[]): Promise<void> {
  const holds = amounts.map((amount) => place(from, amount));
  await post(ledger.inProcess, ...holds);
  await post(ledger.inProcess, ...holds.map(({ holdId }, index) => capture(holdId, amounts[index] ?? 0n)));
}

describe("the summary", () => {
  test("has four decimals, and usage is deposits less what remains", async () => {
    const mine = await openWallet(ledger.billing, 123_456n);
    await deposit(ledger.billing, mine.accountId, 1n);
    await spend(mine, 20_001n);
    expect(await credits(mine.accountId)).toEqual({
      status: 200,
      body: { remaining_credits: "10.3456", credit_usage: "2.0001", total_deposits: "12.3457" },
    });
  });

  test("of an empty account is zero", async () => {
    const accountId = await openAccount(ledger.billing, 0n);
    expect(await credits(accountId, "?by_api_key=true")).toEqual({
      status: 200,
      body: {
        remaining_credits: "0.0000",
        credit_usage: "0.0000",
        total_deposits: "0.0000",
        usage_by_api_key: [],
      },
    });
  });

  test("shows what an account owes, and does not count what is only held", async () => {
    const mine = await openWallet(ledger.billing, 10n);
    const hold = place(mine, 10n);
    await post(ledger.billing, hold);
    expect((await credits(mine.accountId)).body.remaining_credits).toBe("0.0010");
    await post(ledger.billing, capture(hold.holdId, 10n));
    await ledger.inProcess.putAdjustment({
      adjustmentId: randomUUID(),
      accountId: mine.accountId,
      credits: -15n,
      reason: "test",
    });
    expect((await credits(mine.accountId)).body).toEqual({
      remaining_credits: "-0.0015",
      credit_usage: "0.0025",
      total_deposits: "0.0010",
    });
  });

  test("counts an adjustment as less or more usage, and not as a deposit", async () => {
    const mine = await openWallet(ledger.billing, 100n);
    await spend(mine, 20n);
    const adjust = (amount: bigint) =>
      ledger.inProcess.putAdjustment({
        adjustmentId: randomUUID(),
        accountId: mine.accountId,
        credits: amount,
        reason: "test",
      });
    await adjust(15n);
    const total = { total_deposits: "0.0100" };
    const { body } = await credits(mine.accountId);
    expect(body).toEqual({ ...total, remaining_credits: "0.0095", credit_usage: "0.0005" });
    await adjust(-115n);
    const after = (await credits(mine.accountId, "?by_api_key=true")).body;
    expect(after).toMatchObject({ ...total, remaining_credits: "-0.0020", credit_usage: "0.0120" });
    expect(after.usage_by_api_key).toMatchObject([{ credit_usage: "0.0020" }]);
  });

  test("has usage by key only when asked", async () => {
    const { accountId } = await openWallet(ledger.billing, 10n);
    expect((await credits(accountId, "?by_api_key=false")).body).not.toHaveProperty("usage_by_api_key");
    expect((await credits(accountId, "?by_api_key=true")).body.usage_by_api_key).toHaveLength(1);
    for (const search of [
      "?by_api_key=1",
      "?by_api_key=",
      "?by_api_key=TRUE",
      "?by_api_key=true&by_api_key=true",
    ]) {
      const { status, body } = await credits(accountId, search);
      expect(status).toBe(400);
      expect(body.error).toMatchObject({
        type: "invalid_request_error",
        code: "invalid_value",
        param: expect.stringMatching(/^by_api_key/),
      });
    }
  });
});

describe("usage by key", () => {
  async function entryOf(wallet: Wallet) {
    const { body } = await credits(wallet.accountId, "?by_api_key=true");
    return body.usage_by_api_key.find(
      ({ api_key_id }: { api_key_id: string }) => api_key_id === wallet.spenderId,
    );
  }

  test("has every field for a key that was never used", async () => {
    const mine = await openWallet(ledger.billing, 10n, {
      name: "fresh",
      capCredits: 20_000n,
      period: SpendPeriod.WEEK,
      expiresAt: BigInt(THURSDAY + 86_400_000),
    });
    expect(await entryOf(mine)).toEqual({
      api_key_id: mine.spenderId,
      api_key_name: "fresh",
      credit_usage: "0.0000",
      total_requests: 0,
      created_at: "2026-01-15T12:00:00.000Z",
      is_active: true,
      spend_limit: "2.0000",
      spend_limit_period: "week",
      period_spend: "0.0000",
      period_start: null,
      expires_at: "2026-01-16T12:00:00.000Z",
    });
  });

  test("equals the lifetime usage when there is no period, capped or not", async () => {
    const capped = await openWallet(ledger.billing, 1_000n, { capCredits: 500n });
    const free = { ...capped, spenderId: await putSpender(ledger.billing, capped.accountId) };
    await spend(capped, 7n, 8n);
    await spend(free, 1n, 0n);
    const none = { spend_limit_period: null, period_start: null, expires_at: null };
    expect(await entryOf(capped)).toMatchObject({
      ...none,
      credit_usage: "0.0015",
      period_spend: "0.0015",
      total_requests: 2,
      spend_limit: "0.0500",
    });
    expect(await entryOf(free)).toMatchObject({
      ...none,
      credit_usage: "0.0001",
      period_spend: "0.0001",
      total_requests: 2,
      spend_limit: null,
    });
    // Also after a change of period, when the new cap starts from zero.
    await putSpender(ledger.billing, capped.accountId, {
      spenderId: capped.spenderId,
      period: SpendPeriod.DAY,
    });
    await putSpender(ledger.billing, capped.accountId, { spenderId: capped.spenderId, capCredits: 9n });
    expect(await entryOf(capped)).toMatchObject({ ...none, credit_usage: "0.0015", period_spend: "0.0015" });
  });

  test("of the current window begins at its boundary and is empty after it", async () => {
    const mine = await openWallet(ledger.inProcess, 1_000n, { capCredits: 500n, period: SpendPeriod.MONTH });
    await spend(mine, 5n);
    expect(await entryOf(mine)).toMatchObject({
      period_spend: "0.0005",
      period_start: "2026-01-01T00:00:00.000Z",
    });
    ledger.clock.set(Date.UTC(2026, 0, 31, 23, 59, 59, 999));
    expect(await entryOf(mine)).toMatchObject({ period_spend: "0.0005" });
    ledger.clock.set(Date.UTC(2026, 1, 1));
    expect(await entryOf(mine)).toMatchObject({
      credit_usage: "0.0005",
      period_spend: "0.0000",
      period_start: null,
    });
    await spend(mine, 2n);
    expect(await entryOf(mine)).toMatchObject({
      credit_usage: "0.0007",
      period_spend: "0.0002",
      period_start: "2026-02-01T00:00:00.000Z",
    });
  });

  test("keeps a deleted key in the list, inactive", async () => {
    const mine = await openWallet(ledger.billing, 1_000n);
    await spend(mine, 5n);
    await putSpender(ledger.billing, mine.accountId, { spenderId: mine.spenderId, active: false });
    expect(await entryOf(mine)).toMatchObject({
      is_active: false,
      credit_usage: "0.0005",
      total_requests: 1,
    });
  });

  test("adds up to the usage of the account, and has no key of another", async () => {
    const mine = await openWallet(ledger.billing, 1_000n);
    const second = { ...mine, spenderId: await putSpender(ledger.billing, mine.accountId) };
    const yours = await openWallet(ledger.billing, 1_000n);
    await spend(mine, 5n);
    await spend(second, 6n);
    await spend(yours, 7n);
    const { body } = await credits(mine.accountId, "?by_api_key=true");
    const used = body.usage_by_api_key.map((entry: { credit_usage: string }) => entry.credit_usage);
    expect(used.toSorted()).toEqual(["0.0005", "0.0006"]);
    expect(body.credit_usage).toBe("0.0011");
  });
});

describe("pages of usage by key", () => {
  const page = async (accountId: string, more = "") =>
    (await credits(accountId, `?by_api_key=true${more}`)).body;

  test("have each key once, oldest first, 1,000 in one answer", async () => {
    const { accountId } = await openWallet(ledger.billing, 10n);
    await Promise.all(Array.from({ length: 1_500 }, () => putSpender(ledger.inProcess, accountId)));
    const first = await page(accountId);
    expect([first.usage_by_api_key.length, first.has_more]).toEqual([1_000, true]);
    const last = await page(accountId, `&after=${first.usage_by_api_key[999].api_key_id}`);
    expect([last.usage_by_api_key.length, last.has_more]).toEqual([501, undefined]);
    const all = [...first.usage_by_api_key, ...last.usage_by_api_key];
    expect(new Set(all.map(({ api_key_id: id }) => id)).size).toBe(1_501);
    expect((await page(accountId, "&limit=7")).usage_by_api_key).toEqual(all.slice(0, 7));
  });

  test("may begin after the entry of web tokens", async () => {
    const { accountId } = await openWallet(ledger.billing, 10n);
    await putSpender(ledger.billing, accountId, { spenderId: accountId, createdAt: BigInt(THURSDAY - 1) });
    expect((await page(accountId, "&after=web_token")).usage_by_api_key).toHaveLength(1);
  });

  test.each([
    ["limit", "&limit=0"],
    ["limit", "&limit=1001"],
    ["after", "&after=x"],
    ["after", `&after=${randomUUID()}`],
  ])("%s is checked: %s", async (param, more) => {
    const { accountId } = await openWallet(ledger.billing, 10n);
    expect((await page(accountId, more)).error).toMatchObject({ code: "invalid_value", param });
  });
});

describe("web tokens", () => {
  /** Whatever its row says: the console may give it a cap or switch it off. */
  const open = async () => {
    const accountId = await openAccount(ledger.inProcess, 1_000n);
    const fields = { spenderId: accountId, name: "web", capCredits: 500n, period: SpendPeriod.DAY };
    await putSpender(ledger.inProcess, accountId, { ...fields, expiresAt: BigInt(THURSDAY + 86_400_000) });
    return { accountId, spenderId: accountId };
  };
  const list = async ({ accountId }: Wallet) =>
    (await credits(accountId, "?by_api_key=true")).body.usage_by_api_key;

  test("are one entry that is no key, with what all of them used", async () => {
    const mine = await open();
    const key = { ...mine, spenderId: await putSpender(ledger.inProcess, mine.accountId) };
    await spend(mine, 7n, 0n);
    await spend(key, 1n);
    const [entry, other, ...none] = (await list(mine)).toSorted((a: { api_key_id: string }) =>
      a.api_key_id === "web_token" ? -1 : 1,
    );
    expect(entry).toEqual({
      api_key_id: "web_token",
      api_key_name: "Temporary web token",
      credit_usage: "0.0007",
      total_requests: 2,
      created_at: null,
      is_active: false,
      spend_limit: null,
      spend_limit_period: null,
      period_spend: "0.0007",
      period_start: null,
      expires_at: null,
    });
    expect(other).toMatchObject({ api_key_id: key.spenderId, credit_usage: "0.0001" });
    expect(none).toEqual([]);
    // Its period_spend is the lifetime's also when a window has ended.
    ledger.clock.advance(40 * 86_400_000);
    const later = (await list(mine)).find((each: { api_key_id: string }) => each.api_key_id === "web_token");
    expect(later).toMatchObject({ credit_usage: "0.0007", period_spend: "0.0007" });
  });

  test("are listed once one has made a request, and not before", async () => {
    const mine = await open();
    expect(await list(mine)).toEqual([]);
    const hold = place(mine, 5n);
    await post(ledger.inProcess, hold);
    expect(await list(mine)).toEqual([]);
    await post(ledger.inProcess, capture(hold.holdId, 0n));
    expect(await list(mine)).toMatchObject([{ api_key_id: "web_token", total_requests: 1 }]);
  });
});

describe("who may ask", () => {
  test("is nobody without a key, and no management key", async () => {
    const { accountId } = await openWallet(ledger.billing, 10n);
    const anonymous = await ledger.rest("/v1/credits", null);
    expect(anonymous).toMatchObject({
      status: 401,
      body: { error: { type: "unauthorized", code: "invalid_api_key" } },
    });
    const manager = await ledger.rest("/v1/credits", as(accountId, "management"));
    expect(manager).toMatchObject({
      status: 401,
      body: { error: { type: "unauthorized", code: "wrong_key_kind" } },
    });
  });
});

describe("a failure to read", () => {
  const failed = {
    status: 500,
    body: {
      error: {
        message: expect.stringContaining("Fetching credit information failed"),
        type: "internal_error",
      },
    },
  };

  test("says that fetching credit information failed, and nothing else", async () => {
    const { accountId } = await openWallet(ledger.billing, 10n);
    await ledger.db.query("ALTER TABLE step RENAME TO hidden");
    try {
      expect(await credits(accountId)).toEqual(failed);
    } finally {
      await ledger.db.query("ALTER TABLE hidden RENAME TO step");
    }
    expect((await credits(accountId)).status).toBe(200);
  });

  test("is also the answer for an account that billing does not have", async () => {
    expect(await credits(randomUUID())).toEqual(failed);
  });
});

test("the OpenAPI description has every field of the answer", async () => {
  const { get } = (await ledger.describe())["/v1/credits"];
  const inQuery = ["by_api_key", "limit", "after"].map((name) => ({ name, in: "query", required: false }));
  expect(get.parameters).toMatchObject(inQuery);
  const { properties, required } = get.responses["200"].content["application/json"].schema;
  expect(required).toEqual(["remaining_credits", "credit_usage", "total_deposits"]);
  expect(Object.keys(properties.usage_by_api_key.items.properties)).toEqual(
    properties.usage_by_api_key.items.required,
  );
  expect(properties.usage_by_api_key.items.required).toHaveLength(11);
});
