// The drill: Redis lies about spend windows in each way while customers with and without money send requests to processes that have just
// started. No customer with money is refused, none without is admitted, and the ledger adds up.
import { randomUUID } from "node:crypto";
import { OutcomeCode, SpendPeriod } from "@gr/proto/billing";
import { connectRedis, createLogger, type Redis } from "@gr/runtime";
import { RedisLine, testRedis, until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import {
  type BillingProcess,
  type BillingUnderTest,
  startBilling,
  startBillingOn,
} from "../test/start-billing.ts";
import { capture, deposit, openWallet, place, postOne, putSpender, type Wallet } from "../test/wallet.ts";
import { keyOf, USED_UP_KEY } from "./copy-text.ts";

const { DONE, INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED } = OutcomeCode;
const PATIENCE = { timeoutMs: 60_000 };
const DAY_MS = 86_400_000;
/** Longest time of one command where Redis does not answer. */
const SHORT_MS = 300;
const log = createLogger("silent", "test");

let ledger: BillingUnderTest;
let url: string;
let line: RedisLine;
let direct: Redis;
beforeAll(async () => {
  ({ url } = await testRedis());
  line = await RedisLine.to(url);
  direct = await connectRedis({ url, name: "test", log, commandTimeoutMs: 30_000 });
  ledger = await startBilling({ REDIS_URL: url, REDIS_TIMEOUT_MS: "30000" });
});
beforeEach(async () => {
  line.mend();
  await direct.flushdb();
});
afterAll(async () => {
  direct?.disconnect();
  await line?.close();
  await ledger?.stopSound();
});

/**
 * Requests of a process that has just started; each id of a hold is younger than each step.
 * @param patienceMs longest time of one command; long, so that a slow machine is no outage
 */
async function withNewProcess<Result>(
  work: (process: BillingProcess) => Promise<Result>,
  patienceMs = 30_000,
): Promise<Result> {
  const env = { REDIS_URL: line.url, REDIS_TIMEOUT_MS: String(patienceMs) };
  const process = await startBillingOn(ledger.url, ledger.clock, env);
  try {
    return await work(process);
  } finally {
    await process.stop();
  }
}

function youngHold(): string {
  const time = (ledger.clock.now() + 1).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

const ask = async ({ inProcess }: BillingProcess, wallet: Wallet, credits = 60n) =>
  (await postOne(inProcess, place(wallet, credits, { holdId: youngHold() }))).code;

/** Places that the process has refused without a statement that reads the account. */
async function refusedByCopies(process: BillingProcess): Promise<number> {
  const metrics = await process.metrics();
  return Number(/^billing_mirror_refusals_total (\d+)$/m.exec(metrics)?.[1]);
}

async function spend(wallet: Wallet, credits: bigint): Promise<void> {
  const hold = place(wallet, credits);
  expect((await postOne(ledger.billing, hold)).code).toBe(DONE);
  expect((await postOne(ledger.billing, capture(hold.holdId, credits))).code).toBe(DONE);
}

const keyOfWallet = ({ accountId, spenderId }: Wallet) => keyOf(`${accountId}:${spenderId}`);
const seqOf = async (wallet: Wallet) => Number((await direct.get(keyOfWallet(wallet)))?.split(" ")[0]);

async function latestSeq({ accountId }: Wallet): Promise<number> {
  const { rows } = await ledger.db.query<{ seq: bigint }>(
    "SELECT max(seq) AS seq FROM step WHERE account_id = $1",
    [accountId],
  );
  return Number(rows[0]?.seq);
}

const untilCopied = (...wallets: Wallet[]) =>
  until(async () => {
    for (const wallet of wallets) if ((await seqOf(wallet)) !== (await latestSeq(wallet))) return false;
    return true;
  }, PATIENCE);

interface Customers {
  readonly rich: Wallet;
  /** Has spent its balance. */
  readonly poor: Wallet;
  /** Its key has spent its limit, and the account has money. */
  readonly capped: Wallet;
}

async function openCustomers(): Promise<Customers> {
  const [rich, poor, capped] = [
    await openWallet(ledger.billing, 1_000n),
    await openWallet(ledger.billing, 100n),
    await openWallet(ledger.billing, 1_000n, { capCredits: 100n }),
  ];
  for (const wallet of [rich, poor, capped]) await spend(wallet, 50n);
  for (const wallet of [poor, capped]) await spend(wallet, 50n);
  await untilCopied(rich, poor, capped);
  return { rich, poor, capped };
}

/** Each customer asks twice. */
async function expectFairness(process: BillingProcess, { rich, poor, capped }: Customers): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    expect(await ask(process, rich)).toBe(DONE);
    expect(await ask(process, poor)).toBe(INSUFFICIENT_CREDITS);
    expect(await ask(process, capped)).toBe(SPEND_LIMIT_EXCEEDED);
  }
}

