// Failures of one account beside others that are served do not count as the provider's; failures of several accounts do.
import { expect, test } from "@jest/globals";
import { FailingAccounts } from "./failing-accounts.ts";

function start() {
  let now = 1_000_000_000;
  const accounts = new FailingAccounts({ now: () => now });
  return {
    accounts,
    pass: (minutes: number) => {
      now += minutes * 60_000;
    },
  };
}

test("one account that fails at will fails alone while others are served", () => {
  const { accounts } = start();
  accounts.recordSuccess("fal", "b");
  for (let time = 0; time < 5; time += 1) expect(accounts.recordFailure("fal", "a")).toBe(true);
});

test("a second account that fails makes the failures of both the provider's", () => {
  const { accounts } = start();
  accounts.recordSuccess("fal", "b");
  expect(accounts.recordFailure("fal", "a")).toBe(true);
  expect(accounts.recordFailure("fal", "b")).toBe(false);
  expect(accounts.recordFailure("fal", "a")).toBe(false);
  expect(accounts.recordFailure("fal", "c")).toBe(false);
});

test("the only account of a provider does not hide its failures", () => {
  const { accounts } = start();
  accounts.recordSuccess("xai", "b");
  accounts.recordSuccess("fal", "a");
  expect(accounts.recordFailure("fal", "a")).toBe(false);
});

test("an account counts for fifteen minutes after its last generation", () => {
  const { accounts, pass } = start();
  accounts.recordSuccess("fal", "b");
  pass(14);
  expect(accounts.recordFailure("fal", "a")).toBe(true);
  pass(2);
  expect(accounts.recordFailure("fal", "a")).toBe(false);
});
