// Webhooks about the end of asynchronous requests, from the request to the customer's server, and events of other
// services by RPC. Clients that others wrote check the signatures.
import { randomUUID } from "node:crypto";
import { WebhookService, WebhookState } from "@gr/proto/webhooks";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { Webhook } from "standardwebhooks";
import { createLogStore } from "./log/log-store.ts";
import { createProviders } from "./providers/configured-providers.ts";
import { caller, KEY_HEADER } from "./test/edge.ts";
import { FilmQueue } from "./test/film-queue.ts";
import {
  answerOf,
  INTERNAL_AUTH_SECRET,
  type MediaUnderTest,
  PATIENT,
  startMedia,
} from "./test/start-media.ts";
import { type Received, startWebhookReceiver, type WebhookReceiver } from "./test/webhook-receiver.ts";

const VIDEOS = "/v1/compat/videos";
const IMAGES = "/v1/compat/images/generations";
const fox = { model: "sandbox/video", prompt: "a fox" };
const picture = { model: "sandbox/image", prompt: "a fox" };
const later = { prefer: "respond-async" };
const PATIENCE = { timeoutMs: 60_000 };
const { accountId, keyId } = caller;
const otherKey = "7d9c3f1f-0f4a-4a51-9d5c-0b1f5f2e7f0f";

let simulator: RunningSimulator;
let receiver: WebhookReceiver;
let queue: FilmQueue;
let media: MediaUnderTest;
let secret: string;

beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  receiver = await startWebhookReceiver();
  media = await startMedia({
    upstreamUrl: simulator.url,
    env: { ...PATIENT, WEBHOOK_PRIVATE_ORIGINS: receiver.origin },
    providers: (...args) => new Map([...createProviders(...args), ["queue", queueNow]]),
  });
});
afterAll(async () => {
  await media?.stop();
  await receiver?.close();
  await simulator?.close();
});
beforeEach(async () => {
  queue = new FilmQueue();
  receiver.received.length = 0;
  receiver.status = 200;
  await media.db.query("TRUNCATE generation, webhook_delivery, webhook_receiver, webhook_secret");
  ({ secret } = await rpc().rotateWebhookSecret({ accountId }));
});
afterEach(() => {
  queue.done = true;
});

/** The queue of the test that runs. */
const queueNow: FilmQueue["provider"] = {
  name: "queue",
  kinds: {
    video: { mostAtOnce: 1, submit: (job, signal) => makerOf(queue).submit(job, signal) },
  },
  poll: (operation, signal) => queue.provider.poll(operation, signal),
  cancel: (operation, signal) => queue.provider.cancel(operation, signal),
};
function makerOf({ provider }: FilmQueue) {
  const { video } = provider.kinds;
  if (video === undefined) throw new Error("the queue makes videos");
  return video;
}

const rpc = () => {
  const transport = createRemoteTransport(media.rpcUrl(), INTERNAL_AUTH_SECRET, systemClock);
  return createServiceClient(WebhookService, "media-generation", transport);
};
const hook = (path = "/hook") => receiver.origin + path;

async function received(count = 1): Promise<Received[]> {
  await until(() => receiver.received.length >= count, PATIENCE);
  return receiver.received;
}

const deliveriesOf = async (query = "", key = keyId) =>
  answerOf(await fetch(`${media.url()}/v1/webhooks/deliveries${query}`, { headers: { [KEY_HEADER]: key } }));
const redeliver = async (id: string, key = keyId) =>
  answerOf(
    await fetch(`${media.url()}/v1/webhooks/deliveries/${id}/redeliver`, {
      method: "POST",
      headers: { [KEY_HEADER]: key },
    }),
  );

