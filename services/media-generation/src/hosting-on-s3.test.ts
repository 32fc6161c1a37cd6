// The whole module with its files in a bucket: the hosted files, their download, and their deletion.
import { readdir } from "node:fs/promises";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createProviders } from "./providers/configured-providers.ts";
import type { MediaProvider } from "./providers/provider.ts";
import { caller, KEY_HEADER } from "./test/edge.ts";
import { type S3Server, startS3Server } from "./test/s3-server.ts";
import { answerOf, type MediaUnderTest, PATIENT, startMedia } from "./test/start-media.ts";
import { mp4Of } from "./test/videos.ts";

const fox = { model: "sandbox/image", prompt: "a fox" };
const film = mp4Of("moving pictures ".repeat(500_000));
const cinema: MediaProvider = {
  name: "queue",
  kinds: {
    video: {
      mostAtOnce: 1,
      submit: async () => ({ state: "succeeded", artifacts: [{ stream: slices(film), type: "video/mp4" }] }),
    },
  },
  poll: async (operation) => ({ state: "pending", operation, pollAfterMs: 50 }),
  cancel: async () => undefined,
};

function slices(file: Buffer): Buffer[] {
  const length = 64 * 1024;
  return Array.from({ length: Math.ceil(file.length / length) }, (_, n) =>
    file.subarray(n * length, (n + 1) * length),
  );
}

let simulator: RunningSimulator;
let bucket: S3Server;
let media: MediaUnderTest;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  bucket = await startS3Server();
  media = await startMedia({
    upstreamUrl: simulator.url,
    env: { ...PATIENT, ...bucket.env },
    providers: (config, outbound) => new Map([...createProviders(config, outbound), ["queue", cinema]]),
  });
});
afterAll(async () => {
  await media.stop();
  await bucket.stop();
  await simulator.close();
});
beforeEach(() => bucket.empty());
afterEach(async () => expect(await readdir(media.dataDir)).toEqual([]));

const pathOf = (url: string) => new URL(url).pathname;
const get = (url: string, headers: Record<string, string> = {}) =>
  fetch(media.url() + pathOf(url), { headers });

describe("media in a bucket", () => {
  test("a picture comes from there, with its headers, in the log too, and goes when it is deleted", async () => {
    const { headers, body } = await media.generate(fox);
    const [{ url }] = body.data;
    const key = pathOf(url).slice(1);
    expect((await bucket.keys()).sort()).toEqual([key.replace(".webp", ".preview.webp"), key]);
    const response = await get(url);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/webp",
      "content-length": String((await response.arrayBuffer()).byteLength),
      "x-content-type-options": "nosniff",
      "cache-control": "public, max-age=31536000, immutable",
    });
    const id = headers.get("x-request-id");
    expect((await media.logged(id)).body.data).toMatchObject(body.data);
    const remove = { method: "DELETE", headers: { [KEY_HEADER]: caller.keyId } };
    expect((await answerOf(await fetch(`${media.url()}/v1/generations/${id}`, remove))).status).toBe(200);
    expect(await bucket.keys()).toEqual([]);
    expect((await get(url)).status).toBe(404);
  });

  test("a video longer than one part comes whole and by ranges", async () => {
    const asked = { model: "sandbox/video", prompt: "a fox" };
    const { body } = await media.generate(asked, "/v1/compat/videos/generations");
    const [{ url }] = body.data;
    expect(Buffer.from(await (await get(url)).arrayBuffer()).equals(film)).toBe(true);
    const part = await get(url, { range: "bytes=6000000-6000015" });
    expect([part.status, part.headers.get("content-range")]).toEqual([
      206,
      `bytes 6000000-6000015/${film.length}`,
    ]);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(film.subarray(6_000_000, 6_000_016));
    expect((await get(url, { range: `bytes=${film.length}-` })).status).toBe(416);
  });

  test("what was asked for as base64 can be fetched again, since it was charged", async () => {
    const { headers, body } = await media.generate({ ...fox, response_format: "b64_json" });
    const { data } = (await media.logged(headers.get("x-request-id"))).body;
    const again = Buffer.from(await (await get(data[0].url)).arrayBuffer());
    expect(again.equals(Buffer.from(body.data[0].b64_json, "base64"))).toBe(true);
  });

  test.each([
    ["picture", "/v1/compat/images/generations", "sandbox/image"],
    ["video", "/v1/compat/videos/generations", "sandbox/video"],
  ])("of an ephemeral %s no byte gets there", async (_, path, model) => {
    const asked = { model, prompt: "a fox", response_format: "b64_ephemeral" };
    const { status, body } = await media.generate(asked, path);
    expect([status, body.data.length]).toEqual([200, 1]);
    expect(await bucket.keys()).toEqual([]);
  });

  test("of a picture that failed nothing is left there", async () => {
    const { status } = await media.generate({ ...fox, model: "sandbox/image-error" });
    expect(status).toBeGreaterThanOrEqual(500);
    expect(await bucket.keys()).toEqual([]);
  });
});

test("while the bucket is away nothing is charged, files are 503, and the process says that it is not ready", async () => {
  const away = await startS3Server();
  const own = await startMedia({ upstreamUrl: simulator.url, env: { ...PATIENT, ...away.env } });
  try {
    const { body } = await own.generate(fox);
    const file = own.url() + pathOf(body.data[0].url);
    await away.stop();
    const failed = await own.generate(fox);
    expect({ status: failed.status, charged: own.billing.holds[1]?.chargedCredits }).toEqual({
      status: 500,
      charged: 0n,
    });
    const answer = await answerOf(await fetch(file));
    expect([answer.status, answer.body.error.code]).toEqual([503, "service_unavailable"]);
    expect(answer.headers.get("retry-after")).toBe("1");
  } finally {
    await own.stop();
  }
});
