// Requests without a waiting client: refused at once, or certain to be worked on, even if a process stops. A cancelled
// request is free, unless the cancellation arrives too late.
import { HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createLogStore } from "./log/log-store.ts";
import type { Progress } from "./providers/provider.ts";
import { caller } from "./test/edge.ts";
import { FilmQueue, film } from "./test/film-queue.ts";
import { type MediaUnderTest, movesOf, PATIENT, startMedia } from "./test/start-media.ts";
import { mp4Of } from "./test/videos.ts";

const PATH = "/v1/compat/videos/generations";
const fox = { model: "sandbox/video", prompt: "a fox" };
const PATIENCE = { timeoutMs: 60_000 };

let queue: FilmQueue;
let media: MediaUnderTest;
beforeEach(async () => {
  queue = new FilmQueue();
  media = await startMedia({
    upstreamUrl: "http://127.0.0.1:9",
    env: PATIENT,
    providers: () => new Map([["queue", queue.provider]]),
  });
});
afterEach(() => media.stop());

const ask = (headers: Readonly<Record<string, string>> = {}, fields: object = {}) =>
  media.generate({ ...fox, ...fields }, PATH, { prefer: "respond-async", ...headers });

async function remove(id: string) {
  const { status } = await fetch(`${media.url()}/v1/generations/${id}`, { method: "DELETE" });
  return status;
}

/** Returns the entry when it has the expected status. */
async function entryWith(id: string, status: string) {
  await until(async () => (await media.logged(id)).body.status === status, PATIENCE);
  return (await media.logged(id)).body;
}

describe("a request with Prefer: respond-async", () => {
  test("is answered while it runs, as the log shows it; then made, stored and charged as ever", async () => {
    const { status, headers, body } = await ask({ prefer: "wait=5, Respond-Async" });
    expect(status).toBe(202);
    expect(headers.get("location")).toBe(`/v1/generations/${headers.get("x-request-id")}`);
    expect(headers.get("retry-after")).toMatch(/^[1-9]$/);
    expect(headers.get("preference-applied")).toBe("respond-async");
    expect(body).toMatchObject({ status: "running", data: [], cost: null, finished_at: null });
    expect(movesOf(media.billing)).toEqual(["place"]);
    expect((await media.logged(body.id)).body).toEqual(body);
    queue.done = true;
    const entry = await entryWith(body.id, "succeeded");
    expect(entry).toMatchObject({ cost: 0.2, request: { prompt: "a fox", seconds: 4 } });
    const served = await fetch(`${media.url()}/media/${String(entry.data[0].url).split("/").at(-1)}`);
    expect(Buffer.from(await served.arrayBuffer())).toEqual(mp4Of());
    expect(media.billing.charged).toBe(2_000n);
  });

  test("shows how far it is where its provider says, and no more once it is there", async () => {
    const { body } = await ask();
    expect(body.progress).toBeNull();
    const shows = (percent: number) =>
      until(async () => (await media.logged(body.id)).body.progress === percent, PATIENCE);
    queue.percent = 40;
    await shows(40);
    // Not every step is worth a write.
    queue.percent = 45;
    queue.percent = 90;
    await shows(90);
    queue.done = true;
    expect(await entryWith(body.id, "succeeded")).toMatchObject({ progress: null });
  });

  test.each([
    [{ seconds: 7 }, "seconds"],
    [{ response_format: "b64_ephemeral" }, "response_format"],
  ])("is refused at once with %j, and leaves nothing", async (fields, param) => {
    const { status, body } = await ask({}, fields);
    expect([status, body.error.param]).toEqual([400, param]);
    expect(movesOf(media.billing)).toEqual([]);
    expect(await media.row()).toBeUndefined();
  });

  test("repeated under its Idempotency-Key is the same generation, and its answer when it has ended", async () => {
    const key = { "idempotency-key": "film" };
    const first = await ask(key);
    const again = await ask(key);
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect((await ask(key, { seconds: 5 })).status).toBe(422);
    expect((await media.generate(fox, PATH, key)).status).toBe(409);
    queue.done = true;
    const entry = await entryWith(first.body.id, "succeeded");
    const last = await ask(key);
    expect(last).toMatchObject({ status: 200, body: { data: entry.data, cost: 0.2 } });
    expect(last.headers.get("location")).toBe(first.headers.get("location"));
    expect(queue.submissions).toBe(1);
  });

  test("goes on after the process has stopped and another one has begun", async () => {
    const { body } = await ask();
    await until(async () => (await media.row())["operations"] !== null, PATIENCE);
    await media.restart();
    expect((await media.logged(body.id)).body.status).toBe("running");
    queue.done = true;
    await entryWith(body.id, "succeeded");
    expect(queue.submissions).toBe(1);
    expect(media.billing.charged).toBe(2_000n);
  });
});

