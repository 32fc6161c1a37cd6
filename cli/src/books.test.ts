// The commands against real books: what is deposited is there, what is wrong is found.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type RouterUnderTest, startRouter } from "./test/start-router.ts";

let router: RouterUnderTest;

beforeAll(async () => {
  router = await startRouter({ realBilling: true });
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
  expect(await router.json("hold", "list", "--open")).toEqual({ holds: [] });
  const { code, out } = await router.cli("ledger", "verify");
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^The ledger is right: accounts 1,/) });
});

test("accounts that billing does not know are an error in every command", async () => {
  const stranger = randomUUID();
  for (const args of [
    ["credits", "show", "--account", stranger],
    ["deposit", "add", "--account", stranger, "--usd", "5"],
    ["key", "list", "--account", stranger],
  ]) {
    const { code, out, err } = await router.cli(...args);
    expect({ args, code, out }).toEqual({ args, code: 1, out: "" });
    expect(err).toMatch(/account/);
  }
});