test("a new process refuses used-up budgets from copies, and reads no account for it", async () => {
  const customers = await openCustomers();
  await withNewProcess(async (process) => {
    expect(await ask(process, customers.poor)).toBe(INSUFFICIENT_CREDITS);
    expect(await ask(process, customers.capped)).toBe(SPEND_LIMIT_EXCEEDED);
    expect(await refusedByCopies(process)).toBe(2);
    // A flood costs one read a second: its ids are younger than that read.
    await expectFairness(process, customers);
  });
});

test("a step that another process has stored ends the refusals of a new process at its first question", async () => {
  const { poor, capped } = await openCustomers();
  await withNewProcess(async (process) => {
    await deposit(ledger.billing, poor.accountId, 500n);
    await putSpender(ledger.billing, capped.accountId, { ...capped, capCredits: 500n, revision: 1n });
    expect(await ask(process, poor)).toBe(DONE);
    expect(await ask(process, capped)).toBe(DONE);
    expect(await refusedByCopies(process)).toBe(0);
  });
});

test("a new process answers the repeat of an open hold whose account has spent its balance", async () => {
  const mine = await openWallet(ledger.billing, 100n);
  // The clock of its gateway is ahead, so the id is younger than each step.
  const open = place(mine, 10n, { holdId: youngHold() });
  expect((await postOne(ledger.billing, open)).code).toBe(DONE);
  const { accountId } = mine;
  await ledger.billing.putAdjustment({
    adjustmentId: randomUUID(),
    accountId,
    credits: -80n,
    reason: "test",
  });
  await spend(mine, 10n);
  await ledger.billing.putAdjustment({
    adjustmentId: randomUUID(),
    accountId,
    credits: -10n,
    reason: "test",
  });
  await spend(mine, 0n);
  await untilCopied(mine);
  await withNewProcess(async (process) => {
    expect((await postOne(process.inProcess, open)).code).toBe(DONE);
    expect(await ask(process, mine)).toBe(INSUFFICIENT_CREDITS);
  });
});

test("a used-up window that has ended refuses nobody", async () => {
  const before = ledger.clock.now();
  const { capped } = await openCustomers();
  await putSpender(ledger.billing, capped.accountId, {
    ...capped,
    capCredits: 100n,
    period: SpendPeriod.DAY,
    revision: 1n,
  });
  await spend(capped, 100n);
  await untilCopied(capped);
  await withNewProcess(async (process) => {
    expect(await ask(process, capped)).toBe(SPEND_LIMIT_EXCEEDED);
    ledger.clock.advance(DAY_MS);
    expect(await ask(process, capped)).toBe(DONE);
    expect(await refusedByCopies(process)).toBe(1);
  });
  ledger.clock.set(before);
});

const keysOf = ({ rich, poor, capped }: Customers) => [rich, poor, capped].map(keyOfWallet);
const valuesOf = async (customers: Customers) =>
  (await direct.mget(keysOf(customers))).map((text) => text ?? "");

