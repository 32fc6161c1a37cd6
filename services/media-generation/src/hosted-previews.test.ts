// Thumbnails and posters from request to deletion: at the address in the log, open to every client with the file's
// name, and deleted with the file.

import { MediaGenerationService } from "@gr/proto/media";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { drawFilm } from "@gr/simulator/film";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import sharp from "sharp";
import { createProviders } from "./providers/configured-providers.ts";
import type { MediaProvider } from "./providers/provider.ts";
import { caller } from "./test/edge.ts";
import { INTERNAL_AUTH_SECRET, type MediaUnderTest, PATIENT, startMedia } from "./test/start-media.ts";
import { mp4Of } from "./test/videos.ts";

const fox = { model: "sandbox/image", prompt: "a fox" };
const VIDEOS = "/v1/compat/videos/generations";

let film: Buffer;
let simulator: RunningSimulator;
let media: MediaUnderTest;
const cinema: MediaProvider = {
  name: "queue",
  kinds: {
    video: {
      mostAtOnce: 1,
      submit: async () => ({ state: "succeeded", artifacts: [{ stream: [film], type: "video/mp4" }] }),
    },
  },
  poll: async (operation) => ({ state: "pending", operation, pollAfterMs: 50 }),
  cancel: async () => undefined,
};

beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  const order = {
    prompt: "a fox",
    caption: "a video",
    seed: "1",
    index: 0,
    width: 1280,
    height: 720,
    seconds: 2,
  };
  film = await drawFilm(order, new AbortController().signal);
  media = await startMedia({
    upstreamUrl: simulator.url,
    env: PATIENT,
    providers: (config, outbound) => new Map([...createProviders(config, outbound), ["queue", cinema]]),
  });
});
afterAll(async () => {
  await media.stop();
  await simulator.close();
});

const served = async (url: string) => {
  const response = await fetch(media.url() + new URL(url).pathname);
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    bytes: await response.bytes(),
  };
};
const logged = async (headers: Headers) => (await media.logged(headers.get("x-request-id"))).body;

test("each picture has a thumbnail and each video its first picture; base64 ones too", async () => {
  const { headers } = await media.generate({ ...fox, n: 2, response_format: "b64_json" });
  const { data } = await logged(headers);
  expect(data).toHaveLength(2);
  for (const { thumbnail_url: url } of data) {
    const { status, type, bytes } = await served(url);
    expect([status, type]).toEqual([200, "image/webp"]);
    expect(await sharp(bytes).metadata()).toMatchObject({ format: "webp", width: 320, height: 320 });
  }
  const video = await media.generate({ model: "sandbox/video", prompt: "a fox" }, VIDEOS);
  const [{ poster_url: poster }] = (await logged(video.headers)).data;
  expect(await sharp((await served(poster)).bytes).metadata()).toMatchObject({ width: 640, height: 360 });
  const transport = createRemoteTransport(media.rpcUrl(), INTERNAL_AUTH_SECRET, systemClock);
  const rpc = createServiceClient(MediaGenerationService, "media-generation", transport);
  const { generations } = await rpc.listGenerations({ accountId: caller.accountId });
  const thumbnails = data.map((file: { thumbnail_url: string }) => file.thumbnail_url);
  expect(generations.map(({ previewUrls }) => previewUrls)).toEqual([[poster], thumbnails]);
});

test("they go with the files, and without a trace", async () => {
  const before = await media.files();
  const { headers } = await media.generate(fox);
  expect(await media.files()).toHaveLength(before.length + 2);
  const id = headers.get("x-request-id");
  await fetch(`${media.url()}/v1/generations/${id}`, { method: "DELETE" });
  expect((await media.files()).sort()).toEqual(before.sort());
});

test("a video that nobody can decode has none, and is charged and served as ever", async () => {
  film = mp4Of();
  const { status, headers } = await media.generate({ model: "sandbox/video", prompt: "a fox" }, VIDEOS);
  const { data, cost } = await logged(headers);
  expect({ status, cost, data }).toEqual({ status: 200, cost: 0.2, data: [{ url: expect.any(String) }] });
  expect(await media.metrics()).toContain('media_previews_total{kind="poster",result="failed"} 1');
});