describe("given up by its caller", () => {
  const cancelled = { deleted: true, cost: 0, data: [], error: { code: "cancelled" } };

  test("while it is in the queue, it is cancelled at the provider, free, and leaves no prompt", async () => {
    const { body } = await ask();
    expect(await remove(body.id)).toBe(202);
    const entry = await entryWith(body.id, "cancelled");
    expect(entry).toMatchObject(cancelled);
    expect(JSON.stringify(entry)).not.toContain("a fox");
    expect(queue.cancelled).toBe(1);
    await until(() => media.billing.openHolds.length === 0, PATIENCE);
    expect(media.billing.holds[0]).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n });
    expect(await remove(body.id)).toBe(200);
  });

  test("at another process, it is cancelled by the one that works on it", async () => {
    const { body } = await ask();
    const elsewhere = createLogStore(media.db);
    const entry = await elsewhere.find({ accountId: caller.accountId }, body.id);
    expect(entry && (await elsewhere.removeContent(entry))).toBe("running");
    expect(await entryWith(body.id, "cancelled")).toMatchObject(cancelled);
    expect(queue.cancelled).toBe(1);
  });

  test("while no process works on it, it is cancelled by the next one", async () => {
    const { body } = await ask();
    await until(async () => (await media.row())["operations"] !== null, PATIENCE);
    await media.stopProcess();
    const elsewhere = createLogStore(media.db);
    const entry = await elsewhere.find({ accountId: caller.accountId }, body.id);
    if (entry !== undefined) await elsewhere.removeContent(entry);
    await media.restart();
    expect(await entryWith(body.id, "cancelled")).toMatchObject(cancelled);
    expect(queue.cancelled).toBe(1);
  });

  test("while its provider does not cancel, it keeps its hold to its end, and is charged; its file is not kept", async () => {
    queue.isStubborn = true;
    const { body } = await ask();
    await until(async () => (await media.row())["operations"] !== null, PATIENCE);
    expect(await remove(body.id)).toBe(202);
    await until(() => queue.cancelled === 1, PATIENCE);
    expect(media.billing.holds[0]).toMatchObject({ state: HoldState.OPEN });
    expect((await media.logged(body.id)).body).toMatchObject({ status: "running", deleted: true });
    queue.done = true;
    expect(await entryWith(body.id, "succeeded")).toMatchObject({ deleted: true, cost: 0.2, data: [] });
    expect(await media.files()).toEqual([]);
    expect(media.billing.charged).toBe(2_000n);
  });

  test("too late, when the provider has made it, it is charged, and its file is not kept", async () => {
    const answer = Promise.withResolvers<Progress>();
    queue.atOnce = () => answer.promise;
    const { body } = await ask();
    expect(await remove(body.id)).toBe(202);
    answer.resolve(film());
    expect(await entryWith(body.id, "succeeded")).toMatchObject({ deleted: true, cost: 0.2, data: [] });
    expect(await media.files()).toEqual([]);
    expect(media.billing.charged).toBe(2_000n);
  });
});
