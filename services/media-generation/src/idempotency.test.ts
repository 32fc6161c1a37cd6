// A repeated Idempotency-Key returns the first answer, byte for byte, generated and charged once; or a clear refusal.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Model } from "@gr/proto/catalog";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { KEY_HEADER } from "./test/edge.ts";
import { fixedModels } from "./test/fixed-catalog.ts";
import { type MediaUnderTest, movesOf, PATIENT, type Restart, startMedia } from "./test/start-media.ts";

const GENERATIONS = "/v1/compat/images/generations";
const EDITS = "/v1/compat/images/edits";
const fox = { model: "sandbox/image", prompt: "a fox" };

let simulator: RunningSimulator;
let media: MediaUnderTest;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
});
afterAll(() => simulator.close());
beforeEach(async () => {
  media = await startMedia({ upstreamUrl: simulator.url, env: PATIENT });
});
afterEach(() => media.stop());

const withKey = (body: object, key = "k-1", path = GENERATIONS) =>
  media.generate(body, path, { "idempotency-key": key });

/** Bytes and header of an answer. */
async function raw(body: object | FormData, key = "k-1") {
  const form = body instanceof FormData;
  const response = await fetch(media.url() + GENERATIONS, {
    method: "POST",
    headers: { "idempotency-key": key, ...(form ? {} : { "content-type": "application/json" }) },
    body: form ? body : JSON.stringify(body),
  });
  const replayed = response.headers.get("idempotency-replayed");
  return { status: response.status, replayed, text: await response.text() };
}

/** One hold, so one call of the provider; on a slow machine the resolver may have captured it once more. */
const expectOneGeneration = () => {
  expect(movesOf(media.billing).filter((entry) => entry !== "capture")).toEqual(["place"]);
  expect(media.billing.charged).toBe(media.billing.holds[0]?.credits);
};

describe("a repeated request", () => {
  test.each([
    ["url", 3],
    ["b64_json", 1],
  ])("for %s, n = %i, is given the first answer byte for byte, and costs nothing", async (format, n) => {
    const body = { ...fox, response_format: format, n };
    const first = await raw(body);
    expect(first).toMatchObject({ status: 200, replayed: null });
    for (let i = 0; i < 2; i += 1) expect(await raw(body)).toEqual({ ...first, replayed: "true" });
    expectOneGeneration();
    expect(await media.metrics()).toContain("media_replays_total 2");
  });

  test("is given it by another process too", async () => {
    const body = { ...fox, response_format: "b64_json" };
    const first = await raw(body);
    await media.restart();
    expect(await raw(body)).toEqual({ ...first, replayed: "true" });
    expectOneGeneration();
  });

  test("is the same request as a form or as JSON, with defaults and unknown fields or without", async () => {
    const form = () => {
      const fields = new FormData();
      for (const [name, value] of Object.entries({ ...fox, n: "1", size: "auto", user: "u" })) {
        fields.append(name, value);
      }
      return fields;
    };
    const first = await raw(form());
    const again = { ...first, replayed: "true" };
    expect(await raw(form())).toEqual(again);
    expect(await raw({ prompt: "a fox", model: "sandbox/image" })).toEqual(again);
    expect(await raw({ ...fox, quality: "auto", response_format: null, seed: 7 })).toEqual(again);
    expectOneGeneration();
  });

  test("that wanted b64_ephemeral is told that nothing was kept", async () => {
    const body = { ...fox, response_format: "b64_ephemeral" };
    expect((await withKey(body)).status).toBe(200);
    const { status, headers, body: answer } = await withKey(body);
    expect(status).toBe(409);
    expect(answer.error).toMatchObject({
      type: "invalid_request_error",
      code: "idempotency_not_replayable",
      param: "Idempotency-Key",
    });
    expect(headers.get("x-should-retry")).toBe("false");
    expect(headers.get("idempotency-replayed")).toBeNull();
    expectOneGeneration();
  });

  test.each(["url", "b64_json"])(
    "for %s whose file is gone is told so, and costs nothing",
    async (format) => {
      const body = { ...fox, n: 2, response_format: format };
      await withKey(body);
      const [name = ""] = await media.outputs();
      await rm(join(media.dataDir, "media", name.slice(0, 2), name));
      const { status, body: answer } = await withKey(body);
      expect([status, answer.error.code]).toEqual([409, "idempotency_not_replayable"]);
      expectOneGeneration();
    },
  );
});