async function write(customers: Customers, texts: readonly string[]): Promise<void> {
  for (const [index, key] of keysOf(customers).entries()) {
    await direct.set(key, texts[index] ?? "", "PX", DAY_MS);
    const [, account, budget] = /:([0-9a-f-]{36}):([0-9a-f-]{36})$/.exec(key) ?? [];
    await direct.zadd(USED_UP_KEY, Date.now(), `${account}:${budget}`);
  }
}

const LIES: Record<string, (customers: Customers) => Promise<unknown>> = {
  emptied: () => direct.flushdb(),
  garbage: (customers) => write(customers, ["garbage", "9 x {", '1 "" {}']),
  "half written": async (customers) =>
    write(
      customers,
      (await valuesOf(customers)).map((text) => text.slice(0, text.length / 2)),
    ),
  // Totals of the account stay, so PostgreSQL would confirm them.
  "another limit": async (customers) =>
    write(
      customers,
      (await valuesOf(customers)).map((text) => text.replace('"limit":null', '"limit":{"$int":"1"}')),
    ),
  "numbers of other accounts": async (customers) => {
    const [rich = "", poor = "", capped = ""] = await valuesOf(customers);
    await write(customers, [poor, capped, rich]);
  },
  "a later step": async (customers) =>
    write(
      customers,
      (await valuesOf(customers)).map((text) => text.replaceAll(/"seq":\d+/g, '"seq":99')),
    ),
  slow: async () => line.freeze(),
  dead: async () => line.cut(),
};

const OUTAGES = new Set(["slow", "dead"]);

test.each(Object.entries(LIES))("Redis is %s: nobody is refused or admitted wrongly", async (name, lie) => {
  const customers = await openCustomers();
  await lie(customers);
  const work = (process: BillingProcess) => expectFairness(process, customers);
  await withNewProcess(work, OUTAGES.has(name) ? SHORT_MS : undefined);
});

test("Redis is stale: nobody is refused or admitted wrongly", async () => {
  const customers = await openCustomers();
  const { rich, poor, capped } = customers;
  const old = await valuesOf(customers);
  // Those without money have some again, and the one with money has none.
  await deposit(ledger.billing, poor.accountId, 1_000n);
  await putSpender(ledger.billing, capped.accountId, { ...capped, capCredits: 5_000n, revision: 1n });
  await spend(rich, 950n);
  await untilCopied(rich);
  await write(customers, old);
  await withNewProcess(async (process) => {
    for (let round = 0; round < 2; round += 1) {
      expect(await ask(process, poor)).toBe(DONE);
      expect(await ask(process, capped)).toBe(DONE);
      expect(await ask(process, rich)).toBe(INSUFFICIENT_CREDITS);
    }
  });
});

test("Redis lies in turns while three processes answer and commit", async () => {
  const customers = await openCustomers();
  const lies = Object.values(LIES);
  const wrong: string[] = [];
  let isLying = true;
  const lying = (async () => {
    for (let turn = 0; isLying; turn += 1) {
      await lies[turn % lies.length]?.(customers);
      await new Promise((resolve) => setTimeout(resolve, 5));
      line.mend();
    }
  })();
  const expected = [DONE, INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED];
  const askAll = async (process: BillingProcess) => {
    for (let round = 0; round < 20; round += 1) {
      const codes = [
        await ask(process, customers.rich, 1n),
        await ask(process, customers.poor),
        await ask(process, customers.capped),
      ];
      for (const [index, code] of codes.entries())
        if (code !== expected[index]) wrong.push(`${index}: ${code}`);
    }
  };
  const asking = Array.from({ length: 3 }, () => withNewProcess(askAll, SHORT_MS));
  await Promise.all(asking).finally(() => {
    isLying = false;
  });
  await lying;
  expect(wrong).toEqual([]);
});
