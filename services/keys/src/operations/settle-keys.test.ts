// Guarantees after a crash between billing and the row of a key, over real PostgreSQL: within a round the list of keys and
// billing agree, and no spender is left without a key.
import { randomBytes, randomUUID } from "node:crypto";
import { ServiceError } from "@gr/proto";
import { BudgetLevel, SpendPeriod } from "@gr/proto/billing";
import { type Key, KeyKind } from "@gr/proto/keys";
import { connectPostgres, createLogger } from "@gr/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { ApiKey } from "../records/key.ts";
import { createKeyStore } from "../records/store.ts";
import { type KeysUnderTest, startKeys } from "../test/start-keys.ts";

let world: KeysUnderTest;
let accountId: string;
let budgetId: string;
beforeAll(async () => {
  world = await startKeys();
});
afterAll(() => world?.stop());
beforeEach(async () => {
  world.billing.beforePutSpender = async () => undefined;
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
  budgetId = newBudget();
  world.billing.spenders.length = 0;
});

function newBudget(): string {
  const id = randomUUID();
  world.billing.putBudget({ accountId, budgetId: id, level: BudgetLevel.CUSTOMER, name: "a budget" });
  return id;
}

const mint = (fields: { budgetId?: string; capCredits?: bigint; period?: SpendPeriod } = {}) =>
  world.keys.mintKey({ accountId, name: "a key", kind: KeyKind.NORMAL, ...fields });
const listed = async () => (await world.keys.listKeys({ accountId })).keys;
const atBilling = () => world.billing.spenders.at(-1);

/** Fields that billing has of each key, too. */
function shared(from: Pick<Key, "name" | "active" | "capCredits" | "period" | "expiresAt"> | undefined) {
  return [from?.name, from?.active, from?.capCredits, from?.period, from?.expiresAt];
}

async function mintedId(fields: Parameters<typeof mint>[0] = {}): Promise<string> {
  return (await mint(fields)).key?.keyId ?? "";
}

describe("after a crash between billing and the row,", () => {
  test("a key that was moved below a budget is listed below it", async () => {
    const keyId = await mintedId();
    await world.withCrash("budget_id IS NULL", async () => {
      await expect(world.keys.updateKey({ accountId, keyId, budgetId })).rejects.toThrow();
    });
    expect(atBilling()?.parentId).toBe(budgetId);
    await world.settle();
    expect((await listed()).map((key) => key.budgetId)).toEqual([budgetId]);
    expect(atBilling()).toMatchObject({ spenderId: keyId, parentId: budgetId, active: true });
    const other = { accountId, keyId, budgetId: newBudget() };
    await expect(world.keys.updateKey(other)).rejects.toMatchObject({ param: "budget_id" });
  });

  test("the next change of the key keeps the budget, without a round", async () => {
    const keyId = await mintedId();
    await world.withCrash("budget_id IS NULL", async () => {
      await expect(world.keys.updateKey({ accountId, keyId, budgetId })).rejects.toThrow();
    });
    const { key } = await world.keys.updateKey({ accountId, keyId, name: "renamed" });
    expect([key?.name, key?.budgetId]).toEqual(["renamed", budgetId]);
  });

  test.each([
    ["active", { active: false }],
    ["cap_credits < 1000", { cap: { case: "capCredits", value: 1_000n } }],
    ["period = 'day'", { period: SpendPeriod.MONTH }],
    ["name = 'a key'", { name: "another" }],
    ["expires_at IS NULL", { expiry: { case: "expiresAt", value: 32_503_680_000_000n } }],
  ] as const)("a change that breaks %s is completed", async (condition, change) => {
    const keyId = await mintedId({ capCredits: 5n, period: SpendPeriod.DAY });
    await world.withCrash(condition, async () => {
      await expect(world.keys.updateKey({ accountId, keyId, ...change })).rejects.toThrow();
    });
    const changed = shared(atBilling());
    expect(shared((await listed())[0])).not.toEqual(changed);
    await world.settle();
    expect(shared((await listed())[0])).toEqual(changed);
    expect(shared(atBilling())).toEqual(changed);
  });

  test("a key of an interrupted mint does not exist, and its spender is off", async () => {
    await world.withCrash("deleted_at IS NOT NULL", async () => {
      await expect(mint({ budgetId })).rejects.toThrow();
    });
    expect(atBilling()).toMatchObject({ parentId: budgetId, active: true });
    await world.settle();
    expect(await listed()).toEqual([]);
    expect(atBilling()).toMatchObject({ parentId: budgetId, active: false });
  });

  test("a mint that billing never answered leaves no active spender, whatever its budget", async () => {
    world.billing.beforePutSpender = () => Promise.reject(new ServiceError("billing_unavailable", "down"));
    await expect(mint({ budgetId: randomUUID() })).rejects.toThrow();
    world.billing.beforePutSpender = async () => undefined;
    await world.settle();
    expect(await listed()).toEqual([]);
    expect(world.billing.spenders.map(({ active }) => active)).toEqual([false]);
  });

  test("a key with an interrupted deletion cannot spend, is listed as inactive, and can be deleted", async () => {
    const keyId = await mintedId();
    await world.withCrash("deleted_at IS NULL", async () => {
      await expect(world.keys.deleteKey({ accountId, keyId })).rejects.toThrow();
    });
    await world.settle();
    expect((await listed()).map(({ active }) => active)).toEqual([false]);
    await world.keys.deleteKey({ accountId, keyId });
    expect(await listed()).toEqual([]);
  });
});

