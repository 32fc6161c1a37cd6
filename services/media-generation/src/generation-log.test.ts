// The log in its clients' view: every answer is found again, by its key only; pages are complete and fast; deleted
// content is removed, except the money.
import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { TextApi, TextLineSchema } from "@gr/proto/billing";
import { GenerationStatus, MediaGenerationService } from "@gr/proto/media";
import { SavedTextSchema } from "@gr/proto/saved-texts";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { pageQuery } from "./log/log-store.ts";
import { caller, KEY_HEADER } from "./test/edge.ts";
import { fillLog, insertEntry, planOf } from "./test/log-store.ts";
import {
  answerOf,
  INTERNAL_AUTH_SECRET,
  type MediaUnderTest,
  PATIENT,
  startMedia,
} from "./test/start-media.ts";

const IMAGES = "/v1/compat/images/generations";
const fox = { model: "sandbox/image", prompt: "a fox" };
const unknownId = "00000000-0000-7000-8000-000000000000";

let simulator: RunningSimulator;
let media: MediaUnderTest;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  media = await startMedia({ upstreamUrl: simulator.url, env: PATIENT });
});
afterAll(async () => {
  await media.stop();
  await simulator.close();
});

const idOf = (headers: Headers) => headers.get("x-request-id") ?? "";
const nameOf = (url: string) => url.split("/").at(-1) ?? "";
const served = (url: string) => fetch(`${media.url()}/media/${nameOf(url)}`);

async function list(query: string, key: string) {
  return answerOf(await fetch(`${media.url()}/v1/generations?${query}`, { headers: { [KEY_HEADER]: key } }));
}

async function remove(id: string, key: string = caller.keyId) {
  const headers = { [KEY_HEADER]: key };
  return answerOf(await fetch(`${media.url()}/v1/generations/${id}`, { method: "DELETE", headers }));
}

