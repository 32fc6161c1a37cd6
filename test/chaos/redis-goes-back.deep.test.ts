// F5, F6: Redis loses the last moments and returns older values. Its file is rolled back, or a lagging replica is
// promoted. Charges, revocations and deposits of those moments persist, since PostgreSQL decides.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, type RedisServer, startRedis } from "@gr/embedded";
import { creditsOf } from "@gr/money";
import { DepositStatus } from "@gr/proto/billing";
import { connectRedis, createLogger } from "@gr/runtime";
import { RedisLine, until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { billingOf, keysOf } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectExactBooks, expectHonestAnswers, noOpenHolds } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { chat, image, type RunningLoad, sendAll, startLoad, tally } from "./load.ts";
import type { Sent } from "./send-order.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const CACHE = fileURLToPath(new URL("../../.tools", import.meta.url));
const PASSWORD = "the-same-before-and-after";
const ALLOWED = 5;
const IMAGE_CREDITS = 100n;
const CROWD = 60;
/** Rate so low that all its holds can be listed. */
const BACKGROUND = { perSecond: 5, most: 900, together: 20 };
const SOME = 15;
const ENV = { RATE_LIMIT_MEDIA_PER_SECOND: "1000", RATE_LIMIT_TEXT_PER_SECOND: "1000" };
const PATIENCE = { timeoutMs: 180_000 };

/** A Redis with a file, which can return to an earlier moment. */
interface GoingBack {
  readonly url: string;
  /** From here on all writes will be lost. */
  mark(): Promise<void>;
  goBack(): Promise<void>;
  close(): Promise<void>;
}

