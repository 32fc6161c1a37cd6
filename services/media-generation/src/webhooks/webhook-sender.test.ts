// The sender against real tables, with receivers in the test: each event is delivered, signed, repeated, and never lost.
import { randomUUID } from "node:crypto";
import { ManualClock, type TestDatabase, until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { Webhook } from "standardwebhooks";
import { OutboundError, type OutboundPost } from "../providers/outbound.ts";
import { migratedDatabase } from "../test/migrated-database.ts";
import { createDeliveryStore, type DeliveryStore, MOST_PENDING } from "./delivery-store.ts";
import { createReceiverStore, ROTATION_MS } from "./receiver-store.ts";
import { redeliver } from "./redeliver.ts";
import { MOST_ATTEMPTS } from "./retry-schedule.ts";
import { secretText } from "./signing-secret.ts";
import { WebhookSender } from "./webhook-sender.ts";

const DAY_MS = 86_400_000;
const PATIENCE = { timeoutMs: 60_000 };
const account = randomUUID();
type Answer = number | { status: number; retryAfter: string } | OutboundError | Promise<number>;

let database: TestDatabase;
let db: pg.Pool;
let deliveries: DeliveryStore;
let receivers: ReturnType<typeof createReceiverStore>;
let clock: ManualClock;
let posts: OutboundPost[];
/** Answers by the host of the address; 200 when absent. */
let answers: Map<string, Answer>;
let problems: unknown[];
let senders: WebhookSender[];

beforeAll(async () => {
  database = await migratedDatabase();
  db = new pg.Pool({ connectionString: database.url, max: 8, options: "-c search_path=media_generation" });
  deliveries = createDeliveryStore(db);
  receivers = createReceiverStore(db);
});
afterAll(async () => {
  await db?.end();
  await database?.drop();
});
beforeEach(async () => {
  await db.query("TRUNCATE webhook_delivery, webhook_receiver, webhook_secret");
  // Later than the rows, which the database dates.
  clock = new ManualClock(Date.now() + 60_000);
  posts = [];
  answers = new Map();
  problems = [];
  senders = [];
});

afterEach(async () => {
  for (const sender of senders) await sender.stop();
});

const post = async (sent: OutboundPost) => {
  posts.push(sent);
  const answer = answers.get(new URL(sent.url).hostname) ?? 200;
  if (sent.signal.aborted) throw new OutboundError("lost", "aborted");
  if (answer instanceof OutboundError) throw answer;
  const aborted = new Promise<never>((_, reject) => {
    sent.signal.addEventListener("abort", () => reject(new OutboundError("lost", "aborted")), { once: true });
  });
  const settled = await Promise.race([answer, aborted]);
  const { status, retryAfter } =
    typeof settled === "number" ? { status: settled, retryAfter: undefined } : settled;
  return { status, header: (name: string) => (name === "retry-after" ? retryAfter : undefined) };
};

function createSender(outbound = { post }): WebhookSender {
  const sender = new WebhookSender({
    deliveries,
    receivers,
    outbound,
    clock,
    random: () => 0,
    events: {
      delivered: () => undefined,
      notDelivered: () => undefined,
      notRecorded: (_, error) => problems.push(error),
      roundFailed: (error) => problems.push(error),
    },
  });
  senders.push(sender);
  return sender;
}

async function runRound(sender = createSender()): Promise<void> {
  await sender.round();
  await sender.settled();
}

async function add(
  url = "https://a.example/hook",
  owner = account,
  data: object = { n: 1 },
): Promise<string> {
  const id = randomUUID();
  await deliveries.add({ id, accountId: owner, keyId: "", url, type: "video.completed", data });
  return id;
}

const find = async (id: string, owner = account) => {
  const found = await deliveries.find({ accountId: owner }, id);
  if (found === undefined) throw new Error(`there is no delivery ${id}`);
  return found;
};
const verify = (secret: Buffer, sent: OutboundPost) =>
  new Webhook(secretText(secret)).verify(sent.body, { ...sent.headers });

describe("a delivery", () => {
  test("is sent once, signed as Standard Webhooks has it, and logged", async () => {
    clock.set(Date.now());
    const id = await add(undefined, undefined, { id: "7", text: "ü \u2028" });
    clock.advance(2_000);
    await runRound();
    await runRound();
    const [sent] = posts;
    expect(posts).toHaveLength(1);
    const [secret = Buffer.alloc(0)] = await receivers.secretsOf(account, clock.now());
    expect(sent && verify(secret, sent)).toMatchObject({
      id: `evt_${id}`,
      object: "event",
      type: "video.completed",
      data: { id: "7", text: "ü \u2028" },
    });
    expect(sent?.headers["webhook-id"]).toBe(`evt_${id}`);
    const other = new Webhook(secretText(Buffer.alloc(32, 1)));
    expect(() => sent && other.verify(sent.body, { ...sent.headers })).toThrow();
    expect(await find(id)).toMatchObject({
      state: "delivered",
      attempts: 1,
      lastStatus: 200,
      lastError: undefined,
    });
  });

  test("has the signatures of two secrets during a rotation, and of the newest afterwards", async () => {
    clock.set(Date.now());
    const [first = Buffer.alloc(0)] = await receivers.secretsOf(account, clock.now());
    const second = await receivers.rotate(account, clock.now());
    await add();
    clock.advance(1_000);
    await runRound();
    const [during] = posts;
    for (const secret of [first, second]) expect(during && verify(secret, during)).toBeDefined();
    expect(await receivers.secretAges(account, clock.now())).toHaveLength(2);
    expect(await receivers.secretsOf(account, clock.now() + ROTATION_MS)).toEqual([second]);
    const third = await receivers.rotate(account, clock.now());
    expect(await receivers.secretsOf(account, clock.now())).toEqual([third, second]);
  });

  test("is repeated in the schedule under one id, with the same body, until the receiver accepts it", async () => {
    const id = await add();
    answers.set("a.example", 503);
    await runRound();
    expect(await find(id)).toMatchObject({ state: "pending", attempts: 1, lastStatus: 503 });
    await runRound();
    expect(posts).toHaveLength(1);
    clock.set((await find(id)).dueAt);
    await runRound();
    answers.set("a.example", 204);
    clock.set((await find(id)).dueAt);
    await runRound();
    expect(await find(id)).toMatchObject({
      state: "delivered",
      attempts: 3,
      lastStatus: 204,
      lastError: undefined,
    });
    expect(new Set(posts.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([`evt_${id}`]));
    expect(new Set(posts.map(({ body }) => body)).size).toBe(1);
    const stamps = posts.map(({ headers }) => headers["webhook-timestamp"]);
    expect(new Set(stamps).size).toBe(posts.length);
  });

  test("is given up after its last attempt, and redelivered on request, with all attempts again", async () => {
    const id = await add();
    answers.set("a.example", 500);
    for (let n = 0; n < MOST_ATTEMPTS; n += 1) {
      clock.set(Math.max(clock.now(), (await find(id)).dueAt));
      await runRound();
    }
    expect(await find(id)).toMatchObject({ state: "failed", attempts: MOST_ATTEMPTS, lastStatus: 500 });
    clock.advance(DAY_MS);
    await runRound();
    expect(posts).toHaveLength(MOST_ATTEMPTS);
    answers.delete("a.example");
    expect(await redeliver({ deliveries, clock }, { accountId: account }, `evt_${id}`)).toMatchObject({
      state: "pending",
      attempts: 0,
    });
    await runRound();
    expect(await find(id)).toMatchObject({ state: "delivered", attempts: 1 });
    await expect(redeliver({ deliveries, clock }, { accountId: account }, id)).rejects.toMatchObject({
      reason: "rate_limit_exceeded",
    });
    await expect(redeliver({ deliveries, clock }, { accountId: randomUUID() }, id)).rejects.toMatchObject({
      reason: "delivery_not_found",
    });
  });

  test.each<[string, Answer, object]>([
    ["410", 410, { state: "failed", lastStatus: 410 }],
    ["a redirect", 302, { state: "pending", lastStatus: 302 }],
    ["no connection", new OutboundError("not_sent", "x"), { state: "pending", lastStatus: undefined }],
    ["a private address", new OutboundError("refused", "x"), { state: "failed", lastStatus: undefined }],
  ])("that gets %s is repeated or not", async (_, answer, expected) => {
    const id = await add();
    answers.set("a.example", answer);
    await runRound();
    expect(await find(id)).toMatchObject({ attempts: 1, ...expected });
    expect((await find(id)).lastError).toBeDefined();
  });

  test("waits as long as its receiver asks", async () => {
    const id = await add();
    const wanted = new Date(Math.ceil(clock.now() / 1_000) * 1_000 + 7_200_000);
    answers.set("a.example", { status: 429, retryAfter: wanted.toUTCString() } as Answer);
    await runRound();
    expect((await find(id)).dueAt).toBe(wanted.getTime());
  });
});

describe("a slow receiver", () => {
  const slowPosts = () => posts.filter(({ url }) => url.includes("slow"));

  test("delays neither another receiver of its account nor another account", async () => {
    const silence = Promise.withResolvers<number>();
    answers.set("slow.example", silence.promise);
    for (let n = 0; n < 300; n += 1) await add("https://slow.example/hook");
    const other = randomUUID();
    const [mine, others] = [await add("https://fast.example/"), await add("https://fast.example/", other)];
    const sender = createSender();
    await sender.round();
    await until(async () => (await find(mine)).state === "delivered", PATIENCE);
    await until(async () => (await find(others, other)).state === "delivered", PATIENCE);
    await until(() => slowPosts().length >= 4, PATIENCE);
    expect(slowPosts()).toHaveLength(4);
    silence.resolve(200);
    await sender.stop();
    expect(problems).toEqual([]);
  });

  test("with many addresses leaves places for other accounts", async () => {
    const silence = Promise.withResolvers<number>();
    for (let n = 0; n < 100; n += 1) {
      answers.set(`slow-${n}.example`, silence.promise);
      await add(`https://slow-${n}.example/hook`);
    }
    const other = randomUUID();
    const theirs = await add("https://fast.example/", other);
    const sender = createSender();
    await sender.round();
    await until(async () => (await find(theirs, other)).state === "delivered", PATIENCE);
    await until(() => slowPosts().length >= 32, PATIENCE);
    expect(slowPosts()).toHaveLength(32);
    await sender.stop();
  });
});

describe("no delivery is lost", () => {
  test("when the process stops during an attempt: the next one repeats it at once", async () => {
    const id = await add();
    answers.set("a.example", new Promise<number>(() => undefined));
    const sender = createSender();
    await sender.round();
    await until(() => posts.length === 1, PATIENCE);
    await sender.stop();
    expect(await find(id)).toMatchObject({ state: "pending", attempts: 0 });
    answers.delete("a.example");
    await runRound();
    expect(await find(id)).toMatchObject({ state: "delivered", attempts: 1 });
  });

  test("when the process dies during an attempt: another one repeats it after the lease, and not before", async () => {
    const id = await add();
    answers.set("a.example", new Promise<number>(() => undefined));
    const dead = createSender();
    await dead.round();
    await until(() => posts.length === 1, PATIENCE);
    answers.delete("a.example");
    await runRound();
    expect(posts).toHaveLength(1);
    clock.advance(60_001);
    await runRound();
    expect(await find(id)).toMatchObject({ state: "delivered" });
    expect(posts.map(({ headers }) => headers["webhook-id"])).toEqual([`evt_${id}`, `evt_${id}`]);
    await dead.stop();
    expect(await find(id)).toMatchObject({ state: "delivered" });
  });

  test("when several processes send at the same time, each event is sent by one", async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, (_, n) => add(`https://r${n % 20}.example/`)));
    const both = [createSender(), createSender(), createSender()];
    for (let n = 0; n < 20; n += 1) await Promise.all(both.map((sender) => runRound(sender)));
    for (const id of ids) expect(await find(id)).toMatchObject({ state: "delivered", attempts: 1 });
    expect(posts.length).toBe(ids.length);
    expect(problems).toEqual([]);
  });

  test("while its loop runs, it sends a burst to one receiver without waiting for the next round", async () => {
    const ids = await Promise.all(Array.from({ length: 60 }, () => add()));
    const sender = createSender();
    sender.start();
    const isDone = async () => (await find(ids.at(-1) ?? "")).state === "delivered";
    await until(isDone, PATIENCE);
    await until(() => posts.length === ids.length, PATIENCE);
    await sender.stop();
    expect(problems).toEqual([]);
  });

  test("the same event twice is one delivery", async () => {
    const event = { id: randomUUID(), accountId: account, keyId: "", url: "https://a.example/", type: "x" };
    await deliveries.add({ ...event, data: { n: 1 } });
    await deliveries.add({ ...event, data: { n: 2 } });
    await runRound();
    expect(posts.map(({ body }) => JSON.parse(body).data)).toEqual([{ n: 1 }]);
  });
});

