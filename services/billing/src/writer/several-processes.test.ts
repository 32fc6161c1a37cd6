// Two billing processes and two services with the real client: each account is written by one process, so no batch loses a race.
import { randomUUID } from "node:crypto";
import { type Billing, createBilling } from "@gr/clients";
import { systemClock } from "@gr/runtime";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  type BillingProcess,
  type BillingUnderTest,
  dialProcesses,
  startBilling,
  startBillingOn,
} from "../test/start-billing.ts";
import { openWallet, type Wallet } from "../test/wallet.ts";

const ACCOUNTS = 24;
const ROUNDS = 5;

let ledger: BillingUnderTest;
let processes: BillingProcess[];
let wallets: Wallet[];
beforeAll(async () => {
  ledger = await startBilling();
  wallets = await Promise.all(Array.from({ length: ACCOUNTS }, () => openWallet(ledger.billing, 1_000n)));
  processes = await Promise.all([1, 2].map(() => startBillingOn(ledger.url)));
});
afterAll(async () => {
  await Promise.all(processes.map((process) => process.stop()));
  await ledger.stopSound();
});

async function counterOf(process: BillingProcess, name: string): Promise<number> {
  const lines = (await process.metrics()).split("\n").filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

async function spend(billing: Billing, wallet: Wallet): Promise<void> {
  const holdId = randomUUID();
  const tag = { service: "text-proxy", provider: "p", upstreamModel: "m", model: "m", priceVersion: "1" };
  await billing.place({ ...wallet, ...tag, holdId, credits: 2n, deadlineAt: Date.now() + 3_600_000 });
  await billing.capture({ accountId: wallet.accountId, holdId, credits: 1n, cost: 5n });
}

test("requests of one account from two services reach the same process, and both processes have accounts", async () => {
  const addresses = () => processes.map(({ rpcUrl }) => rpcUrl);
  const services = [1, 2].map(() => createBilling(dialProcesses(addresses), systemClock));
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(services.flatMap((billing) => wallets.map((wallet) => spend(billing, wallet))));
  }
  const commits = await Promise.all(
    processes.map((process) => counterOf(process, "billing_batch_operations_count")),
  );
  for (const count of commits) expect(count).toBeGreaterThan(0);
  const races = await Promise.all(
    processes.map((process) => counterOf(process, "billing_commit_retries_total")),
  );
  expect(races).toEqual([0, 0]);
  for (const { accountId } of wallets) {
    const { remainingCredits } = await ledger.billing.getCredits({ accountId });
    expect(remainingCredits).toBe(1_000n - BigInt(services.length * ROUNDS));
  }
});
