// Webhooks of an account over HTTP: a management key sets the default receivers, rotates the signing secret, and reads and
// repeats all deliveries. An API key may do none of that.
import { randomUUID } from "node:crypto";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { Webhook } from "standardwebhooks";
import { ACCOUNT_HEADER, caller, KEY_HEADER, MANAGEMENT_HEADER } from "./test/edge.ts";
import { answerOf, type MediaUnderTest, PATIENT, startMedia } from "./test/start-media.ts";
import { startWebhookReceiver, type WebhookReceiver } from "./test/webhook-receiver.ts";
import { MOST_RECEIVERS } from "./webhooks/receiver-store.ts";

const WEBHOOKS = "/v1/account/webhooks";
const IMAGES = "/v1/compat/images/generations";
const PATIENCE = { timeoutMs: 60_000 };
const { accountId, keyId } = caller;
const otherKey = "7d9c3f1f-0f4a-4a51-9d5c-0b1f5f2e7f0f";

let simulator: RunningSimulator;
let receiver: WebhookReceiver;
let media: MediaUnderTest;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  receiver = await startWebhookReceiver();
  media = await startMedia({
    upstreamUrl: simulator.url,
    env: { ...PATIENT, WEBHOOK_PRIVATE_ORIGINS: receiver.origin },
  });
});
afterAll(async () => {
  await media?.stop();
  await receiver?.close();
  await simulator?.close();
});
beforeEach(async () => {
  receiver.received.length = 0;
  receiver.status = 200;
  await media.db.query("TRUNCATE generation, webhook_delivery, webhook_receiver, webhook_secret");
});

