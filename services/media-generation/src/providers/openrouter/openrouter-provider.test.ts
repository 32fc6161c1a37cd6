// OpenRouter's wire formats for media: their requests, their answers, and the conformance suite over both.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { ADAPTER_SECRET, jobOf, useAdapter } from "../../test/adapter-bench.ts";
import { describeConformance, type ProviderUnderTest } from "../../test/conformance.ts";
import { mp4Of } from "../../test/videos.ts";
import type { ImageJob, VideoJob } from "../provider.ts";
import { createOpenRouterProvider } from "./openrouter-provider.ts";

const fixture = async (name: string) =>
  JSON.parse(await readFile(new URL(`./fixtures/${name}.json`, import.meta.url), "utf8"));
const images = await fixture("images");
const video = await fixture("video");
const errors = await fixture("errors");

const create: ProviderUnderTest["create"] = ({ secret, baseUrl, outbound }) =>
  createOpenRouterProvider({ apiKey: secret, baseUrl: `${baseUrl}/api/v1/`, outbound });
const picture = { role: "image", type: "image/png", bytes: Buffer.from("a picture") } as const;
const reference = {
  type: "image_url",
  image_url: { url: `data:image/png;base64,${picture.bytes.toString("base64")}` },
};
const invalid: ProviderUnderTest["invalid"] = (message) => ({
  status: 400,
  body: { error: { ...errors.invalid.body.error, message } },
});

const imageJob = jobOf<ImageJob>("image", { fields: { aspect_ratio: "16:9", resolution: "2K" } });
const answerOf = (pictures: readonly Buffer[]) => ({
  status: 200,
  body: {
    ...images,
    data: pictures.map((bytes) => ({ ...images.data[0], b64_json: bytes.toString("base64") })),
  },
});

describeConformance({
  name: "openrouter, for images,",
  create,
  job: imageJob,
  submitted: (result) => answerOf(result),
  blocked: errors.moderation,
  invalid,
});

const videoJob = jobOf<VideoJob>("video", { fields: { seconds: 5 } });
const stateOf = (status: string) => ({
  status: status === "pending" ? 202 : 200,
  body: { id: video.id, polling_url: video.polling_url, status },
});

describeConformance({
  name: "openrouter, for videos,",
  create,
  job: videoJob,
  submitted: () => stateOf("pending"),
  blocked: errors.moderation,
  invalid,
  queue: {
    pending: [{ ...stateOf("pending"), status: 200 }, stateOf("in_progress")],
    done: (_made, urls) => ({ status: 200, body: { ...video, urls, unsigned_urls: undefined } }),
    ended: [
      [stateOf("failed"), "failed"],
      [stateOf("cancelled"), "failed"],
      [stateOf("expired"), "failed"],
      [errors.policy, "blocked"],
    ],
    neverCancels: true,
  },
});

describe("openrouter", () => {
  const bench = useAdapter(create);

  test.each([
    ["from words", [], {}],
    ["from pictures", [picture, picture], { input_references: [reference, reference] }],
  ])("is asked for an image %s, and for nothing that only some models take", async (_how, inputs, more) => {
    await bench.run({ ...imageJob, inputs }, answerOf([picture.bytes]));
    expect(bench.asked()).toMatchObject({ path: "/api/v1/images" });
    expect(bench.asked().json).toEqual({
      model: "m",
      prompt: "a fox",
      aspect_ratio: "16:9",
      resolution: "2K",
      ...more,
    });
  });

  const first = { ...reference, frame_type: "first_frame" };
  test.each([
    ["from words", [], {}],
    ["from a first frame", [picture], { frame_images: [first] }],
    [
      "between two",
      [picture, picture],
      { frame_images: [first, { ...reference, frame_type: "last_frame" }] },
    ],
    ["from more", [picture, picture, picture], { input_references: [reference, reference, reference] }],
  ])("is asked for a video %s, its length and sound in its own words", async (_how, inputs, more) => {
    const fields = { seconds: 5, size: "1280x720", audio: false };
    const done = { status: 200, body: video };
    await bench.run({ ...videoJob, inputs, fields }, stateOf("pending"), done);
    expect(bench.asked(0)).toMatchObject({ path: "/api/v1/videos" });
    expect(bench.asked(0).json).toEqual({
      model: "m",
      prompt: "a fox",
      size: "1280x720",
      duration: 5,
      generate_audio: false,
      ...more,
    });
    expect(bench.asked(1)).toMatchObject({ path: `/api/v1/videos/${video.id}` });
  });

  test("a video without a signed link is fetched with the key, at its own host", async () => {
    const film = mp4Of();
    const content = { status: 200, headers: { "content-type": "video/mp4" }, body: film };
    const result = await bench.run(videoJob, stateOf("pending"), { status: 200, body: video }, content);
    expect(await bench.readAll(result)).toEqual([film]);
    const { path, headers } = bench.asked(2);
    expect(path).toBe(`/api/v1/videos/${video.id}/content?index=0`);
    expect(headers.authorization).toBe(`Bearer ${ADAPTER_SECRET}`);
  });

  test.each([
    [0.25, 250_000_000_000n],
    [0.038703, 38_703_000_000n],
    [1e-13, 1n],
    [0, 0n],
    [-1, undefined],
    ["0.25", undefined],
  ])("a cost of %j is billed as %s pico-USD", async (cost, billed) => {
    const body = { ...video, usage: { cost } };
    const result = await bench.run(videoJob, stateOf("pending"), { status: 200, body });
    expect(result.usage?.billed).toBe(billed);
  });

  test("a 403 without reasons is an operator's matter, one that names the policy is not", async () => {
    const forbidden = { status: 403, body: { error: { code: 403, message: "no access", metadata: null } } };
    expect(await bench.failure(videoJob, forbidden)).toMatchObject({ kind: "misconfigured" });
    expect(await bench.failure(videoJob, errors.policy)).toMatchObject({ kind: "blocked", accepted: false });
  });
});
