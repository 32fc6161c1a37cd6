// Videos from request to answer: the provider's request, the delivery, the storage and the charge.
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Artifact, MediaProvider, VideoJob } from "./providers/provider.ts";
import { ProviderError } from "./providers/provider-error.ts";
import { answerOf, type MediaUnderTest, movesOf, PATIENT, startMedia } from "./test/start-media.ts";
import { mp4Of } from "./test/videos.ts";

const PATH = "/v1/compat/videos/generations";
const fox = { model: "sandbox/video", prompt: "a fox" };

/** A queue with jobs that are done at their second poll. */
class FilmQueue {
  jobs: VideoJob[] = [];
  polls = 0;
  film = mp4Of();
  /** Form of the delivered video. */
  artifact: () => Artifact = () => ({ stream: [this.film], type: "video/mp4" });
  readonly provider: MediaProvider = {
    name: "queue",
    kinds: {
      video: {
        mostAtOnce: 1,
        submit: async (job) => {
          this.jobs.push(job);
          return { state: "pending", operation: { job: "1" }, pollAfterMs: 10 };
        },
      },
    },
    poll: async (operation) => {
      this.polls += 1;
      if (this.polls < 2) return { state: "pending", operation, pollAfterMs: 10 };
      return { state: "succeeded", artifacts: [this.artifact()] };
    },
    cancel: async () => undefined,
  };
}

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

const stored = (name: string) => readFile(join(media.dataDir, "media", name.slice(0, 2), name));

describe("a video", () => {
  test("by URL is the provider's file, charged by its seconds, and the log has the story", async () => {
    const asked = { ...fox, seconds: 5, size: "720x1280" };
    const { status, body } = await media.generate(asked, PATH);
    expect({ status, cost: body.cost }).toEqual({ status: 200, cost: 0.25 });
    expect(body.data[0].url).toMatch(/^https:\/\/media\.example\/media\/[0-9a-f]{40}\.mp4$/);
    const name = body.data[0].url.split("/").at(-1);
    const served = await fetch(`${media.url()}/media/${name}`);
    expect(served.headers.get("content-type")).toBe("video/mp4");
    expect(Buffer.from(await served.arrayBuffer())).toEqual(queue.film);
    expect(queue.jobs).toMatchObject([{ kind: "video", prompt: "a fox", count: 1 }]);
    expect(queue.jobs[0]?.fields).toEqual({ size: "720x1280", seconds: 5 });
    expect(await media.row()).toMatchObject({
      kind: "video",
      state: "succeeded",
      outputs: [name],
      request: { prompt: "a fox", n: 1, size: "720x1280", seconds: 5, output_format: "mp4" },
    });
    expect(media.billing.holds[0]).toMatchObject({ state: HoldState.CAPTURED, chargedCredits: 2_500n });
  });

  test("as base64 is the stored file, byte for byte", async () => {
    const { body } = await media.generate({ ...fox, response_format: "b64_json" }, PATH);
    const [name = ""] = await media.outputs();
    expect(Buffer.from(body.data[0].b64_json, "base64")).toEqual(await stored(name));
  });

  test("that is ephemeral leaves no file, no output and no prompt behind, and is charged", async () => {
    const { body } = await media.generate({ ...fox, response_format: "b64_ephemeral" }, PATH);
    expect(Buffer.from(body.data[0].b64_json, "base64")).toEqual(queue.film);
    expect(await media.files()).toEqual([]);
    const { outputs, request } = await media.row();
    expect({ outputs, request: JSON.stringify(request).includes("fox") }).toEqual({
      outputs: [],
      request: false,
    });
    expect(media.billing.charged).toBe(2_000n);
  });

  test("is the same request as a form and as JSON, and its answer is given again", async () => {
    const headers = { "idempotency-key": "film-1" };
    const first = await media.generate({ ...fox, seconds: 5 }, PATH, headers);
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...fox, seconds: "5" })) form.append(name, value);
    const again = await answerOf(await fetch(media.url() + PATH, { method: "POST", body: form, headers }));
    expect(again).toMatchObject({ status: 200, body: first.body });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(queue.jobs).toHaveLength(1);
  });

  test("that is no MP4 is not hosted, and nobody pays for it", async () => {
    queue.film = Buffer.from("<html>not a video</html>");
    const { status, body } = await media.generate(fox, PATH);
    expect({ status, code: body.error.code }).toEqual({ status: 502, code: "provider_error" });
    expect(await media.files()).toEqual([]);
    expect(media.billing.charged).toBe(0n);
  });
});

