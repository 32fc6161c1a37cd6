// Gemini's wire formats: their requests, their answers, and the conformance suite over both.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { ADAPTER_SECRET, jobOf, useAdapter } from "../../test/adapter-bench.ts";
import { describeConformance, type ProviderUnderTest } from "../../test/conformance.ts";
import type { ImageJob, VideoJob } from "../provider.ts";
import { createGeminiProvider } from "./gemini-provider.ts";

const fixture = async (name: string) =>
  JSON.parse(await readFile(new URL(`./fixtures/${name}.json`, import.meta.url), "utf8"));
const content = await fixture("content");
const interaction = await fixture("interaction");
const errors = await fixture("errors");

const create: ProviderUnderTest["create"] = ({ secret, ...rest }) =>
  createGeminiProvider({ apiKey: secret, ...rest });
const picture = { role: "image", type: "image/png", bytes: Buffer.from("a picture") } as const;

const imageJob = jobOf<ImageJob>("image", {
  model: "gemini-3-pro-image",
  fields: { aspectRatio: "16:9", imageSize: "2K" },
});
/** Returns an answer with these pictures after the drafts. */
function contentWith(result: readonly Buffer[], candidate: object = {}, rest: object = {}) {
  const [first] = content.candidates;
  const pictures = result.map((bytes) => ({
    inlineData: { mimeType: "image/png", data: bytes.toString("base64") },
  }));
  const parts = [...first.content.parts, ...pictures];
  const candidates = [{ ...first, content: { ...first.content, parts }, ...candidate }];
  return { status: 200, body: { ...content, candidates, ...rest } };
}
const invalid: ProviderUnderTest["invalid"] = (message) => ({
  status: 400,
  body: { error: { ...errors.invalid.body.error, message } },
});

describeConformance({
  name: "gemini, for images,",
  create,
  job: imageJob,
  submitted: (result) => contentWith(result),
  blocked: contentWith([], { finishReason: "IMAGE_SAFETY" }),
  invalid,
});

const videoJob = jobOf<VideoJob>("video", {
  model: "gemini-omni-1.1-flash",
  fields: { aspect_ratio: "16:9", resolution: "720p", seconds: 8 },
});
const began = (status = "in_progress") => ({
  status: 200,
  body: { id: interaction.id, object: "interaction", status },
});
/** Completed, with this as the model's output. */
function completed(output: readonly object[], usage: object = interaction.usage) {
  const [input, thought, result] = interaction.steps;
  return {
    status: 200,
    body: { ...interaction, usage, steps: [input, thought, { ...result, content: output }] },
  };
}
const refused = completed([{ type: "text", text: "I cannot make that." }], {
  total_output_tokens: 9,
  output_tokens_by_modality: [{ modality: "text", tokens: 9 }],
});

describeConformance({
  name: "gemini, for videos,",
  create,
  job: videoJob,
  submitted: () => began(),
  invalid,
  queue: {
    pending: [began("queued"), began(), errors.unknown_interaction],
    done: (result) => completed(result.map((bytes) => ({ type: "video", data: bytes.toString("base64") }))),
    ended: [
      [began("failed"), "failed"],
      [began("cancelled"), "failed"],
      [began("budget_exceeded"), "failed"],
      [{ status: 200, body: { ...began("failed").body, error: { code: "SAFETY" } } }, "blocked"],
      [refused, "blocked"],
      [completed([]), "failed"],
    ],
  },
});