describe("the log", () => {
  test("bounds the deliveries of an account that wait; further ones are failed and can be redelivered", async () => {
    await db.query(
      `INSERT INTO webhook_delivery (id, account_id, key_id, url, type, data, state)
       SELECT gen_random_uuid(), $1, '', 'https://a.example/', 'x', '{}', 'pending' FROM generate_series(1, $2)`,
      [account, MOST_PENDING],
    );
    const id = await add();
    expect(await find(id)).toMatchObject({ state: "failed", attempts: 0 });
    const other = randomUUID();
    expect(await find(await add("https://a.example/", other), other)).toMatchObject({ state: "pending" });
    expect(await redeliver({ deliveries, clock }, { accountId: account }, id)).toMatchObject({
      state: "pending",
    });
  });

  test("keeps ended deliveries for 30 days, and pending ones for ever", async () => {
    const delivered = await add();
    await runRound();
    const pending = await add();
    clock.advance(29 * DAY_MS);
    await createSender().sweep();
    expect(await find(delivered)).toMatchObject({ state: "delivered" });
    clock.advance(2 * DAY_MS);
    await createSender().sweep();
    expect(await deliveries.find({ accountId: account }, delivered)).toBeUndefined();
    expect(await find(pending)).toMatchObject({ state: "pending" });
  });

  test("is read in pages, by key and by state", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const id = randomUUID();
      const event = {
        id,
        accountId: account,
        keyId: `k${n % 2}`,
        url: "https://a.example/",
        type: "x",
        data: {},
      };
      await deliveries.add(event);
      // Within one millisecond, which is the resolution of a Date.
      await db.query("UPDATE webhook_delivery SET created_at = $2 WHERE id = $1", [
        id,
        `2026-01-01T00:00:00.00000${n + 1}Z`,
      ]);
      ids.unshift(id);
    }
    const listed = async (keyId?: string, before?: string) =>
      (await deliveries.list({ accountId: account, keyId }, undefined, before, 2)).map(({ id }) => id);
    expect(await listed()).toEqual(ids.slice(0, 2));
    expect(await listed(undefined, ids[1])).toEqual(ids.slice(2));
    expect(await listed("k1")).toEqual([ids[1]]);
    expect(await deliveries.list({ accountId: account }, "failed", undefined, 9)).toEqual([]);
    expect(await deliveries.list({ accountId: randomUUID() }, undefined, undefined, 9)).toEqual([]);
  });
});