describe("what is made", () => {
  const restart = async (env: Record<string, string>) => {
    await media.stop();
    const providers = () => new Map([["queue", queue.provider]]);
    media = await startMedia({ upstreamUrl: "http://127.0.0.1:9", env: { ...PATIENT, ...env }, providers });
  };
  const pieces = (count: number): Artifact => ({
    stream: [queue.film, ...Array.from({ length: count }, () => Buffer.alloc(1_000))],
    type: "video/mp4",
  });
  const formats = ["url", "b64_json", "b64_ephemeral"] as const;

  test.each([
    ["MEDIA_MAX_VIDEO_BYTES", formats],
    ["MEDIA_MAX_BASE64_VIDEO_BYTES", formats.slice(1)],
  ])("is not taken beyond %s, and nobody pays for it", async (variable, bounded) => {
    await restart({ [variable]: "5000" });
    for (const response_format of formats) {
      queue.polls = 0;
      queue.artifact = () => pieces(5);
      const { status } = await media.generate({ ...fox, response_format }, PATH);
      expect([response_format, status]).toEqual([
        response_format,
        bounded.includes(response_format) ? 502 : 200,
      ]);
      queue.polls = 0;
      queue.artifact = () => pieces(4);
      expect((await media.generate({ ...fox, response_format }, PATH)).status).toBe(200);
    }
    const paid = formats.length + formats.length - bounded.length;
    expect(media.billing.charged).toBe(2_000n * BigInt(paid));
    expect((await media.outputs()).every((name) => name.endsWith(".mp4"))).toBe(true);
  });

  test("is fetched again when it breaks off, and then stored once and whole", async () => {
    let tries = 0;
    queue.artifact = () => ({
      type: "video/mp4",
      stream: {
        async *[Symbol.asyncIterator]() {
          tries += 1;
          yield queue.film;
          if (tries < 3) throw new ProviderError("unknown_outcome", "lost", { accepted: true });
          yield Buffer.from("its end");
        },
      },
    });
    expect((await media.generate(fox, PATH)).status).toBe(200);
    const [name = "", ...others] = await media.outputs();
    expect([others, await stored(name)]).toEqual([[], Buffer.concat([queue.film, Buffer.from("its end")])]);
  });

  test("and cannot be stored is our loss", async () => {
    const drafts = join(media.dataDir, "media", "drafts");
    await rm(drafts, { recursive: true, force: true });
    await writeFile(drafts, "a file where a folder should be");
    expect((await media.generate(fox, PATH)).status).toBe(500);
    expect(await media.row()).toMatchObject({ state: "failed", error_kind: "not_stored" });
    expect(media.billing.charged).toBe(0n);
  });

  test("waits for a place in memory only if it has to be there", async () => {
    await restart({ MEDIA_MAX_IN_MEMORY: "1" });
    const held = Promise.withResolvers<void>();
    let read = 0;
    const begin = async function* (film: Buffer) {
      read += 1;
      yield film;
      if (read === 1) await held.promise;
    };
    queue.artifact = () => ({
      type: "video/mp4",
      stream: { [Symbol.asyncIterator]: () => begin(queue.film) },
    });
    const patience = { timeoutMs: 60_000 };
    const ask = (response_format: string) => media.generate({ ...fox, response_format }, PATH);
    const first = ask("b64_ephemeral");
    await until(() => read === 1, patience);
    const second = ask("b64_ephemeral");
    await until(() => queue.jobs.length === 2, patience);
    const third = await ask("url");
    expect(third.status).toBe(200);
    expect(read).toBe(2);
    held.resolve();
    expect((await Promise.all([first, second])).map(({ status }) => status)).toEqual([200, 200]);
    expect(read).toBe(3);
  });

  test("keeps its place in memory until its client has taken it, and needs none if it is hosted", async () => {
    await restart({ MEDIA_MAX_IN_MEMORY: "1" });
    // Larger than the socket buffers between the two.
    queue.film = mp4Of("moving pictures".repeat(1_200_000));
    const bodyOf = async (response: Response) =>
      ((await response.json()) as { data: [{ b64_json: string }] }).data[0].b64_json;
    const ask = (response_format: string) =>
      fetch(media.url() + PATH, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...fox, response_format }),
      });
    const unread = await ask("b64_ephemeral");
    const second = ask("b64_ephemeral");
    const hosted = await bodyOf(await ask("b64_json"));
    expect(Buffer.from(hosted, "base64").equals(queue.film)).toBe(true);
    expect(await Promise.race([second, ask("url").then(() => "has to wait")])).toBe("has to wait");
    expect((await bodyOf(unread)) === hosted).toBe(true);
    expect((await bodyOf(await second)) === hosted).toBe(true);
  });

  test("may take longer than a picture", async () => {
    await restart({ MEDIA_TIMEOUT_MS: "1", VIDEO_TIMEOUT_MS: "60000" });
    expect((await media.generate(fox, PATH)).status).toBe(200);
    const { deadline_at: deadline, created_at: created } = await media.row();
    expect(Number(deadline) - Number(created)).toBeGreaterThanOrEqual(60_000);
  });
});

test.each([
  [{ model: "sandbox/image" }, "wrong_endpoint", "model"],
  [{ size: "64x64" }, "invalid_value", "size"],
  [{ seconds: 7 }, "invalid_value", "seconds"],
  [{ seconds: "long" }, "invalid_value", "seconds"],
  [{ audio: true }, "invalid_value", "audio"],
  [{ image: "https://x.example/a.png" }, "invalid_value", "image"],
])("a request with %j is %s of %s, without a hold or a row", async (fields, code, param) => {
  const { status, body } = await media.generate({ ...fox, ...fields }, PATH);
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ type: "invalid_request_error", code, param });
  expect(movesOf(media.billing)).toEqual([]);
  expect(await media.row()).toBeUndefined();
});
