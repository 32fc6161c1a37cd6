// Where a billing process can die between Redis and PostgreSQL, with real processes that are killed there. The names
// are those of the crash points of a hold.
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { BillingService, OutcomeCode } from "@gr/proto/billing";
import {
  connectRedis,
  createLogger,
  createRemoteTransport,
  createServiceClient,
  type Redis,
  systemClock,
} from "@gr/runtime";
import { freePort, RedisLine, startChild, testRedis, until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import {
  type BillingProcess,
  type BillingUnderTest,
  startBilling,
  startBillingOn,
} from "../test/start-billing.ts";
import { deposit, openWallet, place, postOne, putSpender, type Wallet } from "../test/wallet.ts";
import { NUMBERS_LIFETIME_MS } from "./spend-mirror.ts";

const ENTRY = fileURLToPath(new URL("../main.ts", import.meta.url));
const SECRET = "internal-secret-of-the-billing-tests-0123456789";
const { DONE, INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED } = OutcomeCode;

const PATIENCE = { timeoutMs: 60_000 };

let ledger: BillingUnderTest;
let other: BillingProcess;
let redisUrl: string;
let redis: Redis;
beforeAll(async () => {
  ledger = await startBilling();
  redisUrl = (await testRedis()).url;
  const log = createLogger("silent", "test");
  redis = await connectRedis({ url: redisUrl, name: "test", log, commandTimeoutMs: 10_000 });
  other = await startBillingOn(ledger.url, undefined, { REDIS_URL: redisUrl, REDIS_TIMEOUT_MS: "10000" });
});
afterAll(async () => {
  expect((await ledger.inProcess.verifyLedger({})).differences).toEqual([]);
  await other.stop();
  redis.disconnect();
  await ledger.stop();
});

/** Billing as a process of its own that can be killed. @param url of its Redis */
async function child(url: string) {
  const rpcPort = String(await freePort());
  const { kill } = await startChild(ENTRY, {
    DATABASE_URL: ledger.url,
    REDIS_URL: url,
    REDIS_TIMEOUT_MS: "900",
    INTERNAL_AUTH_SECRET: SECRET,
    SERVICE_RPC_PORT: rpcPort,
    LOG_LEVEL: "silent",
  });
  const transport = createRemoteTransport(`http://127.0.0.1:${rpcPort}`, SECRET, systemClock);
  return { billing: createServiceClient(BillingService, "billing", transport), kill };
}

/** A hold that is younger than any numbers, as far as its id says. */
const youngPlace = (wallet: Wallet, credits: bigint) =>
  place(wallet, credits, { holdId: uuidv7({ msecs: Date.now() + 60_000 }) });

test("C1: a crash after Redis was asked and before PostgreSQL committed leaves nothing in either", async () => {
  const mine = await openWallet(other.billing, 100n);
  const dying = await child(redisUrl);
  // From now on the process asks Redis about this spender.
  expect(await postOne(dying.billing, youngPlace(mine, 150n))).toMatchObject({ code: INSUFFICIENT_CREDITS });
  await redis.flushdb();
  const lock = await ledger.transaction();
  try {
    await lock.query("SELECT FROM account WHERE id = $1 FOR UPDATE", [mine.accountId]);
    const unanswered = postOne(dying.billing, youngPlace(mine, 60n)).then(
      () => "answered",
      () => "lost",
    );
    await ledger.waitForLocks(1);
    await dying.kill();
    expect(await unanswered).toBe("lost");
    expect(await redis.keys("*")).toEqual([]);
    // PostgreSQL notices the lost client when its statement ends.
    await ledger.db.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
  } finally {
    await lock.query("ROLLBACK");
    await lock.end();
  }
  expect(await postOne(other.billing, youngPlace(mine, 100n))).toMatchObject({ code: DONE });
});

test("C7: a crash after a commit and before Redis leaves at most numbers that die within a second", async () => {
  const mine = await openWallet(other.billing, 100n);
  const line = await RedisLine.to(redisUrl);
  const dying = await child(line.url);
  try {
    expect(await postOne(other.billing, youngPlace(mine, 150n))).toMatchObject({
      code: INSUFFICIENT_CREDITS,
    });
    line.freeze();
    const unanswered = deposit(dying.billing, mine.accountId, 100n).catch(() => undefined);
    await until(
      async () => (await other.billing.getCredits({ accountId: mine.accountId })).depositedCredits === 200n,
      PATIENCE,
    );
    await dying.kill();
    await unanswered;
  } finally {
    await line.close();
  }
  const [name = ""] = await redis.keys(`*{${mine.accountId}}*`);
  // Gone, or about to go by itself.
  if (name !== "") expect(await redis.pttl(name)).toBeLessThanOrEqual(NUMBERS_LIFETIME_MS);
  await until(async () => (await redis.keys(`*{${mine.accountId}}*`)).length === 0, PATIENCE);
  expect(await postOne(other.billing, youngPlace(mine, 150n))).toMatchObject({ code: DONE });
});

test("C11: a change that is made again, because its answer was lost, counts once and has nobody refused wrongly", async () => {
  const mine = await openWallet(other.billing, 100n);
  const dying = await child(redisUrl);
  const depositId = randomUUID();
  const change = async (billing: BillingProcess["billing"]) => {
    await deposit(billing, mine.accountId, 100n, depositId);
    await putSpender(billing, mine.accountId, { spenderId: mine.spenderId, capCredits: 150n, revision: 1n });
  };
  // Committed, and Redis was told; what nobody has heard is the answer.
  await change(dying.billing);
  await dying.kill();
  const refused = youngPlace(mine, 160n);
  const numbers = `spend:{${mine.accountId}}`;
  await until(async () => {
    expect(await postOne(other.billing, refused)).toMatchObject({ code: SPEND_LIMIT_EXCEEDED });
    return (await redis.exists(numbers)) === 1;
  }, PATIENCE);
  await change(other.billing);
  expect(await redis.exists(numbers)).toBe(0);
  expect(await other.billing.getCredits({ accountId: mine.accountId })).toMatchObject({
    depositedCredits: 200n,
  });
  expect(await postOne(other.billing, refused)).toMatchObject({ code: SPEND_LIMIT_EXCEEDED });
  expect(await postOne(other.billing, youngPlace(mine, 150n))).toMatchObject({ code: DONE });
});
