// Videos as jobs in the shape of OpenAI's videos API: the same orders, holds and rows as those with Prefer:
// respond-async. A state is that of the row, so a restart does not change it.
import { HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { caller, KEY_HEADER } from "./test/edge.ts";
import { FilmQueue } from "./test/film-queue.ts";
import { drawPicture } from "./test/pictures.ts";
import {
  type Answer,
  answerOf,
  type MediaUnderTest,
  movesOf,
  PATIENT,
  startMedia,
} from "./test/start-media.ts";
import { mp4Of } from "./test/videos.ts";

const PATH = "/v1/compat/videos";
const fox = { model: "sandbox/video", prompt: "a fox", seconds: "5", size: "1280x720" };
const PATIENCE = { timeoutMs: 60_000 };
const UNKNOWN = "00000000-0000-4000-8000-000000000000";

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

const create = (body: object = fox, headers = {}) => media.generate(body, PATH, headers);
const send = async (method: string, path: string, headers = {}): Promise<Answer> =>
  answerOf(await fetch(media.url() + PATH + path, { method, headers }));
const get = (path: string, headers = {}) => send("GET", path, headers);

async function videoWith(id: string, status: string) {
  await until(async () => (await get(`/${id}`)).body.status === status, PATIENCE);
  return (await get(`/${id}`)).body;
}

const download = async (id: string, query = "", headers = {}) => {
  const response = await fetch(`${media.url()}${PATH}/${id}/content${query}`, { headers });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
};

describe("a video job", () => {
  test("is queued, then in progress, then completed, with its file; held before, charged once, at the list price", async () => {
    const submitted = Promise.withResolvers<void>();
    queue.beforeAnswer = submitted.promise;
    const { status, headers, body } = await create();
    expect([status, headers.get("location")]).toEqual([202, `${PATH}/${body.id}`]);
    expect(body).toMatchObject({
      object: "video",
      model: "sandbox/video",
      prompt: "a fox",
      status: "queued",
      progress: 0,
      seconds: "5",
      size: "1280x720",
      completed_at: null,
      error: null,
      cost: null,
      polling_url: `https://media.example${PATH}/${body.id}`,
      unsigned_urls: [],
    });
    expect(movesOf(media.billing)).toEqual(["place"]);
    submitted.resolve();
    await videoWith(body.id, "in_progress");
    queue.percent = 40;
    await until(async () => (await get(`/${body.id}`)).body.progress === 40, PATIENCE);
    expect((await download(body.id)).status).toBe(409);
    queue.done = true;
    const video = await videoWith(body.id, "completed");
    expect(video).toMatchObject({ progress: 100, cost: 0.25, error: null });
    expect(video.completed_at).toBeGreaterThanOrEqual(video.created_at);
    expect(video.unsigned_urls).toHaveLength(1);
    const film = await download(body.id);
    expect([film.status, film.headers.get("content-type")]).toEqual([200, "video/mp4"]);
    expect(film.headers.get("cache-control")).toBe("private, no-cache");
    expect(film.bytes).toEqual(mp4Of());
    const part = await download(body.id, "", { range: "bytes=4-7" });
    expect([part.status, part.bytes]).toEqual([206, mp4Of().subarray(4, 8)]);
    expect(media.billing.charged).toBe(2_500n);
    expect((await media.logged(body.id)).body).toMatchObject({ status: "succeeded", cost: 0.25 });
  });

  test("has the same state after a restart, and goes on", async () => {
    const { body } = await create();
    queue.percent = 30;
    await until(async () => (await get(`/${body.id}`)).body.progress === 30, PATIENCE);
    const before = await get(`/${body.id}`);
    await media.restart();
    expect((await get(`/${body.id}`)).body).toEqual(before.body);
    queue.done = true;
    await videoWith(body.id, "completed");
    expect([queue.submissions, media.billing.charged]).toEqual([1, 2_500n]);
  });

  test("is made from a form with input_reference, and from JSON with its URL in an object", async () => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...fox, model: "sandbox/video-image" }))
      form.append(name, value);
    const picture = await drawPicture();
    form.append("input_reference", new Blob([new Uint8Array(picture)], { type: "image/png" }), "fox.png");
    const sent = await fetch(media.url() + PATH, { method: "POST", body: form });
    expect(sent.status).toBe(202);
    const image_url = `data:image/png;base64,${picture.toString("base64")}`;
    expect(
      (await create({ ...fox, model: "sandbox/video-image", input_reference: { image_url } })).status,
    ).toBe(202);
    await until(async () => queue.submissions === 2, PATIENCE);
    expect(queue.inputs).toEqual([1, 1]);
  });

  test("that fails says why, costs nothing, and has no file", async () => {
    queue.failure = "failed";
    const { body } = await create();
    const video = await videoWith(body.id, "failed");
    expect(video).toMatchObject({
      error: { code: "provider_error" },
      cost: 0,
      unsigned_urls: [],
      completed_at: null,
    });
    expect((await download(body.id)).status).toBe(404);
    await until(() => media.billing.openHolds.length === 0, PATIENCE);
    expect(media.billing.charged).toBe(0n);
  });

  test.each([
    [{ seconds: "7" }, "seconds"],
    [{ seconds: "61" }, "seconds"],
    [{ seconds: "four" }, "seconds"],
    [{ response_format: "b64_ephemeral" }, "response_format"],
    [{ input_reference: { file_id: "f" } }, "image"],
  ])("is refused at once with %j, and leaves nothing", async (fields, param) => {
    const { status, body } = await create({ ...fox, ...fields });
    expect([status, body.error.param]).toEqual([400, param]);
    expect(movesOf(media.billing)).toEqual([]);
    expect(await media.row()).toBeUndefined();
  });

  test("repeated under its Idempotency-Key is the same job, running and finished", async () => {
    const key = { "idempotency-key": "film" };
    const first = await create(fox, key);
    const again = await create(fox, key);
    expect([again.status, again.body.id]).toEqual([202, first.body.id]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    queue.done = true;
    const video = await videoWith(first.body.id, "completed");
    const last = await create(fox, key);
    expect([last.status, last.body]).toEqual([200, video]);
    expect(last.headers.get("idempotency-replayed")).toBe("true");
    expect(queue.submissions).toBe(1);
  });
});

