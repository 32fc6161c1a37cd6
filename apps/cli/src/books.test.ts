// Guarantees of the commands on real books: a deposit is booked, and a fault is found.
import { randomUUID } from "node:crypto";
import { billingModule } from "@gr/billing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { addKeys } from "./test/many-keys-store.ts";
import { type RouterUnderTest, startRouter } from "./test/start-router.ts";

let router: RouterUnderTest;

beforeAll(async () => {
  router = await startRouter({ billing: billingModule });
});
afterAll(async () => {
  await router?.stop();
});

test("an account is opened, funded once whatever is repeated, and its books are right", async () => {
  const { account_id: account } = await router.json("account", "create", "--name", "Acme");
  const key = await router.json("key", "mint", "--account", account, "--name", "CI", "--spend-limit", "2.5");
  const id = randomUUID();
  const add = (...more: string[]) =>
    router.json("deposit", "add", "--account", account, "--usd", "10.0001", "--id", id, ...more);
  await add("--status", "pending");
  expect(await router.json("credits", "show", "--account", account)).toMatchObject({
    total_deposits: "0.0000",
  });
  await add();
  await add();
  expect(await router.json("credits", "show", "--account", account)).toMatchObject({
    total_deposits: "10.0001",
    credit_usage: "0.0000",
    remaining_credits: "10.0001",
    held_credits: "0.0000",
    usage_by_api_key: [
      {
        api_key_id: key.id,
        api_key_name: "CI",
        is_active: true,
        credit_usage: "0.0000",
        total_requests: 0,
        spend_limit: "2.5000",
        spend_limit_period: null,
        period_spend: "0.0000",
        expires_at: null,
      },
    ],
  });
  await router.json("key", "revoke", "--account", account, "--id", key.id);
  const { usage_by_api_key: usage } = await router.json("credits", "show", "--account", account);
  expect(usage).toMatchObject([{ api_key_id: key.id, is_active: false }]);
  expect(await router.json("hold", "list", "--open")).toEqual({ holds: [], has_more: false });
  const { code, out } = await router.cli("ledger", "verify");
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^The ledger is right: accounts 1,/) });
});

test("keys are listed whatever their number, and so is their usage", async () => {
  const { account_id: account } = await router.json("account", "create", "--name", "Large");
  await addKeys(router.databaseUrl, account, 2_100);
  const { keys } = await router.json("key", "list", "--account", account);
  const { usage_by_api_key: usage } = await router.json("credits", "show", "--account", account);
  for (const list of [
    keys.map(({ id }: { id: string }) => id),
    usage.map(({ api_key_id: id }: { api_key_id: string }) => id),
  ]) {
    expect(list.length).toBeGreaterThanOrEqual(2_100);
    expect(new Set(list).size).toBe(list.length);
  }
});

test("a deposit is refunded once, and one that is not known not at all", async () => {
  const { account_id: account } = await router.json("account", "create", "--name", "Refunds");
  const deposit = async (usd: string) =>
    (await router.json("deposit", "add", "--account", account, "--usd", usd)).deposit_id;
  await deposit("3");
  const id = await deposit("10");
  const refund = ["deposit", "refund", "--account", account, "--id", id] as const;
  const wrongAmount = await router.cli(...refund, "--usd", "9");
  expect(wrongAmount).toMatchObject({ code: 1, err: expect.stringContaining("another account or amount") });
  expect(await router.json(...refund, "--usd", "10")).toEqual({
    deposit_id: id,
    account_id: account,
    usd: "10.0000",
    status: "refunded",
  });
  const again = await router.cli(...refund, "--usd", "10");
  expect(again).toMatchObject({ code: 0, out: `Deposit ${id} of 10.0000 USD is refunded.\n` });
  const unknown = ["--account", account, "--id", randomUUID(), "--usd", "10"];
  for (const args of [
    ["deposit", "refund", ...unknown],
    ["deposit", "add", "--status", "refunded", ...unknown],
  ]) {
    expect(await router.cli(...args)).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/There is no deposit with this id to refund/),
    });
  }
  expect(await router.json("credits", "show", "--account", account)).toMatchObject({
    total_deposits: "3.0000",
    remaining_credits: "3.0000",
  });
});

test("an adjustment gives and takes once under its id, and is no deposit", async () => {
  const { account_id: account } = await router.json("account", "create", "--name", "Corrected");
  const remaining = async () =>
    (await router.json("credits", "show", "--account", account)).remaining_credits;
  const id = randomUUID();
  const add = ["adjustment", "add", "--account", account, "--reason", "goodwill"] as const;
  for (let round = 0; round < 2; round += 1) await router.json(...add, "--usd", "5.5", "--id", id);
  expect(await remaining()).toBe("5.5000");
  await router.json(...add, "--usd", "-7.0001");
  expect(await remaining()).toBe("-1.5001");
  const other = await router.cli(...add, "--usd", "6", "--id", id);
  expect(other).toMatchObject({ code: 1, err: expect.stringContaining("another account, amount or reason") });
  const { code, out } = await router.cli("ledger", "verify");
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^The ledger is right/) });
});

test("a key that is changed is judged by billing as it is now", async () => {
  const { account_id: account } = await router.json("account", "create", "--name", "Changes");
  const key = await router.json("key", "mint", "--account", account, "--name", "CI", "--spend-limit", "2.5");
  const usage = async () => (await router.json("credits", "show", "--account", account)).usage_by_api_key;
  await router.json(
    ...["key", "update", "--account", account, "--id", key.id],
    ...["--name", "renamed", "--spend-limit", "9", "--period", "day", "--disable"],
  );
  expect(await usage()).toMatchObject([
    {
      api_key_id: key.id,
      api_key_name: "renamed",
      is_active: false,
      spend_limit: "9.0000",
      spend_limit_period: "day",
    },
  ]);
  await router.json("key", "update", "--account", account, "--id", key.id, "--enable", "--no-spend-limit");
  expect(await usage()).toMatchObject([{ is_active: true, spend_limit: null, spend_limit_period: null }]);
});

test("accounts that billing does not know are an error in every command", async () => {
  const stranger = randomUUID();
  for (const args of [
    ["credits", "show", "--account", stranger],
    ["deposit", "add", "--account", stranger, "--usd", "5"],
    ["deposit", "refund", "--account", stranger, "--usd", "5", "--id", randomUUID()],
    ["adjustment", "add", "--account", stranger, "--usd", "-5", "--reason", "r"],
    ["key", "list", "--account", stranger],
    ["token", "issue", "--account", stranger],
  ]) {
    const { code, out, err } = await router.cli(...args);
    expect({ args, code, out }).toEqual({ args, code: 1, out: "" });
    expect(err).toMatch(/account/);
  }
});