describe("a text request, as billing keeps it,", () => {
  const id = randomUUID();
  beforeAll(() => {
    const { accountId, keyId: spenderId } = caller;
    const line = {
      ...{ requestId: id, accountId, spenderId, model: "sandbox/chat", api: TextApi.CHAT, stream: true },
      ...{ beganAt: BigInt(Date.UTC(2026, 10, 22)), tookMs: 1_250n, firstByteMs: 90n, finishReason: "stop" },
      ...{ userTag: "anna", usage: { inputTokens: 10n, outputTokens: 4n, toolCalls: { search: 1n } } },
      attempts: [{ provider: "one", upstreamModel: "m", outcome: "delivered", tookMs: 1_200n }],
    };
    media.billing.textLines.push(create(TextLineSchema, line));
  });

  test("is found by its id, with how it went and what was metered", async () => {
    const { status, body } = await media.logged(id);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ id, object: "generation", kind: "text", status: "succeeded", model: "sandbox/chat" },
      ...{ api_key_id: caller.keyId, api: "chat", stream: true, user: "anna", finish_reason: "stop" },
      ...{ created_at: "2026-11-22T00:00:00.000Z", finished_at: "2026-11-22T00:00:01.250Z" },
      ...{ latency: 1_250, first_byte_latency: 90, error: null, cost: 0, upstream_cost: "0" },
      attempts: [{ provider: "one", model: "m", outcome: "delivered", latency: 1_200 }],
      usage: { input_tokens: 10, output_tokens: 4, cached_input_tokens: 0, tool_calls: { search: 1 } },
    });
  });

  test("is in the list of all kinds and in that of its kind, with the fields of an image", async () => {
    const idsOf = async (query: string, key = caller.keyId) =>
      (await list(query, key)).body.data.map((entry: { id: string }) => entry.id);
    expect(await idsOf("kind=text")).toContain(id);
    expect(await idsOf("limit=100")).toContain(id);
    expect(await idsOf("kind=media&limit=100")).not.toContain(id);
    expect(await idsOf("kind=text&status=blocked")).toEqual([]);
    const { body } = await list("kind=text", caller.keyId);
    expect(body.data[0]).toMatchObject({
      data: [],
      request: {},
      progress: null,
      deleted: false,
      expired: false,
    });
  });

  test("is in the list of its type, too: type means the same as kind", async () => {
    const asked = async (query: string) => (await list(query, caller.keyId)).body;
    expect(await asked("type=text")).toEqual(await asked("kind=text"));
    expect((await asked("type=text")).data).not.toEqual([]);
    expect(await asked("type=image&kind=image")).toEqual(await asked("kind=image"));
    for (const [query, param] of [
      ["type=chat", "type"],
      ["kind=chat", "kind"],
      ["type=text&kind=image", "type"],
    ] as const) {
      const { status, body } = await list(query, caller.keyId);
      expect([query, status, body.error.code, body.error.param]).toEqual([
        query,
        400,
        "invalid_value",
        param,
      ]);
    }
  });

  test("has its saved prompt and answer for its key only, until they are deleted", async () => {
    const { accountId, keyId: spenderId } = caller;
    const bytes = (value: object) => new Uint8Array(Buffer.from(JSON.stringify(value)));
    const saved = {
      ...{ accountId, spenderId, requestId: id, beganAt: BigInt(Date.UTC(2026, 10, 22)) },
      ...{
        prompt: bytes({ messages: [] }),
        promptBytes: 15n,
        answer: bytes({ choices: [] }),
        answerBytes: 14n,
      },
    };
    const read = async (key: string = caller.keyId, of: string = id) =>
      answerOf(await fetch(`${media.url()}/v1/generations/${of}/text`, { headers: { [KEY_HEADER]: key } }));
    expect((await read()).body.error).toMatchObject({ code: "not_found", param: "id" });
    media.billing.savedTexts.push(create(SavedTextSchema, saved));
    expect((await read()).body).toEqual({
      ...{ id, object: "saved_text", created_at: "2026-11-22T00:00:00.000Z" },
      ...{ expires_at: "2026-12-22T00:00:00.000Z", prompt: { messages: [] }, prompt_bytes: 15 },
      ...{ answer: { choices: [] }, answer_bytes: 14 },
    });
    const other = randomUUID();
    for (const { status } of [await read(other), await read(caller.keyId, "none"), await remove(id, other)])
      expect(status).toBe(404);
    expect((await read()).status).toBe(200);
    expect((await remove(id)).body).toEqual({ id, deleted: true });
    expect((await read()).status).toBe(404);
    // A repeated deletion has the same answer, and the log has the request.
    expect([(await remove(id)).status, (await media.logged(id)).status]).toEqual([200, 200]);
  });

  test("is nobody else's", async () => {
    const { status, body } = await media.logged(id, randomUUID());
    expect([status, body.error.code]).toEqual([404, "not_found"]);
  });
});

describe("what was answered is in the log under its request's id", () => {
  test("with the same URLs, cost and latency, and the parameters that it was made with", async () => {
    const { headers, body } = await media.generate({ ...fox, n: 2, size: "1280x720", output_format: "png" });
    const { status, body: entry } = await media.logged(idOf(headers));
    expect(status).toBe(200);
    expect(entry).toEqual({
      id: idOf(headers),
      object: "generation",
      status: "succeeded",
      kind: "image",
      model: "sandbox/image",
      request: { prompt: "a fox", n: 2, size: "1280x720", output_format: "png", response_format: "url" },
      created_at: expect.any(String),
      finished_at: expect.any(String),
      data: body.data.map(({ url }: { url: string }) => ({
        url,
        thumbnail_url: url.replace(/\.png$/, ".preview.webp"),
      })),
      error: null,
      latency: body.latency,
      cost: 0.02,
      deleted: false,
      expired: false,
      progress: null,
      api_key_id: caller.keyId,
      provider: "openai",
      attempts: [
        { provider: "openai", model: expect.any(String), outcome: "delivered", latency: expect.any(Number) },
      ],
      timing: {
        queued: expect.any(Number),
        first_byte: null,
        made: expect.any(Number),
        stored: body.latency,
      },
      price_version: expect.any(String),
      price: expect.objectContaining({ charged: "0.0200" }),
    });
    expect(Math.floor(Date.parse(entry.finished_at) / 1_000)).toBe(body.created);
  });

  test("base64 too: by URL, the same bytes", async () => {
    const { headers, body } = await media.generate({ ...fox, response_format: "b64_json" });
    const { body: entry } = await media.logged(idOf(headers));
    const file = await served(entry.data[0].url);
    expect(Buffer.from(await file.arrayBuffer()).toString("base64")).toBe(body.data[0].b64_json);
  });

  test("but not what is ephemeral: neither file nor prompt, only what it cost", async () => {
    const { headers } = await media.generate({ ...fox, response_format: "b64_ephemeral" });
    const { body: entry } = await media.logged(idOf(headers));
    expect(entry).toMatchObject({ status: "succeeded", data: [], cost: 0.01 });
    expect(JSON.stringify(entry)).not.toContain("fox");
  });

  test.each([
    ["sandbox/image-error", "failed"],
    ["sandbox/image-blocked", "blocked"],
  ])("an error of %s is the one that its caller got, and free", async (model, status) => {
    const { headers, body } = await media.generate({ ...fox, model });
    const { body: entry } = await media.logged(idOf(headers));
    expect(entry).toMatchObject({ status, error: body.error, cost: 0, data: [] });
  });
});