const manager = { [MANAGEMENT_HEADER]: "yes" };
async function manage(
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = manager,
) {
  const content = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(media.url() + WEBHOOKS + path, {
    method,
    headers: { ...content, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return answerOf(response);
}
const finish = (key: string) =>
  media.generate({ model: "sandbox/image", prompt: "a fox" }, IMAGES, {
    prefer: "respond-async",
    [KEY_HEADER]: key,
  });
const hook = (path: string) => receiver.origin + path;

test("receivers of the account and of its keys are set, replaced, listed in pages, and deleted", async () => {
  const own = { id: "account", object: "webhook.receiver", key_id: null, url: hook("/account") };
  const ofKey = { id: keyId, object: "webhook.receiver", key_id: keyId, url: hook("/key") };
  const first = await manage("POST", "/receivers", { url: own.url });
  expect([first.status, first.body]).toEqual([201, own]);
  await manage("POST", "/receivers", { url: hook("/before"), key_id: keyId });
  expect((await manage("POST", "/receivers", { url: ofKey.url, key_id: keyId })).body).toEqual(ofKey);
  expect((await manage("GET", "/receivers")).body).toEqual({
    object: "list",
    data: [own, ofKey],
    has_more: false,
  });
  const page = await manage("GET", "/receivers?limit=1");
  expect([page.body.data, page.body.has_more]).toEqual([[own], true]);
  expect((await manage("GET", "/receivers?limit=1&after=account")).body.data).toEqual([ofKey]);
  expect((await manage("DELETE", `/receivers/${keyId}`)).body).toEqual({ id: keyId, deleted: true });
  for (const id of [keyId, otherKey, "none", "%00"]) {
    const { status, body } = await manage("DELETE", `/receivers/${id}`);
    expect([status, body.error.param]).toEqual([404, "id"]);
  }
  expect((await manage("GET", "/receivers")).body.data).toEqual([own]);
});

test("jobs of a key reach the receiver of the key, else that of the account, signed with the secret", async () => {
  await manage("POST", "/receivers", { url: hook("/account") });
  await manage("POST", "/receivers", { url: hook("/key"), key_id: keyId });
  const rotated = await manage("POST", "/secrets");
  expect([rotated.status, rotated.headers.get("cache-control")]).toEqual([201, "no-store"]);
  await finish(keyId);
  await finish(otherKey);
  await until(() => receiver.received.length >= 2, PATIENCE);
  expect(receiver.received.map(({ path }) => path).sort()).toEqual(["/account", "/key"]);
  for (const { text, headers } of receiver.received) new Webhook(rotated.body.secret).verify(text, headers);
});

test("a rotation returns the new secret once; the one before is listed with its end", async () => {
  expect((await manage("GET", "/secrets")).body).toEqual({ object: "list", data: [] });
  const { body: first } = await manage("POST", "/secrets");
  const { body: second } = await manage("POST", "/secrets");
  expect(second.secret).toMatch(/^whsec_/);
  expect(second.secret).not.toBe(first.secret);
  const { data } = (await manage("GET", "/secrets")).body;
  expect(data).toEqual([
    { object: "webhook.secret", created_at: second.created_at, expires_at: null },
    { object: "webhook.secret", created_at: first.created_at, expires_at: expect.any(String) },
  ]);
});

test("the deliveries of all keys are listed, those of one key on request, and ended ones are sent again", async () => {
  await manage("POST", "/receivers", { url: hook("/account") });
  await finish(keyId);
  await finish(otherKey);
  const listed = async (query = "") => (await manage("GET", `/deliveries${query}`)).body.data;
  const keysOf = (data: { key_id: string }[]) => data.map(({ key_id: key }) => key).sort();
  await until(async () => (await listed("?status=delivered")).length === 2, PATIENCE);
  expect(keysOf(await listed())).toEqual([keyId, otherKey].sort());
  const [mine] = await listed(`?key_id=${otherKey}`);
  expect(keysOf(await listed(`?key_id=${otherKey}`))).toEqual([otherKey]);
  expect((await manage("POST", `/deliveries/${mine.id}/redeliver`)).status).toBe(429);
  await media.db.query("UPDATE webhook_delivery SET last_attempt_at = now() - interval '1 hour'");
  const again = await manage("POST", `/deliveries/${mine.id}/redeliver`);
  expect([again.status, again.body.status, again.body.id]).toEqual([202, "pending", mine.id]);
  await until(() => receiver.received.length >= 3, PATIENCE);
  const stranger = { ...manager, [ACCOUNT_HEADER]: randomUUID() };
  expect((await manage("GET", "/deliveries", undefined, stranger)).body.data).toEqual([]);
  expect((await manage("POST", `/deliveries/${mine.id}/redeliver`, undefined, stranger)).status).toBe(404);
});

test.each([
  [{}, "url"],
  [{ url: "" }, "url"],
  [{ url: 7 }, "url"],
  [{ url: "ftp://example.com/" }, "url"],
  [{ url: "http://127.0.0.1/" }, "url"],
  [{ url: `https://example.com/${"a".repeat(3_000)}` }, "url"],
  [{ url: "https://example.com/", key_id: "none" }, "key_id"],
  [{ url: "https://example.com/", keyId }, "keyId"],
])("%j is refused by name, and sets no receiver", async (body, param) => {
  const answer = await manage("POST", "/receivers", body);
  expect([answer.status, answer.body.error.param]).toEqual([400, param]);
  expect((await manage("GET", "/receivers")).body.data).toEqual([]);
});

test("an account has a bounded number of receivers, and replaces those that it has", async () => {
  await media.db.query(
    `INSERT INTO webhook_receiver (account_id, key_id, url)
     SELECT $1, gen_random_uuid(), 'https://example.com/' FROM generate_series(1, $2)`,
    [accountId, MOST_RECEIVERS - 1],
  );
  expect((await manage("POST", "/receivers", { url: "https://example.com/" })).status).toBe(201);
  const further = await manage("POST", "/receivers", { url: "https://example.com/", key_id: keyId });
  expect([further.status, further.body.error.code]).toEqual([409, "too_many_receivers"]);
  expect((await manage("POST", "/receivers", { url: "https://example.com/2" })).status).toBe(201);
});

test("an API key has no part in any of that", async () => {
  const requests = [
    ["GET", "/receivers"],
    ["POST", "/receivers"],
    ["DELETE", "/receivers/account"],
    ["GET", "/secrets"],
    ["POST", "/secrets"],
    ["GET", "/deliveries"],
    ["POST", "/deliveries/none/redeliver"],
  ] as const;
  for (const [method, path] of requests) {
    const { status, body } = await manage(method, path, undefined, {});
    expect([method, path, status, body.error.code]).toEqual([method, path, 401, "wrong_key_kind"]);
  }
});