test("a mint that is settled while it waits for billing creates no key", async () => {
  let first = true;
  world.billing.beforePutSpender = async () => {
    if (!first) return;
    first = false;
    await world.settle();
  };
  await expect(mint()).rejects.toThrow();
  expect(await listed()).toEqual([]);
  expect(world.billing.spenders.map(({ active }) => active)).toEqual([false]);
});

test("a mint that ends after a round has read its row stays: its secret was returned", async () => {
  const log = createLogger("silent", "test");
  const pool = await connectPostgres({ url: world.databaseUrl, poolSize: 2, schema: "keys", log });
  const store = createKeyStore(pool);
  const key: ApiKey = {
    ...{ id: randomUUID(), accountId, name: "a key", kind: "normal", hint: "", active: true, revision: 1n },
    ...{ spendLimit: null, period: null, expiresAt: null, createdAt: world.clock.now(), deletedAt: null },
    ...{
      responseFormat: null,
      allowedModels: null,
      allowedProviders: null,
      budgetId: null,
      savesTexts: false,
    },
    former: null,
  };
  await store.addKey(key, randomBytes(32));
  let isMinted = false;
  const round = store.change(key.id, {
    next: async (read) => {
      isMinted = await store.endMint(key);
      return read;
    },
    announce: async () => undefined,
    now: world.clock.now(),
  });
  await expect(round).rejects.toThrow("settled or deleted after it was read");
  expect([isMinted, await store.findById(key.id)]).toEqual([true, key]);
  await pool.end();
});

test("a round changes no settled key, and completes a change while billing fails for another key", async () => {
  const [failing, other] = [await mintedId(), await mintedId()];
  for (const keyId of [failing, other]) {
    await world.withCrash("name = 'a key'", async () => {
      await expect(world.keys.updateKey({ accountId, keyId, name: "another" })).rejects.toThrow();
    });
  }
  await mintedId();
  world.billing.spenders.length = 0;
  world.billing.beforePutSpender = async ({ spenderId }) => {
    if (spenderId === failing) throw new ServiceError("billing_unavailable", "down");
  };
  await world.settle();
  expect(world.billing.spenders.map(({ spenderId }) => spenderId)).toEqual([other]);
  expect((await listed()).map(({ name }) => name)).toEqual(["a key", "another", "a key"]);
  world.billing.beforePutSpender = async () => undefined;
  await world.settle();
  expect((await listed()).map(({ name }) => name)).toEqual(["a key", "another", "another"]);
  expect(world.billing.spenders.map(({ spenderId }) => spenderId)).toEqual([other, failing]);
});
