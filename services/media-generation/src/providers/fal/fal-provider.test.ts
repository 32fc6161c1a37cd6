// fal's wire format: its requests, its answers, and the conformance suite over both.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { jobOf, useAdapter } from "../../test/adapter-bench.ts";
import { describeConformance, type ProviderUnderTest } from "../../test/conformance.ts";
import type { ScriptEntry } from "../../test/scripted-server.ts";
import type { ImageJob, InputPicture, VideoJob } from "../provider.ts";
import { createFalProvider } from "./fal-provider.ts";

const answers = JSON.parse(await readFile(new URL("./fixtures/answers.json", import.meta.url), "utf8"));

const create: ProviderUnderTest["create"] = ({ secret, ...rest }) =>
  createFalProvider({ apiKey: secret, ...rest });
const ok = (body: object) => ({ status: 200, body });
const STATUS = "/fal-ai/flux-pro/requests/7/status";
const RESULT = "/fal-ai/flux-pro/requests/7";
const submitted = (status = STATUS, response = RESULT) =>
  ok({ ...answers.submitted, status_url: status, response_url: response, cancel_url: `${response}/cancel` });
/** The job is over, and this is its result. */
function completed(result: object, status = 200, more: object = {}): ScriptEntry {
  return (response, { path }) => {
    const isStatus = path.endsWith("/status");
    const body = isStatus ? { ...answers.completed, ...more } : result;
    response.writeHead(isStatus ? 200 : status).end(JSON.stringify(body));
  };
}
const images = (links: readonly string[], rest: object = {}) => ({
  ...answers.images,
  images: links.map((url) => ({ ...answers.images.images[0], url })),
  ...rest,
});
const videos = ([url]: readonly string[]) =>
  url === undefined ? {} : { video: { ...answers.video.video, url } };
const invalid = (msg: string) => ({
  status: 422,
  body: { detail: [{ ...answers.invalid.detail[0], msg }] },
});

const imageJob = jobOf<ImageJob>("image", {
  model: "fal-ai/flux-pro/kontext/text-to-image",
  fields: { aspect_ratio: "16:9" },
});
const videoJob = jobOf<VideoJob>("video", { model: "moonvalley/marey/t2v", fields: { duration: "5s" } });

describe.each([
  ["images", imageJob, (links: readonly string[]) => images(links)],
  ["videos", videoJob, videos],
])("%s", (what, job, resultOf) => {
  describeConformance({
    name: `fal, for ${what},`,
    create,
    job,
    submitted: () => submitted(),
    blocked: { status: 422, body: answers.blocked },
    invalid,
    queue: {
      pending: [
        { status: 202, body: answers.queued },
        { status: 202, body: answers.running },
      ],
      done: (_made, links) => completed(resultOf(links)),
      ended: [
        [completed(answers.blocked, 422), "blocked"],
        [completed(answers.invalid, 422), "rejected"],
        [completed(images(["https://v3.fal.media/black.png"], { has_nsfw_concepts: [true] })), "blocked"],
        [completed(answers.crashed, 500), "failed"],
        [completed({ detail: "timed out" }, 504, { error_type: "request_timeout" }), "failed"],
        [completed({ detail: "try again" }, 503), "unavailable"],
      ],
      polledAt: (url) => submitted(url, url),
    },
  });
});

describe("fal", () => {
  const bench = useAdapter(create);
  const picture = (text: string, role: InputPicture["role"] = "image"): InputPicture => ({
    role,
    bytes: Buffer.from(text),
    type: "image/png",
  });
  const uri = (text: string) => `data:image/png;base64,${Buffer.from(text).toString("base64")}`;
  const done = completed(images(["https://v3.fal.media/files/a.png"]));

  test.each<[object, object]>([
    [
      { size: "1536x1024", quality: "high" },
      { image_size: { width: 1536, height: 1024 }, quality: "high" },
    ],
    [
      { image_size: "square_hd", output_format: "jpeg" },
      { image_size: "square_hd", output_format: "jpeg" },
    ],
    [{}, {}],
  ])("%j of an image is said as %j", async (fields, sent) => {
    await bench.run(jobOf<ImageJob>("image", { ...imageJob, fields: { ...fields } }), submitted(), done);
    expect(bench.asked().json).toEqual({ prompt: "a fox", output_format: "png", ...sent });
    expect(bench.asked().headers).toMatchObject({ authorization: "Key sk-secret" });
  });

  test.each<[object, object]>([
    [
      { size: "720x1280", seconds: 5, audio: true },
      { aspect_ratio: "9:16", resolution: "720p", duration: "5", generate_audio: true },
    ],
    [
      { dimensions: "1920x1080", duration: "5s" },
      { dimensions: "1920x1080", duration: "5s" },
    ],
  ])("%j of a video is said as %j", async (fields, sent) => {
    const job = jobOf<VideoJob>("video", { ...videoJob, fields: { ...fields } });
    const delivered = await bench.run(job, submitted(), completed(answers.video));
    expect(bench.asked().json).toEqual({ prompt: "a fox", ...sent });
    expect(delivered.artifacts).toEqual([{ url: answers.video.video.url, type: "video/mp4" }]);
  });

  test("is followed at the addresses of its answer, which leave out the last part of the model's name", async () => {
    await bench.run(imageJob, submitted(), done);
    expect(bench.server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /fal-ai/flux-pro/kontext/text-to-image",
      `GET ${STATUS}`,
      `GET ${RESULT}`,
    ]);
  });

  test.each<[string, readonly InputPicture[], string, object]>([
    [imageJob.model, [picture("a")], "/fal-ai/flux-pro/kontext", { image_url: uri("a") }],
    [
      "fal-ai/flux-2-pro",
      [picture("a"), picture("b")],
      "/fal-ai/flux-2-pro/edit",
      { image_urls: [uri("a"), uri("b")] },
    ],
    [
      "openai/gpt-image-2",
      [picture("a"), picture("m", "mask")],
      "/openai/gpt-image-2/edit",
      { image_urls: [uri("a")], mask_url: uri("m") },
    ],
    ["moonvalley/marey/t2v", [picture("a")], "/moonvalley/marey/i2v", { image_url: uri("a") }],
  ])("takes pictures to %s along as it has them", async (model, inputs, path, fields) => {
    await bench.run(jobOf<ImageJob>("image", { model, inputs }), submitted(), done);
    expect(bench.asked()).toMatchObject({ path, json: fields });
  });

  test.each<[string, readonly InputPicture[]]>([
    ["fal-ai/flux/schnell", [picture("a")]],
    [imageJob.model, [picture("a"), picture("b")]],
    [imageJob.model, [picture("a"), picture("m", "mask")]],
  ])("does not ask %s for what it is not known to take", async (model, inputs) => {
    const failure = await bench.failure(jobOf<ImageJob>("image", { model, inputs }), submitted());
    expect(failure).toMatchObject({ kind: "misconfigured", accepted: false });
    expect(bench.server.requests).toEqual([]);
  });

  test("reports tokens where the result has them", async () => {
    const result = images(["https://v3.fal.media/files/a.png"], { usage: answers.usage });
    expect((await bench.run(imageJob, submitted(), completed(result))).usage).toEqual({
      tokens: { inputTokens: 50, imageInputTokens: 40, outputTokens: 196 },
    });
  });

  test("a job that ended with a server's error is not billed", async () => {
    const failure = await bench.failure(imageJob, submitted(), completed(answers.crashed, 500));
    expect(failure).toMatchObject({ kind: "failed", accepted: true, usage: { billed: 0n } });
  });
});
