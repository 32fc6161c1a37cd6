// ModelArk's wire formats: their requests, their answers, and the conformance suite over both.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { jobOf, useAdapter } from "../../test/adapter-bench.ts";
import { describeConformance, type ProviderUnderTest } from "../../test/conformance.ts";
import type { ImageJob, VideoJob } from "../provider.ts";
import { createBytePlusProvider } from "./byteplus-provider.ts";

const fixture = async (name: string) =>
  JSON.parse(await readFile(new URL(`./fixtures/${name}.json`, import.meta.url), "utf8"));
const images = await fixture("images");
const task = await fixture("task");
const errors = await fixture("errors");

const create: ProviderUnderTest["create"] = ({ secret, ...rest }) =>
  createBytePlusProvider({ apiKey: secret, ...rest });
const picture = { role: "image", type: "image/png", bytes: Buffer.from("a picture") } as const;
const uri = `data:image/png;base64,${picture.bytes.toString("base64")}`;

const imageJob = jobOf<ImageJob>("image", { model: "seedream-4-5-251128", fields: { size: "2848x1600" } });
const imagesWith = (data: readonly object[], rest: object = {}) => ({
  status: 200,
  body: { ...images, data, ...rest },
});
const invalid: ProviderUnderTest["invalid"] = (message) => ({
  status: 400,
  body: { error: { ...errors.invalid.body.error, message } },
});

describeConformance({
  name: "byteplus, for images,",
  create,
  job: imageJob,
  submitted: (_made, links) => imagesWith(links.map((url) => ({ ...images.data[0], url }))),
  blocked: errors.sensitive,
  invalid,
});

const videoJob = jobOf<VideoJob>("video", {
  model: "dreamina-seedance-2-0-260128",
  fields: { ratio: "16:9", resolution: "720p", seconds: 5 },
});
const accepted = { status: 200, body: { id: task.id } };
const stateOf = (status: string, rest: object = {}) => ({
  status: 200,
  body: { id: task.id, model: task.model, status, ...rest },
});
const doneAt = (video_url?: string) => ({ status: 200, body: { ...task, content: { video_url } } });

describeConformance({
  name: "byteplus, for videos,",
  create,
  job: videoJob,
  submitted: () => accepted,
  blocked: errors.sensitive,
  invalid,
  queue: {
    pending: [stateOf("queued"), stateOf("running")],
    done: (_made, [url]) => doneAt(url),
    ended: [
      [stateOf("failed", { error: { code: "InternalServiceError", message: "no" } }), "failed"],
      [
        stateOf("failed", { error: { code: "OutputVideoSensitiveContentDetected", message: "no" } }),
        "blocked",
      ],
      [stateOf("cancelled"), "failed"],
      [stateOf("expired"), "failed"],
      [doneAt(), "failed"],
    ],
  },
});

describe("byteplus", () => {
  const bench = useAdapter(create);

  test.each([
    ["no picture", [], {}],
    ["one", [picture], { image: uri }],
    ["several", [picture, picture], { image: [uri, uri] }],
  ])("is asked for an image with %s, and for no watermark", async (_how, inputs, pictures) => {
    await bench.run({ ...imageJob, inputs }, imagesWith(images.data));
    expect(bench.asked()).toMatchObject({ path: "/images/generations" });
    expect(bench.asked().json).toEqual({
      model: "seedream-4-5-251128",
      prompt: "a fox",
      size: "2848x1600",
      response_format: "url",
      watermark: false,
      ...pictures,
    });
  });

  test.each([
    ["no picture", []],
    ["a first frame", ["first_frame"]],
    ["a first and a last frame", ["first_frame", "last_frame"]],
    ["references", ["reference_image", "reference_image", "reference_image"]],
  ])("is asked for a video with %s, sound as it was wanted, and for no watermark", async (_how, roles) => {
    const job = {
      ...videoJob,
      inputs: roles.map(() => picture),
      fields: { ...videoJob.fields, audio: false },
    };
    await bench.run(job, accepted, { status: 200, body: task });
    expect(bench.asked()).toMatchObject({ path: "/contents/generations/tasks" });
    expect(bench.asked().json).toEqual({
      model: "dreamina-seedance-2-0-260128",
      content: [
        { type: "text", text: "a fox" },
        ...roles.map((role) => ({ type: "image_url", image_url: { url: uri }, role })),
      ],
      ratio: "16:9",
      resolution: "720p",
      duration: 5,
      generate_audio: false,
      watermark: false,
    });
  });

  test.each([
    ["OutputImageSensitiveContentDetected", "blocked"],
    ["InputImageSensitiveContentDetected.PrivacyInformation", "blocked"],
    ["InputTextRiskDetection", "blocked"],
    ["InternalServiceError", "failed"],
  ])("a picture that is the error %s within a good answer is %s", async (code, kind) => {
    const usage = { generated_images: 0, output_tokens: 0, total_tokens: 0 };
    const error = await bench.failure(imageJob, imagesWith([{ error: { code, message: "no" } }], { usage }));
    expect(error).toMatchObject({ kind, accepted: true, usage: { tokens: { outputTokens: 0 } } });
  });

  test("reports the tokens of pictures and videos as those of what was made", async () => {
    const result = await bench.run(imageJob, imagesWith(images.data));
    expect(result.usage?.tokens).toEqual({ inputTokens: 0, outputTokens: 16_384, imageOutputTokens: 16_384 });
    const filmed = await bench.run(videoJob, accepted, { status: 200, body: task });
    expect(filmed.usage?.tokens).toMatchObject({ imageOutputTokens: 108_900 });
    const nonsense = imagesWith(images.data, { usage: { output_tokens: "many" } });
    expect((await bench.run(imageJob, nonsense)).usage).toBeUndefined();
  });
});