describe("the videos of a key", () => {
  test("are listed in pages, in both orders; those of other keys, images and deleted ones are unknown", async () => {
    queue.done = true;
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const { body } = await create();
      await videoWith(body.id, "completed");
      ids.unshift(body.id);
    }
    const idsOf = ({ body }: Answer) => body.data.map(({ id }: { id: string }) => id);
    expect(idsOf(await get(""))).toEqual(ids);
    const page = await get("?limit=2");
    expect([idsOf(page), page.body.has_more, page.body.last_id]).toEqual([ids.slice(0, 2), true, ids[1]]);
    expect(idsOf(await get(`?after=${ids[1]}`))).toEqual(ids.slice(2));
    expect(idsOf(await get("?order=asc"))).toEqual(ids.toReversed());
    expect(idsOf(await get(`?order=asc&after=${ids[1]}`))).toEqual(ids.slice(0, 1));
    expect((await get("?order=up")).body.error.param).toBe("order");
    const foreign = { [KEY_HEADER]: "7d9c3f1f-0f4a-4a51-9d5c-0b1f5f2e7f0f" };
    expect(idsOf(await get("", foreign))).toEqual([]);
    expect((await get(`/${ids[0]}`, foreign)).status).toBe(404);
    expect((await download(ids[0] ?? "", "", foreign)).status).toBe(404);
    expect((await send("DELETE", `/${ids[0]}`, foreign)).status).toBe(404);
    const removed = await send("DELETE", `/${ids[0]}`);
    expect([removed.status, removed.body]).toEqual([
      200,
      { id: ids[0], object: "video.deleted", deleted: true },
    ]);
    expect(idsOf(await get(""))).toEqual(ids.slice(1));
    for (const path of [`/${ids[0]}`, `/${UNKNOWN}`, "/none"]) expect((await get(path)).status).toBe(404);
    expect((await download(UNKNOWN)).status).toBe(404);
    expect((await send("DELETE", `/${ids[0]}`)).status).toBe(404);
    expect(await media.outputs()).toHaveLength(2);
    expect(media.billing.charged).toBe(7_500n);
  });

  test("whose files have expired have the status completed, and answer 410 for their content", async () => {
    queue.done = true;
    const { body } = await create();
    await videoWith(body.id, "completed");
    await media.db.query("UPDATE generation SET expired_at = now()");
    expect(await videoWith(body.id, "completed")).toMatchObject({ unsigned_urls: [] });
    const { status, bytes } = await download(body.id);
    expect([status, JSON.parse(bytes.toString()).error.code]).toEqual([410, "expired"]);
  });

  test("have a thumbnail where there is one", async () => {
    queue.done = true;
    const { body } = await create();
    await videoWith(body.id, "completed");
    const hasPoster = (await media.logged(body.id)).body.data[0].poster_url !== undefined;
    const thumbnail = await download(body.id, "?variant=thumbnail");
    expect(thumbnail.status).toBe(hasPoster ? 200 : 404);
    expect((await download(body.id, "?variant=spritesheet")).status).toBe(400);
  });
});

describe("DELETE of an unfinished job", () => {
  test("frees its hold when the provider has ended it, and shows it as cancelled", async () => {
    const { body } = await create();
    await videoWith(body.id, "in_progress");
    const removed = await send("DELETE", `/${body.id}`);
    expect([removed.status, removed.body.deleted]).toEqual([202, true]);
    const video = await videoWith(body.id, "failed");
    expect(video).toMatchObject({ error: { code: "cancelled" }, cost: 0, prompt: null });
    expect((await get("")).body.data).toHaveLength(1);
    await until(() => media.billing.openHolds.length === 0, PATIENCE);
    expect(media.billing.holds[0]).toMatchObject({ state: HoldState.RELEASED, chargedCredits: 0n });
  });

  test("frees nothing when its provider does not cancel: it is charged at its end, and its file deleted", async () => {
    queue.isStubborn = true;
    const { body } = await create();
    await videoWith(body.id, "in_progress");
    expect((await send("DELETE", `/${body.id}`)).status).toBe(202);
    await until(() => queue.cancelled > 0, PATIENCE);
    expect(media.billing.openHolds).toHaveLength(1);
    expect((await get(`/${body.id}`)).body.status).toBe("in_progress");
    queue.done = true;
    await until(() => media.billing.charged === 2_500n, PATIENCE);
    await until(async () => (await get(`/${body.id}`)).status === 404, PATIENCE);
    expect((await media.logged(body.id)).body).toMatchObject({
      status: "succeeded",
      deleted: true,
      cost: 0.25,
    });
    expect(await media.files()).toEqual([]);
  });

  test("of a video for which a client waits is 409", async () => {
    const waiting = media.generate({ ...fox, seconds: 5 }, "/v1/compat/videos/generations");
    await until(async () => (await media.row()) !== undefined, PATIENCE);
    const { id } = (await get("")).body.data[0];
    expect((await send("DELETE", `/${id}`)).status).toBe(409);
    queue.done = true;
    expect((await waiting).status).toBe(200);
    expect((await get(`/${id}`)).body).toMatchObject({ status: "completed" });
    expect((await media.logged(id, caller.keyId)).body.deleted).toBe(false);
  });
});
