// xAI's wire formats: their requests, their answers, and the conformance suite over both.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { jobOf, useAdapter } from "../../test/adapter-bench.ts";
import { describeConformance, type ProviderUnderTest } from "../../test/conformance.ts";
import type { ImageJob, VideoJob } from "../provider.ts";
import { createXaiProvider } from "./xai-provider.ts";

const fixture = async (name: string) =>
  JSON.parse(await readFile(new URL(`./fixtures/${name}.json`, import.meta.url), "utf8"));
const images = await fixture("images");
const video = await fixture("video");
const errors = await fixture("errors");

const create: ProviderUnderTest["create"] = ({ secret, ...rest }) =>
  createXaiProvider({ apiKey: secret, ...rest });
const picture = { role: "image", type: "image/png", bytes: Buffer.from("a picture") } as const;
const uri = `data:image/png;base64,${picture.bytes.toString("base64")}`;

const imageJob = jobOf<ImageJob>("image", {
  model: "grok-imagine-image-2.0",
  fields: { aspect_ratio: "16:9", resolution: "1k", quality: "low" },
});
const imagesAt = (urls: readonly string[], changed: object = {}) => ({
  status: 200,
  body: { ...images, data: urls.map((url) => ({ ...images.data[0], url, ...changed })) },
});
const invalid: ProviderUnderTest["invalid"] = (error) => ({
  status: 400,
  body: { ...errors.flat.body, error },
});

describeConformance({
  name: "xai, for images,",
  create,
  job: imageJob,
  submitted: (_made, links) => imagesAt(links),
  blocked: imagesAt([""]),
  invalid,
});

const videoJob = jobOf<VideoJob>("video", {
  model: "grok-imagine-video",
  fields: { aspect_ratio: "16:9", resolution: "480p", seconds: 8 },
});
const accepted = { status: 200, body: { request_id: "7e4c" } };
const done = (changed: object, rest: object = {}) => ({
  status: 200,
  body: { ...video, video: { ...video.video, ...changed }, ...rest },
});

describeConformance({
  name: "xai, for videos,",
  create,
  job: videoJob,
  submitted: () => accepted,
  invalid,
  queue: {
    pending: [
      { status: 202 },
      { status: 202, body: { status: "pending", progress: 4 } },
      { status: 200, body: { status: "pending", progress: 50 } },
    ],
    done: (_made, [url]) => (url === undefined ? { status: 200, body: { status: "done" } } : done({ url })),
    ended: [
      [{ status: 200, body: { status: "expired" } }, "failed"],
      [{ status: 200, body: { status: "failed", error: { code: "internal", message: "no" } } }, "failed"],
      [done({ url: "", respect_moderation: false }), "blocked"],
    ],
    neverCancels: true,
  },
});

describe("xai", () => {
  const bench = useAdapter(create);

  test.each([
    ["without pictures, to be made", [], "/images/generations", {}],
    ["with one, to be edited", [picture], "/images/edits", { image: { url: uri, type: "image_url" } }],
    [
      "with two, to be edited",
      [picture, picture],
      "/images/edits",
      { images: [uri, uri].map((url) => ({ url, type: "image_url" })) },
    ],
  ])("is asked for an image %s", async (_how, inputs, path, pictures) => {
    await bench.run({ ...imageJob, inputs }, imagesAt(["https://x.test/1.jpg"]));
    expect(bench.asked()).toMatchObject({ path });
    expect(bench.asked().json).toEqual({
      model: "grok-imagine-image-2.0",
      prompt: "a fox",
      n: 1,
      response_format: "url",
      ...imageJob.fields,
      ...pictures,
    });
  });

  test.each([
    ["from words", [], {}],
    ["from a first frame", [picture], { image: { url: uri } }],
    ["with references", [picture, picture], { reference_images: [{ url: uri }, { url: uri }] }],
  ])("is asked for a video %s, its length as a number, sound unsaid", async (_how, inputs, pictures) => {
    const job = { ...videoJob, inputs, fields: { ...videoJob.fields, audio: true } };
    await bench.run(job, accepted, done({}));
    expect(bench.asked()).toMatchObject({ path: "/videos/generations" });
    expect(bench.asked().json).toEqual({
      model: "grok-imagine-video",
      prompt: "a fox",
      aspect_ratio: "16:9",
      resolution: "480p",
      duration: 8,
      ...pictures,
    });
  });

  test.each([
    [200_000_000, 20_000_000_000n],
    [0, 0n],
    [1, 100n],
    [-1, undefined],
    ["200000000", undefined],
  ])("%j ticks are billed as %s pico-USD", async (cost_in_usd_ticks, billed) => {
    const { body } = imagesAt(["https://x.test/1.jpg"]);
    const answer = { status: 200, body: { ...body, usage: { cost_in_usd_ticks } } };
    expect((await bench.run(imageJob, answer)).usage?.billed).toBe(billed);
    const filmed = await bench.run(videoJob, accepted, done({}, { usage: { cost_in_usd_ticks } }));
    expect(filmed.usage?.billed).toBe(billed);
  });

  test.each([
    [{ status: "pending", progress: 30 }, 30],
    [{ status: "pending" }, undefined],
    [{ status: "pending", progress: "soon" }, undefined],
  ])("a video that is made says how far it is: %j", async (body, percent) => {
    bench.server.play({ status: 202, body });
    const progress = await bench.provider.poll({ video: "v" }, new AbortController().signal);
    expect(progress).toMatchObject({ state: "pending", percent });
  });

  test("what moderation took away was billed", async () => {
    const script = imagesAt(["https://x.test/1.jpg"], { respect_moderation: false });
    expect(await bench.failure(imageJob, script)).toMatchObject({
      kind: "blocked",
      accepted: true,
      usage: { billed: 20_000_000_000n },
    });
  });

  test("a picture in the answer is taken as well as a link, and a video without a state", async () => {
    const inside = { ...images.data[0], url: undefined, b64_json: Buffer.from("x").toString("base64") };
    const result = await bench.run(imageJob, { status: 200, body: { ...images, data: [inside] } });
    expect(await bench.readAll(result)).toEqual([Buffer.from("x")]);
    const filmed = await bench.run(videoJob, accepted, done({}, { status: undefined }));
    expect(filmed.artifacts).toEqual([{ url: video.video.url, type: "video/mp4" }]);
  });

  test.each(["flat", "nested"])("a %s error is told in its own words", async (shape) => {
    const error = await bench.failure(imageJob, errors[shape]);
    expect(error).toMatchObject({ kind: "rejected", accepted: false, message: "prompt is too long" });
  });
});