/** kill -9, the append-only file of the mark, and the same address again. */
async function rolledBack(): Promise<GoingBack> {
  const folder = await mkdtemp(join(tmpdir(), "redis-back-"));
  const [dataDir, copy] = [join(folder, "data"), join(folder, "copy")];
  const port = await freePort();
  const start = () =>
    startRedis({
      cacheDir: CACHE,
      dataDir,
      port,
      password: PASSWORD,
      config: { appendonly: "yes", appendfsync: "always" },
    });
  let server = await start();
  return {
    url: server.url,
    mark: () => cp(dataDir, copy, { recursive: true }),
    goBack: async () => {
      process.kill(server.pid, "SIGKILL");
      await server.exited;
      await rm(dataDir, { recursive: true });
      await cp(copy, dataDir, { recursive: true });
      server = await start();
    },
    close: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A replica without updates since the mark is promoted after the death of its primary. */
async function replacedByReplica(): Promise<GoingBack> {
  const primary = await startRedis({ cacheDir: CACHE, password: PASSWORD });
  const { port } = new URL(primary.url);
  const replica = await startRedis({
    cacheDir: CACHE,
    password: PASSWORD,
    config: { replicaof: `127.0.0.1 ${port}`, masterauth: PASSWORD },
  });
  const line = await RedisLine.to(primary.url);
  return {
    url: line.url,
    mark: async () => {
      await untilFollowing(replica);
      await tell(replica, "REPLICAOF", "NO", "ONE");
    },
    goBack: async () => {
      process.kill(primary.pid, "SIGKILL");
      await primary.exited;
      line.leadTo(replica.url);
    },
    close: async () => {
      await line.close();
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
}

async function tell({ url }: RedisServer, command: string, ...words: string[]): Promise<string> {
  const log = createLogger("silent", "test");
  const redis = await connectRedis({ url, name: "test", log, commandTimeoutMs: 10_000 });
  try {
    return String(await redis.call(command, ...words));
  } finally {
    redis.disconnect();
  }
}

const untilFollowing = (replica: RedisServer) =>
  until(async () => (await tell(replica, "INFO", "replication")).includes("master_link_status:up"), PATIENCE);

let upstream: Upstream;
let redis: GoingBack | undefined;
let router: Router | undefined;
beforeEach(async () => {
  upstream = await startUpstream({ imageDelayMs: 50 });
});
afterEach(async () => {
  await router?.dispose();
  await redis?.close();
  await upstream?.close();
});

async function more(load: RunningLoad, count: number): Promise<void> {
  const wanted = load.sent.length + count;
  await until(() => load.sent.length >= wanted, PATIENCE);
}

test.each([
  ["after the rollback of its file", rolledBack],
  ["after the promotion of a lagging replica", replacedByReplica],
])("a Redis %s revives neither spent credit nor deleted keys, and refuses no client", async (_how, start) => {
  redis = await start();
  router = await startRouter("split", {
    sharedPostgres: true,
    env: { ...upstream.env, ...ENV, REDIS_URL: redis.url },
  });
  const { dataDir, baseUrl } = router;
  const [busy, capped, revoked, poor] = [
    await openAccount(dataDir, creditsOf("10")),
    await openAccount(dataDir, creditsOf("10")),
    await openAccount(dataDir, creditsOf("10")),
    await openAccount(dataDir, IMAGE_CREDITS),
  ];
  const key = {
    busy: await mintKey(dataDir, busy),
    capped: await mintKey(dataDir, capped, { cap: IMAGE_CREDITS * BigInt(ALLOWED) }),
    revoked: await mintKey(dataDir, revoked),
    poor: await mintKey(dataDir, poor),
  };
  const images = ({ secret }: { secret: string }, count: number) =>
    sendAll(
      Array.from({ length: count }, (_, index) => ({ ...image(`image ${index}`), baseUrl, secret })),
    ).all();
  const answers = new Map<string, Sent[]>();
  const note = (account: string, sent: readonly Sent[]) => {
    answers.set(account, [...(answers.get(account) ?? []), ...sent]);
    return tally(sent);
  };

  const load = startLoad(
    (index) => ({ ...chat(10, index % 2 === 0), baseUrl, secret: key.busy.secret }),
    BACKGROUND,
  );
  try {
    await more(load, SOME);
    expect(note(revoked, await images(key.revoked, 1))).toEqual({ 200: 1 });
    await redis.mark();
    // Redis will lose all writes from here on.
    expect(note(capped, await images(key.capped, CROWD))).toEqual({
      200: ALLOWED,
      "402 spend_limit_exceeded": CROWD - ALLOWED,
    });
    expect(note(poor, await images(key.poor, 1))).toEqual({ 200: 1 });
    expect(note(poor, await images(key.poor, 3))).toEqual({ "402 insufficient_credits": 3 });
    await (await keysOf(dataDir)).deleteKey({ accountId: revoked, keyId: key.revoked.keyId });
    await (await billingOf(dataDir)).putDeposit({
      depositId: "b1a2c3d4-0000-4000-8000-000000000001",
      accountId: poor,
      credits: 2n * IMAGE_CREDITS,
      status: DepositStatus.COMPLETED,
      source: "test",
    });
    await more(load, SOME);
    await redis.goBack();

    expect(note(revoked, await images(key.revoked, 10))).toEqual({ "401 unauthorized": 10 });
    expect(note(capped, await images(key.capped, CROWD))).toEqual({ "402 spend_limit_exceeded": CROWD });
    // The credit that was added meanwhile is there, and no more.
    expect(note(poor, await images(key.poor, 2))).toEqual({ 200: 2 });
    expect(note(poor, await images(key.poor, 10))).toEqual({ "402 insufficient_credits": 10 });
    await more(load, SOME);
  } finally {
    note(busy, await load.end());
  }
  // No request is refused for want of Redis, nor for its older values.
  expect(tally(answers.get(busy) ?? [])).toEqual({ 200: load.started() });
  await noOpenHolds(dataDir, PATIENCE.timeoutMs);
  for (const [account, sent] of answers) await expectHonestAnswers(dataDir, account, sent);
  await expectExactBooks(dataDir, upstream, [busy, capped, revoked, poor]);
});