describe("a repeat of a request that would be refused today", () => {
  const without = (id: string) => fixedModels.filter((model) => model.id !== id);
  const changed = (fields: Partial<Model>) =>
    fixedModels.map((model) => (model.id === fox.model ? { ...model, ...fields } : model));
  const sized = { ...fox, size: "1280x720", n: 2 };

  test.each<[string, Restart]>([
    ["the model is gone", { models: without(fox.model) }],
    ["the model does not take the size any more", { models: changed({ sizes: ["1024x1024"] }) }],
    ["its provider has no key any more", { env: { OPENAI_API_KEY: "" } }],
  ])("because %s, is given the first answer byte for byte, and costs nothing", async (_why, change) => {
    const first = await raw(sized);
    await media.restart(change);
    expect(await raw(sized)).toEqual({ ...first, replayed: "true" });
    expect((await raw(sized, "k-2")).status).toBeGreaterThanOrEqual(400);
    expect(await raw({ ...sized, n: 3 })).toMatchObject({ status: 422, replayed: null });
    expectOneGeneration();
  });
});

describe("another request under the key", () => {
  test.each([
    { prompt: "a foy" },
    { prompt: "a fox " },
    { model: "sandbox/image-free" },
    { size: "1280x720" },
    { n: 2 },
    { quality: "low" },
    { output_format: "png" },
    { response_format: "b64_json" },
    { response_format: "b64_ephemeral" },
  ])("with %j is 422, names the header and makes nothing", async (change) => {
    expect((await withKey(fox)).status).toBe(200);
    const { status, body } = await withKey({ ...fox, ...change });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: "idempotency_mismatch", param: "Idempotency-Key" });
    expectOneGeneration();
  });

  test("that is not valid is refused as such", async () => {
    await withKey(fox);
    expect((await withKey({ ...fox, n: 11 })).body.error).toMatchObject({ param: "n" });
    expectOneGeneration();
  });

  test("that nests its input image without end is refused like any other", async () => {
    const image = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const body = `{"model":"sandbox/image","prompt":"a fox","image":${image}}`;
    const answer = await media.generate(body, GENERATIONS, { "idempotency-key": "k-1" });
    expect([answer.status, answer.body.error.type]).toEqual([400, "invalid_request_error"]);
    expect(movesOf(media.billing)).toEqual([]);
  });

  test("at the other path is its own: a key belongs to an endpoint", async () => {
    const first = await withKey(fox);
    const second = await withKey(fox, "k-1", EDITS);
    expect(second.status).toBe(200);
    expect(second.headers.get("idempotency-replayed")).toBeNull();
    expect(second.body.data).not.toEqual(first.body.data);
    expect(media.billing.charged).toBe(200n);
  });
});

describe("another API key of the account, under the same Idempotency-Key", () => {
  const OTHER = { [KEY_HEADER]: "5d9c3f1f-0f4a-4a51-9d5c-0b1f5f2e7fff", "idempotency-key": "k-1" };

  test.each([fox, { ...fox, n: 2 }])("has a request of its own: %j", async (body) => {
    const first = await withKey(fox);
    const second = await media.generate(body, GENERATIONS, OTHER);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.headers.get("idempotency-replayed")).toBeNull();
    expect(second.body.data).not.toEqual(first.body.data);
    expect((await withKey(fox)).body).toEqual(first.body);
    expect((await media.generate(body, GENERATIONS, OTHER)).body).toEqual(second.body);
    expect(media.billing.holds).toHaveLength(2);
  });

  test("has a generation of its own while the first one is not waited for", async () => {
    const prefer = { prefer: "respond-async" };
    const ids = [];
    for (const headers of [{ "idempotency-key": "k-1" }, OTHER, OTHER]) {
      const { status, body } = await media.generate(fox, GENERATIONS, { ...headers, ...prefer });
      expect([200, 202]).toContain(status);
      ids.push(status === 202 ? body.id : undefined);
    }
    expect(ids[1]).toBeDefined();
    expect(ids[1]).not.toBe(ids[0]);
    expect(media.billing.holds).toHaveLength(2);
  });
});