describe("the end of a job", () => {
  test("reaches the address of its request, signed; the clients of OpenAI and Standard Webhooks accept it", async () => {
    const { body: job } = await media.generate({ ...fox, callback_url: hook("/mine?a=b") }, VIDEOS);
    expect((await deliveriesOf()).body.data).toEqual([]);
    queue.done = true;
    const [message] = await received();
    if (message === undefined) throw new Error("no message");
    expect(message.path).toBe("/mine?a=b");
    expect(message.body).toMatchObject({
      id: `evt_${job.id}`,
      object: "event",
      type: "video.completed",
      data: { id: job.id, kind: "video", status: "completed", model: "sandbox/video" },
    });
    new Webhook(secret).verify(message.text, message.headers);
    const client = new OpenAI({ apiKey: "none", webhookSecret: secret });
    const event = await client.webhooks.unwrap(message.text, message.headers);
    expect(event).toMatchObject({ type: "video.completed", data: { id: job.id } });
    const forged = { ...message.headers, "webhook-id": `evt_${randomUUID()}` };
    await expect(client.webhooks.unwrap(message.text, forged)).rejects.toThrow();
    await until(async () => (await deliveriesOf()).body.data[0]?.status === "delivered", PATIENCE);
    expect((await deliveriesOf("?status=delivered")).body.data).toMatchObject([
      { id: `evt_${job.id}`, attempts: 1, last_status: 200, url: hook("/mine?a=b"), next_attempt_at: null },
    ]);
    expect(JSON.stringify(message.body)).not.toContain("a fox");
  });

  test("is told of a failed and of a cancelled video too, once", async () => {
    queue.failure = "failed";
    const { body: failed } = await media.generate({ ...fox, callback_url: hook() }, VIDEOS);
    expect((await received(1))[0]?.body).toMatchObject({ type: "video.failed", data: { id: failed.id } });
    queue.failure = undefined;
    const { body: cancelled } = await media.generate({ ...fox, callback_url: hook() }, VIDEOS);
    await fetch(`${media.url()}${VIDEOS}/${cancelled.id}`, { method: "DELETE" });
    expect((await received(2))[1]?.body).toMatchObject({ type: "video.failed", data: { id: cancelled.id } });
    await until(() => media.billing.openHolds.length === 0, PATIENCE);
    expect((await media.db.query("SELECT FROM webhook_delivery")).rowCount).toBe(2);
  });

  test("of an asynchronous image reaches its address, after its charge", async () => {
    const { body } = await media.generate({ ...picture, callback_url: hook() }, IMAGES, later);
    const [message] = await received();
    expect(message?.body).toMatchObject({ type: "image.completed", data: { id: body.id, kind: "image" } });
    expect((await media.logged(body.id)).body).toMatchObject({ status: "succeeded", cost: 0.01 });
  });

  test("goes to the default when the address of a form is empty", async () => {
    queue.done = true;
    await rpc().setWebhookReceiver({ accountId, url: hook("/account") });
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...fox, callback_url: "" })) form.append(name, value);
    expect((await fetch(media.url() + VIDEOS, { method: "POST", body: form })).status).toBe(202);
    expect((await received(1)).map(({ path }) => path)).toEqual(["/account"]);
  });

  test("goes to the default of the key, else of the account, else nowhere", async () => {
    queue.done = true;
    await media.generate(fox, VIDEOS);
    await rpc().setWebhookReceiver({ accountId, url: hook("/account") });
    await media.generate(fox, VIDEOS);
    expect((await received(1)).map(({ path }) => path)).toEqual(["/account"]);
    await rpc().setWebhookReceiver({ accountId, keyId, url: hook("/key") });
    await media.generate(fox, VIDEOS);
    await media.generate(fox, VIDEOS, { [KEY_HEADER]: otherKey });
    await received(3);
    expect(receiver.received.map(({ path }) => path).toSorted()).toEqual(["/account", "/account", "/key"]);
    expect(await rpc().getWebhookSettings({ accountId })).toMatchObject({
      receivers: [
        { keyId: "", url: hook("/account") },
        { keyId, url: hook("/key") },
      ],
    });
    await rpc().setWebhookReceiver({ accountId, keyId, url: "" });
    await rpc().setWebhookReceiver({ accountId, url: "" });
    await media.generate(fox, VIDEOS);
    await until(() => media.billing.openHolds.length === 0, PATIENCE);
    expect((await media.db.query("SELECT FROM webhook_delivery")).rowCount).toBe(3);
  });

  test("counts in the claim of an Idempotency-Key", async () => {
    const key = { "idempotency-key": "film" };
    const first = await media.generate({ ...fox, callback_url: hook() }, VIDEOS, key);
    expect((await media.generate({ ...fox, callback_url: hook() }, VIDEOS, key)).body.id).toBe(first.body.id);
    expect((await media.generate({ ...fox, callback_url: hook("/other") }, VIDEOS, key)).status).toBe(422);
  });
});

describe("an address", () => {
  test.each([
    "http://127.0.0.1/",
    "http://169.254.169.254/x",
    "http://[::1]/",
    "ftp://a.example/",
    "no address",
  ])("%s is refused before anything is held", async (callback_url) => {
    const { status, body } = await media.generate({ ...fox, callback_url }, VIDEOS);
    expect([status, body.error.code, body.error.param]).toEqual([400, "url_not_allowed", "callback_url"]);
    expect(await media.row()).toBeUndefined();
    const set = rpc().setWebhookReceiver({ accountId, url: callback_url });
    await expect(set).rejects.toMatchObject({ reason: "url_not_allowed" });
  });

  test("with a private host behind its name is refused when it is used, and tried once", async () => {
    const { body } = await media.generate({ ...picture, callback_url: "http://localhost/" }, IMAGES, later);
    await until(async () => (await deliveriesOf()).body.data[0]?.attempts === 1, PATIENCE);
    const [delivery] = (await deliveriesOf()).body.data;
    expect(delivery).toMatchObject({ id: `evt_${body.id}`, last_status: null });
    expect(delivery.last_error).not.toBeNull();
  });

  test("of a request whose client waits is refused, and one too long", async () => {
    const waiting = await media.generate({ ...picture, callback_url: hook() });
    expect([waiting.status, waiting.body.error.param]).toEqual([400, "callback_url"]);
    const long = await media.generate({ ...fox, callback_url: hook(`/${"a".repeat(3_000)}`) }, VIDEOS);
    expect([long.status, long.body.error.param]).toEqual([400, "callback_url"]);
  });

  test("that redirects is not followed", async () => {
    queue.done = true;
    receiver.status = 302;
    await media.generate({ ...fox, callback_url: hook() }, VIDEOS);
    await until(async () => (await deliveriesOf()).body.data[0]?.attempts === 1, PATIENCE);
    expect((await deliveriesOf()).body.data).toMatchObject([{ status: "pending", last_status: 302 }]);
    expect(receiver.received).toHaveLength(1);
  });
});