describe("gemini", () => {
  const bench = useAdapter(create);

  test("is asked for a picture in the words of the catalogue, input pictures inline, and shows the key in its header", async () => {
    await bench.run({ ...imageJob, inputs: [picture] }, contentWith([Buffer.from("x")]));
    const { path, headers, json } = bench.asked();
    expect(path).toBe("/models/gemini-3-pro-image:generateContent");
    expect(headers).toMatchObject({ "x-goog-api-key": ADAPTER_SECRET, "x-request-id": imageJob.requestId });
    const inlineData = { mimeType: "image/png", data: picture.bytes.toString("base64") };
    expect(json).toEqual({
      contents: [{ role: "user", parts: [{ text: "a fox" }, { inlineData }] }],
      generationConfig: { responseModalities: ["IMAGE"], imageConfig: imageJob.fields },
    });
  });

  test("gives the last picture that is no draft, as it says what it is", async () => {
    const result = await bench.run(imageJob, contentWith([Buffer.from("first"), Buffer.from("last")]));
    expect(result.artifacts).toMatchObject([{ type: "image/png" }]);
    expect(await bench.readAll(result)).toEqual([Buffer.from("last")]);
  });

  test.each([
    ["SAFETY", "blocked"],
    ["PROHIBITED_CONTENT", "blocked"],
    ["IMAGE_PROHIBITED_CONTENT", "blocked"],
    ["NO_IMAGE", "failed"],
    ["IMAGE_OTHER", "failed"],
    ["STOP", "failed"],
  ])(
    "an answer without a picture that ended with %s is %s, and what it used is known",
    async (finishReason, kind) => {
      const error = await bench.failure(imageJob, contentWith([], { finishReason }));
      expect(error).toMatchObject({ kind, accepted: true, usage: { tokens: { inputTokens: 270 } } });
    },
  );

  test("a prompt that is refused is blocked", async () => {
    const body = { promptFeedback: { blockReason: "OTHER" }, usageMetadata: { promptTokenCount: 7 } };
    const error = await bench.failure(imageJob, { status: 200, body });
    expect(error).toMatchObject({ kind: "blocked", usage: { tokens: { inputTokens: 7, outputTokens: 0 } } });
  });

  test.each([
    [
      "pictures and thoughts apart",
      {},
      {
        inputTokens: 270,
        imageInputTokens: 258,
        outputTokens: 1330,
        reasoningTokens: 200,
        imageOutputTokens: 1120,
      },
    ],
    [
      "all as the picture's without details",
      { candidatesTokensDetails: undefined },
      { outputTokens: 1330, imageOutputTokens: 1130 },
    ],
    ["none when they are nonsense", { promptTokenCount: -1 }, undefined],
  ])("counts tokens: %s", async (_how, changed, tokens) => {
    const usageMetadata = { ...content.usageMetadata, ...changed };
    const { usage } = await bench.run(imageJob, contentWith([Buffer.from("x")], {}, { usageMetadata }));
    if (tokens === undefined) expect(usage).toBeUndefined();
    else expect(usage?.tokens).toMatchObject(tokens);
  });

  test.each([
    ["wrong_key", { kind: "misconfigured", accepted: false }],
    ["no_quota", { kind: "rate_limited", accepted: false, retryAfterMs: 22_000 }],
    ["overloaded", { kind: "unavailable", accepted: false }],
  ])("its error %s is told by its code", async (name, expected) => {
    expect(await bench.failure(imageJob, errors[name])).toMatchObject(expected);
  });

  test("is asked for a video in the background, its length as a string, sound unsaid", async () => {
    const job = { ...videoJob, inputs: [picture], fields: { ...videoJob.fields, audio: true } };
    await bench.run(job, completed([{ type: "video", data: "eA==" }]));
    expect(bench.asked()).toMatchObject({
      path: "/interactions",
      json: {
        model: "gemini-omni-1.1-flash",
        background: true,
        input: [
          { type: "image", data: picture.bytes.toString("base64"), mime_type: "image/png" },
          { type: "text", text: "a fox" },
        ],
        response_format: {
          type: "video",
          delivery: "uri",
          aspect_ratio: "16:9",
          resolution: "720p",
          duration: "8s",
        },
      },
    });
    expect(bench.asked()).not.toHaveProperty("json.response_format.audio");
  });

  test("counts a video's tokens as those of a picture that was made", async () => {
    const { usage } = await bench.run(videoJob, completed([{ type: "video", data: "eA==" }]));
    const tokens = {
      inputTokens: 270,
      imageInputTokens: 258,
      outputTokens: 46_396,
      imageOutputTokens: 46_336,
    };
    expect(usage?.tokens).toMatchObject({ ...tokens, reasoningTokens: 60 });
  });

  describe("a video that is a file", () => {
    const file = () => `${bench.server.url}/v1beta/files/7:download`;
    const result = async (uri = file()) =>
      bench.run(videoJob, began(), completed([{ type: "video", uri, mime_type: "video/mp4" }]));

    test("is fetched with the key, again when that fails", async () => {
      const done = await result();
      bench.server.play({ status: 404 }, { status: 200, body: Buffer.from("film") });
      expect(await bench.readAll(done)).toEqual([Buffer.from("film")]);
      expect(bench.asked(3)).toMatchObject({
        path: "/v1beta/files/7:download?alt=media",
        headers: { "x-goog-api-key": ADAPTER_SECRET },
      });
    });

    test("is followed to where it leads, without the key", async () => {
      const done = await result(`${file()}?alt=media`);
      bench.server.play({ status: 302, headers: { location: `${bench.elsewhere.url}/film` } });
      bench.elsewhere.play({ status: 200, body: Buffer.from("film") });
      expect(await bench.readAll(done)).toEqual([Buffer.from("film")]);
      expect(JSON.stringify(bench.elsewhere.requests)).not.toContain(ADAPTER_SECRET);
    });

    test("is not fetched with the key from any other host", async () => {
      const done = await result(`${bench.elsewhere.url}/film`);
      await expect(bench.readAll(done)).rejects.toMatchObject({ kind: "failed", accepted: true });
      expect(bench.elsewhere.requests).toEqual([]);
    });
  });
});