describe("pages", () => {
  const key = "key-of-pages";
  const id = (n: number) => `00000000-0000-4000-8000-0000000000${String(n).padStart(2, "0")}`;
  const second = (n: number) => `2026-01-01T00:00:0${n}.000Z`;
  beforeAll(async () => {
    const rows = [
      { state: "running", createdAt: second(5) },
      { kind: "video", model: "sandbox/video", createdAt: second(4) },
      // Entries of one moment: the greater id first.
      { createdAt: second(3) },
      { state: "failed", createdAt: second(3) },
      { state: "blocked", createdAt: second(2) },
      { createdAt: second(1) },
    ] as const;
    for (const [index, row] of rows.entries()) {
      await insertEntry(media.db, caller.accountId, { ...row, id: id(10 - index), keyId: key });
    }
  });
  const all = [10, 9, 8, 7, 6, 5].map(id);

  test("follow one another without a gap or a repetition, newest first", async () => {
    const seen: string[] = [];
    for (let after = ""; ; ) {
      const { body } = await list(`limit=2${after}`, key);
      const ids = body.data.map((entry: { id: string }) => entry.id);
      expect(body).toMatchObject({ object: "list", first_id: ids[0], last_id: ids.at(-1) });
      seen.push(...ids);
      if (!body.has_more) break;
      after = `&after=${body.last_id}`;
    }
    expect(seen).toEqual(all);
  });

  test.each([
    ["kind=video", [9]],
    ["kind=image&limit=1", [10]],
    ["model=sandbox/video", [9]],
    ["provider=x&limit=2", [10, 9]],
    ["provider=elsewhere", []],
    ["status=running", [10]],
    ["status=succeeded", [9, 8, 5]],
    ["status=failed", [7]],
    ["status=blocked", [6]],
    ["created_after=2026-01-01T00:00:03Z", [10, 9]],
    ["created_before=2026-01-01T01:00:02%2B01:00", [5]],
    ["created_after=2026-01-01T00:00:01Z&created_before=2026-01-01T00:00:04Z&status=succeeded", [8]],
    [`after=${id(7)}`, [6, 5]],
    [`after=${id(5)}`, []],
  ])("?%s", async (query, expected) => {
    const { status, body } = await list(query, key);
    expect(status).toBe(200);
    expect(body.data.map((entry: { id: string }) => entry.id)).toEqual(expected.map(id));
    if (expected.length === 0) expect(body).toMatchObject({ first_id: null, last_id: null, has_more: false });
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=1&limit=2", "limit"],
    ["kind=audio", "kind"],
    ["status=done", "status"],
    ["model=", "model"],
    ["model=%00", "model"],
    ["provider=", "provider"],
    ["created_after=2026-01-01", "created_after"],
    ["created_before=2026-01-01T00:00:00", "created_before"],
    ["created_before=2026-02-30T00:00:00Z", "created_before"],
    ["after=x", "after"],
    [`after=${unknownId}`, "after"],
  ])("?%s is refused, and the parameter named", async (query, param) => {
    const { status, body } = await list(query, key);
    expect([status, body.error]).toMatchObject([400, { type: "invalid_request_error", param }]);
  });

  test("of all kinds have each request once, in one order, with the id of any of them as cursor", async () => {
    const both = "key-of-both-homes";
    const textId = (n: number) => id(n).replace("-4000-", "-7000-");
    const minute = (n: number) => `2026-01-01T00:01:0${n}.000Z`;
    for (const [n, at] of [
      [60, 4],
      [61, 3],
      [62, 3],
      [63, 1],
    ] as const) {
      await insertEntry(media.db, caller.accountId, { id: id(n), keyId: both, createdAt: minute(at) });
    }
    for (const [n, at] of [
      [60, 5],
      [61, 3],
      [62, 2],
      [63, 2],
      [64, 1],
    ] as const) {
      const { accountId } = caller;
      const line = { accountId, spenderId: both, model: "sandbox/chat", api: TextApi.CHAT };
      const beganAt = BigInt(Date.parse(minute(at)));
      media.billing.textLines.push(create(TextLineSchema, { ...line, requestId: textId(n), beganAt }));
    }
    const newest = [
      ...[textId(60), id(60), textId(61), id(62), id(61)],
      ...[textId(63), textId(62), textId(64), id(63)],
    ];
    for (const limit of [1, 2, 4, 9]) {
      const seen: string[] = [];
      for (let after = "", more = true; more; after = `&after=${seen.at(-1)}`) {
        const { body } = await list(`limit=${limit}${after}`, both);
        seen.push(...body.data.map((entry: { id: string }) => entry.id));
        more = body.has_more;
      }
      expect([limit, seen]).toEqual([limit, newest]);
    }
  });

  test("of another key have none of it, and cannot be entered through it", async () => {
    expect((await list("", "another")).body.data).toEqual([]);
    expect((await list(`after=${id(7)}`, "another")).status).toBe(400);
  });

  test("of the account are read over RPC, for all keys or for one", async () => {
    const url = media.rpcUrl();
    const transport = createRemoteTransport(url, INTERNAL_AUTH_SECRET, systemClock);
    const client = createServiceClient(MediaGenerationService, "media-generation", transport);
    const ask = async (fields: Parameters<typeof client.listGenerations>[0]) => {
      const asked = { accountId: caller.accountId, createdBefore: BigInt(Date.parse(second(9))), ...fields };
      const { generations, hasMore } = await client.listGenerations(asked);
      return { ids: generations.map((each) => each.id), hasMore, generations };
    };
    const extra = { id: id(99), keyId: id(98), createdAt: second(3) };
    await insertEntry(media.db, caller.accountId, extra);
    expect((await ask({})).ids).toEqual([id(10), id(9), id(99), id(8), id(7), id(6), id(5)]);
    expect((await ask({ keyId: extra.keyId })).ids).toEqual([id(99)]);
    expect(await ask({ limit: 2 })).toMatchObject({ ids: [id(10), id(9)], hasMore: true });
    const [blocked] = (await ask({ status: 4 })).generations;
    expect(blocked).toMatchObject({ kind: 1, chargedCredits: 0n, parameters: { prompt: "a fox" } });
    expect(blocked?.error).toMatchObject({ type: "invalid_request_error" });
    await expect(ask({ after: unknownId })).rejects.toMatchObject({
      reason: "invalid_value",
      param: "after",
    });
    await expect(ask({ accountId: "x" })).rejects.toMatchObject({ param: "account_id" });
  });

  test("are found in an index, however long the log is", async () => {
    const { accountId, keyId } = await fillLog(media.db);
    const before = { id: unknownId, createdAt: Date.now() };
    for (const [owner, index] of [
      [{ accountId, keyId }, "generation_of_key"],
      [{ accountId }, "generation_of_account"],
    ] as const) {
      const page = await planOf(media.db, pageQuery(owner, {}, before, 21));
      expect(page).toContain(`Index Scan Backward using ${index}`);
      expect(page).not.toContain("Sort");
      for (const filter of [
        { kind: "image" },
        { createdAfter: 0, createdBefore: Date.now() },
        { createdAfter: 0, createdBefore: Date.now(), kind: "image" },
      ] as const) {
        const filtered = await planOf(media.db, pageQuery(owner, filter, before, 21));
        expect([filter, filtered]).toEqual([filter, expect.stringContaining(`Backward using ${index}`)]);
        expect(filtered).not.toMatch(/Seq Scan|Sort/);
      }
      const elsewhere = await planOf(media.db, pageQuery(owner, { provider: "elsewhere" }, before, 21));
      expect(elsewhere).toMatch(/generation_of_provider/);
      const filter = { createdAfter: 0, status: "succeeded", model: "model-1" } as const;
      expect(await planOf(media.db, pageQuery(owner, filter, before, 21))).not.toContain("Seq Scan");
      // A rare model is found by its index and not by a scan of the log, as are the few running or failed entries.
      const rare = await planOf(media.db, pageQuery(owner, { model: "rare" }, before, 21));
      expect(rare).toMatch(/generation_of_model/);
      if ("keyId" in owner) {
        const videos = await planOf(
          media.db,
          pageQuery(owner, { kind: "video", isPresent: true }, before, 21),
        );
        expect(videos).toMatch(/generation_videos/);
        expect(videos).not.toContain("Sort");
      }
      for (const [status, few] of [
        ["running", "generation_open"],
        ["failed", "generation_failed"],
        ["blocked", "generation_failed"],
        ["cancelled", "generation_failed"],
      ] as const) {
        expect(await planOf(media.db, pageQuery(owner, { status }, before, 21))).toContain(few);
      }
    }
    const ofKeys = await planOf(media.db, pageQuery({ accountId }, { keyIds: [keyId, "key-5"] }, before, 21));
    expect(ofKeys).toMatch(/Backward using generation_of_key/);
    expect(ofKeys).not.toContain("Seq Scan");
  });

  test("are summed over all pages: requests of each state, charges, latencies and the oldest", async () => {
    const [key, other] = [randomUUID(), randomUUID()];
    const begin = Date.UTC(2026, 3, 1);
    const entries = [
      [0, "succeeded"],
      [59, "succeeded"],
      [60, "failed"],
      [61, "blocked"],
      [120, "running"],
    ] as const;
    for (const [seconds, state] of entries) {
      const createdAt = new Date(begin + seconds * 1_000).toISOString();
      await insertEntry(media.db, caller.accountId, { id: randomUUID(), keyId: key, state, createdAt });
    }
    const createdAt = new Date(begin).toISOString();
    await insertEntry(media.db, caller.accountId, { id: randomUUID(), keyId: other, createdAt });
    await media.db.query(
      "UPDATE generation SET charge_credits = 7, finished_at = created_at + interval '1 second' WHERE key_id = $1 AND state = 'succeeded'",
      [key],
    );
    const transport = createRemoteTransport(media.rpcUrl(), INTERNAL_AUTH_SECRET, systemClock);
    const client = createServiceClient(MediaGenerationService, "media-generation", transport);
    const bars = { barsFrom: BigInt(begin), barMs: 60_000n };
    const sum = async (fields: object) => {
      const filter = { accountId: caller.accountId, ...fields };
      const { sums, latencies } = await client.sumGenerations({ filter, ...bars });
      const rows = sums.map((each) => [each.bar, each.status, each.requests, each.chargedCredits]);
      return {
        rows: new Set(rows.map(String)),
        latencies: latencies.map(({ step, requests }) => [step, requests]),
      };
    };
    const { SUCCEEDED, FAILED, BLOCKED, RUNNING } = GenerationStatus;
    const all = [
      [0, SUCCEEDED, 2, 14],
      [1, FAILED, 1, 0],
      [1, BLOCKED, 1, 0],
      [2, RUNNING, 1, 0],
    ];
    const found = await sum({ keyId: key, texts: true });
    expect(found.rows).toEqual(new Set(all.map(String)));
    expect(found.latencies).toEqual([[Math.floor(Math.log(1_000) / Math.log(1.01)), 2n]]);
    expect((await sum({ keyId: key, status: FAILED })).rows).toEqual(new Set([String([1, FAILED, 1, 0])]));
    expect((await sum({ keyIds: [key, other] })).rows).toEqual(
      new Set([[0, SUCCEEDED, 3, 14], ...all.slice(1)].map(String)),
    );
    const oldest = async (fields: object) =>
      (await client.sumGenerations({ filter: { accountId: caller.accountId, ...fields } })).oldestAt;
    expect(await oldest({ keyId: key, status: FAILED })).toBe(BigInt(begin + 60_000));
    expect(await oldest({ keyId: randomUUID() })).toBeUndefined();
  });

  test("of several keys are in one order, and each page is that of all keys", async () => {
    const keys = [randomUUID(), randomUUID(), randomUUID()];
    const ids = keys.flatMap(() => [randomUUID(), randomUUID()]);
    for (const [index, entry] of ids.entries()) {
      const createdAt = new Date(Date.UTC(2026, 2, 1) + index * 1_000).toISOString();
      await insertEntry(media.db, caller.accountId, { id: entry, keyId: keys[index % 3] ?? "", createdAt });
    }
    const pages = createServiceClient(
      MediaGenerationService,
      "media-generation",
      createRemoteTransport(media.rpcUrl(), INTERNAL_AUTH_SECRET, systemClock),
    );
    const idsOf = async (keyIds: string[], after = "") => {
      const request = { accountId: caller.accountId, keyIds, limit: 3, after };
      return (await pages.listGenerations(request)).generations.map((each) => each.id);
    };
    const newest = ids.toReversed();
    expect(await idsOf(keys)).toEqual(newest.slice(0, 3));
    expect(await idsOf(keys, newest[2])).toEqual(newest.slice(3));
    expect(await idsOf([keys[0] ?? ""])).toEqual([ids[3], ids[0]]);
    const many = Array.from({ length: 1_001 }, () => randomUUID());
    await expect(idsOf(many)).rejects.toMatchObject({ reason: "invalid_value", param: "key_ids" });
  });
});