describe("the log of deliveries", () => {
  test("belongs to the key of the job; its owner redelivers", async () => {
    queue.done = true;
    receiver.status = 410;
    const { body } = await media.generate({ ...fox, callback_url: hook() }, VIDEOS);
    await until(async () => (await deliveriesOf()).body.data[0]?.status === "failed", PATIENCE);
    const id = `evt_${body.id}`;
    expect((await deliveriesOf("", otherKey)).body.data).toEqual([]);
    expect((await redeliver(id, otherKey)).status).toBe(404);
    expect((await redeliver("none")).status).toBe(404);
    expect((await redeliver(id)).status).toBe(429);
    await media.db.query("UPDATE webhook_delivery SET last_attempt_at = now() - interval '2 minutes'");
    receiver.status = 200;
    expect(await redeliver(id)).toMatchObject({ status: 202, body: { status: "pending", attempts: 0 } });
    await until(async () => (await deliveriesOf()).body.data[0]?.status === "delivered", PATIENCE);
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([id, id]);
  });

  test("has pages, and refuses a cursor of another key", async () => {
    queue.done = true;
    for (let n = 0; n < 3; n += 1) await media.generate({ ...fox, callback_url: hook() }, VIDEOS);
    await received(3);
    const page = (await deliveriesOf("?limit=2")).body;
    expect([page.data.length, page.has_more]).toEqual([2, true]);
    const rest = (await deliveriesOf(`?limit=2&after=${page.last_id}`)).body;
    expect([rest.data.length, rest.has_more]).toEqual([1, false]);
    expect((await deliveriesOf(`?after=${page.last_id}`, otherKey)).status).toBe(404);
    for (const query of ["?limit=0", "?status=lost"]) expect((await deliveriesOf(query)).status).toBe(400);
  });
});

describe("an event of another service", () => {
  const event = { accountId, type: "budget.exceeded", data: '{"limit":"5.00"}' };

  test("is delivered to the account's address, once for each id", async () => {
    const id = randomUUID();
    expect(await rpc().sendEvent({ ...event, id })).toMatchObject({ accepted: false });
    await rpc().setWebhookReceiver({ accountId, url: hook() });
    for (let n = 0; n < 2; n += 1)
      expect(await rpc().sendEvent({ ...event, id })).toMatchObject({ accepted: true });
    const [message] = await received();
    new Webhook(secret).verify(message?.text ?? "", message?.headers ?? {});
    expect(message?.body).toMatchObject({
      id: `evt_${id}`,
      type: "budget.exceeded",
      data: { limit: "5.00" },
    });
    await until(async () => (await listed())[0]?.state === WebhookState.DELIVERED, PATIENCE);
    expect(await listed()).toMatchObject([{ id: `evt_${id}`, keyId: "", lastStatus: 200, attempts: 1 }]);
    expect((await deliveriesOf()).body.data).toEqual([]);
    expect(
      (
        await rpc()
          .redeliverWebhook({ accountId: randomUUID(), id })
          .catch((error) => error)
      ).reason,
    ).toBe("delivery_not_found");
    expect(receiver.received).toHaveLength(1);
  });

  const listed = async () => (await rpc().listWebhookDeliveries({ accountId })).deliveries;

  test.each([
    [{ data: "[]" }, "data"],
    [{ data: "{" }, "data"],
    [{ data: JSON.stringify({ text: "a".repeat(20_000) }) }, "data"],
    [{ type: "Budget Exceeded" }, "type"],
    [{ id: "7" }, "id"],
    [{ accountId: "7" }, "account_id"],
    [{ url: "http://10.0.0.1/" }, "url"],
  ])("with %j is refused", async (changed, param) => {
    const error = await rpc()
      .sendEvent({ ...event, id: randomUUID(), url: hook(), ...changed })
      .catch((refusal) => refusal);
    expect(error.param).toBe(param);
  });
});

test("a job that ends after a restart reaches its receiver, and a delivery outlives the process", async () => {
  const { body } = await media.generate({ ...fox, callback_url: hook() }, VIDEOS);
  await until(async () => (await media.row())["operations"] !== null, PATIENCE);
  await media.restart();
  receiver.status = 503;
  queue.done = true;
  await received(1);
  await until(async () => (await deliveriesOf()).body.data[0]?.attempts === 1, PATIENCE);
  await media.stopProcess();
  await media.db.query("UPDATE webhook_delivery SET due_at = now()");
  receiver.status = 200;
  await media.restart();
  await until(async () => (await deliveriesOf()).body.data[0]?.status === "delivered", PATIENCE);
  expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"]))).toEqual(
    new Set([`evt_${body.id}`]),
  );
  const entry = await createLogStore(media.db).find({ accountId }, body.id);
  expect(entry?.status).toBe("succeeded");
});
