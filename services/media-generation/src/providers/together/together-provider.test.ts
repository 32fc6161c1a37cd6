// Together's wire formats: their requests and hosts, their answers, and the conformance suite over both.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { jobOf, useAdapter } from "../../test/adapter-bench.ts";
import { describeConformance, type ProviderUnderTest } from "../../test/conformance.ts";
import type { ImageJob, VideoJob } from "../provider.ts";
import { createTogetherProvider } from "./together-provider.ts";

const fixture = async (name: string) =>
  JSON.parse(await readFile(new URL(`./fixtures/${name}.json`, import.meta.url), "utf8"));
const images = await fixture("images");
const video = await fixture("video");
const errors = await fixture("errors");

const create: ProviderUnderTest["create"] = ({ secret, baseUrl, outbound }) =>
  createTogetherProvider({
    apiKey: secret,
    baseUrl: `${baseUrl}/v1`,
    videoBaseUrl: `${baseUrl}/v2`,
    outbound,
  });
const picture = { role: "image", type: "image/png", bytes: Buffer.from("a picture") } as const;
const uri = `data:image/png;base64,${picture.bytes.toString("base64")}`;

const imageJob = jobOf<ImageJob>("image", { model: "black-forest-labs/FLUX.2-pro", fields: { steps: 28 } });
const imagesAt = (urls: readonly string[]) => ({
  status: 200,
  body: { ...images, data: urls.map((url, index) => ({ ...images.data[0], index, url })) },
});
const invalid: ProviderUnderTest["invalid"] = (message) => ({
  status: 400,
  body: { error: { ...errors.invalid.body.error, message } },
});

describeConformance({
  name: "together, for images,",
  create,
  job: imageJob,
  submitted: (_made, links) => imagesAt(links),
  invalid,
});

const videoJob = jobOf<VideoJob>("video", { model: "pixverse/pixverse-v5", fields: { seconds: 5 } });
const stateOf = (status?: string) => ({
  status: 200,
  body: { ...video, status, outputs: undefined, completed_at: undefined },
});
const doneWith = (outputs: object) => ({ status: 200, body: { ...video, outputs } });

describeConformance({
  name: "together, for videos,",
  create,
  job: videoJob,
  submitted: () => stateOf("in_progress"),
  invalid,
  queue: {
    pending: [stateOf("queued"), stateOf("in_progress")],
    done: (_made, [video_url]) => doneWith({ cost: 0.28, video_url }),
    ended: [
      [stateOf("failed"), "failed"],
      [stateOf("cancelled"), "failed"],
    ],
    neverCancels: true,
  },
});

describe("together", () => {
  const bench = useAdapter(create);

  test.each([
    ["from words", [], {}],
    ["with references", [picture, picture], { reference_images: [uri, uri] }],
  ])(
    "is asked for an image %s, its size as numbers, at the host of images",
    async (_how, inputs, pictures) => {
      await bench.run({ ...imageJob, inputs, fields: { size: "1536x1152" } }, imagesAt(["https://x.test/1"]));
      expect(bench.asked()).toMatchObject({ path: "/v1/images/generations" });
      expect(bench.asked().json).toEqual({
        model: "black-forest-labs/FLUX.2-pro",
        prompt: "a fox",
        n: 1,
        response_format: "url",
        width: 1536,
        height: 1152,
        ...pictures,
      });
    },
  );

  const first = { input_image: uri, frame: "first" };
  test.each([
    ["from words", [], {}],
    ["from a first frame", [picture], { media: { frame_images: [first] } }],
    ["between two", [picture, picture], { media: { frame_images: [first, { ...first, frame: "last" }] } }],
    ["with references", [picture, picture, picture], { media: { reference_images: [uri, uri, uri] } }],
  ])("is asked for a video %s, its length as text, at the host of videos", async (_how, inputs, pictures) => {
    const job = { ...videoJob, inputs, fields: { seconds: 5, size: "1280x720", audio: true } };
    await bench.run(job, stateOf(), { status: 200, body: video });
    expect(bench.asked(0)).toMatchObject({ path: "/v2/videos" });
    expect(bench.asked(0).json).toEqual({
      model: "pixverse/pixverse-v5",
      prompt: "a fox",
      width: 1280,
      height: 720,
      seconds: "5",
      generate_audio: true,
      ...pictures,
    });
    expect(bench.asked(1)).toMatchObject({ path: `/v2/videos/${video.id}` });
  });

  test.each([
    [0.28, 280_000_000_000n],
    [0.1 + 0.2, 300_000_000_001n],
    [0, 0n],
    [-1, undefined],
    ["0.28", undefined],
  ])("a cost of %j is billed as %s pico-USD", async (cost, billed) => {
    const result = await bench.run(videoJob, stateOf(), doneWith({ ...video.outputs, cost }));
    expect(result.usage?.billed).toBe(billed);
  });
});