describe("what is deleted", () => {
  test("loses its files and its prompt; what it cost stays, and once more changes nothing", async () => {
    const { headers, body } = await media.generate({ ...fox, prompt: "a secret \u0000 fox" });
    const id = idOf(headers);
    const [{ url }] = body.data;
    expect((await served(url)).status).toBe(200);
    for (let i = 0; i < 2; i += 1)
      expect(await remove(id)).toMatchObject({ status: 200, body: { id, deleted: true } });
    expect((await served(url)).status).toBe(404);
    const { body: entry } = await media.logged(id);
    expect(entry).toMatchObject({ status: "succeeded", deleted: true, data: [], cost: 0.01 });
    const { rows } = await media.db.query("SELECT request::text FROM generation WHERE id = $1", [id]);
    expect(JSON.stringify([entry, rows])).not.toContain("secret");
  });

  test("cannot be given again under its Idempotency-Key, and is not made again either", async () => {
    const ask = () => media.generate(fox, IMAGES, { "idempotency-key": "deleted" });
    await remove(idOf((await ask()).headers));
    const { status, body } = await ask();
    expect([status, body.error.code]).toEqual([409, "idempotency_not_replayable"]);
  });

  test("is not what still runs", async () => {
    const id = randomUUID();
    const createdAt = "2026-01-01T00:00:00Z";
    await insertEntry(media.db, caller.accountId, { id, keyId: caller.keyId, state: "running", createdAt });
    const { status, body } = await remove(id);
    expect([status, body.error.code]).toEqual([409, "generation_running"]);
    expect((await media.logged(id)).body).toMatchObject({ status: "running", deleted: false, cost: null });
  });

  test("what another key has made is neither shown nor deleted, in the words for an id that nobody has", async () => {
    const { headers, body } = await media.generate(fox);
    const unknown = await media.logged(unknownId);
    expect([unknown.status, unknown.body.error]).toMatchObject([404, { code: "not_found", param: "id" }]);
    for (const answer of [
      await media.logged(idOf(headers), "another"),
      await remove(idOf(headers), "another"),
      await remove(unknownId),
      await media.logged("not-an-id"),
    ]) {
      expect(answer).toMatchObject({ status: 404, body: unknown.body });
    }
    expect((await served(body.data[0].url)).status).toBe(200);
  });
});
