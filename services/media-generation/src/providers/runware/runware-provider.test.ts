// Runware's wire format: its requests, its answers, and the conformance suite over both.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { jobOf, useAdapter } from "../../test/adapter-bench.ts";
import { describeConformance, type ProviderUnderTest } from "../../test/conformance.ts";
import type { ImageJob, InputPicture, MediaJob, VideoJob } from "../provider.ts";
import { createRunwareProvider } from "./runware-provider.ts";
import { taskIdOf } from "./runware-task.ts";

const answers = JSON.parse(await readFile(new URL("./fixtures/answers.json", import.meta.url), "utf8"));

const create: ProviderUnderTest["create"] = ({ secret, ...rest }) =>
  createRunwareProvider({ apiKey: secret, ...rest });
const imageJob = jobOf<ImageJob>("image", { model: "bytedance:seedream@4.5", fields: { resolution: "2K" } });
const videoJob = jobOf<VideoJob>("video", { model: "lightricks:ltx@2.3", fields: { fps: 25 } });
const task = taskIdOf(imageJob.requestId, 1);

const ok = (body: object) => ({ status: 200, body: JSON.stringify(body).replaceAll('"T"', `"${task}"`) });
const error = (code: string, rest: object = {}) => ({ ...answers.error, code, ...rest });
const image = (links: readonly string[], rest: object = {}) =>
  ok({ data: links.map((imageURL) => ({ ...answers.image, imageURL, ...rest })) });
const video = (links: readonly string[]) =>
  ok({ data: links.map((videoURL) => ({ ...answers.video, videoURL })) });
/** A result without a file. */
const nothing = ok({ data: [{ ...answers.image, imageURL: null }] });
const errors = (code: string, status = 200) => ({ ...ok({ data: [], errors: [error(code)] }), status });

describe.each([
  ["images", imageJob, image],
  ["videos", videoJob, video],
])("%s", (what, job, done) => {
  describeConformance({
    name: `runware, for ${what},`,
    create,
    job,
    submitted: () => ok(answers.accepted),
    blocked: errors("contentPolicyViolation", 400),
    invalid: (message) => ({ status: 400, body: { errors: [error("unsupportedDimensions", { message })] } }),
    queue: {
      pending: [ok(answers.processing), ok({ data: [] })],
      done: (_made, links) => (links.length === 0 ? nothing : done(links)),
      ended: [
        [errors("nsfwContentDetected"), "blocked"],
        [errors("invalidProviderContent", 400), "blocked"],
        [errors("inferenceError"), "failed"],
        [errors(answers.notFound.code, 400), "failed"],
        [errors("unsupportedDimensions"), "rejected"],
        [errors("insufficientCredits", 402), "misconfigured"],
        [errors("rateLimitExceeded", 429), "rate_limited"],
        [errors("internalServerError", 500), "unavailable"],
        [ok({ data: [{ ...answers.processing.data[0], status: "error" }] }), "failed"],
        [nothing, "failed"],
      ],
      neverCancels: true,
    },
    look: {
      found: ok({ data: [answers.image], errors: [answers.notFound] }),
      cost: 3_800_000_000n,
      unknown: { ...ok({ errors: [answers.notFound] }), status: 400 },
    },
  });
});

describe("runware", () => {
  const bench = useAdapter(create);
  const link = "https://im.runware.ai/a.png";
  const picture = (text: string, role: InputPicture["role"] = "image"): InputPicture => ({
    role,
    bytes: Buffer.from(text),
    type: "image/png",
  });
  const uri = (text: string) => `data:image/png;base64,${Buffer.from(text).toString("base64")}`;
  const sentFor = async (job: MediaJob) => {
    await bench.run(job, ok(answers.accepted), image([link]));
    return bench.asked().json;
  };

  test("is sent one task under an id of ours, and asked for it at the same address", async () => {
    const fields = { size: "2048x2048", "providerSettings.openai.quality": "high", seed: 7 };
    expect(await sentFor(jobOf<ImageJob>("image", { model: "openai:gpt-image@2", fields }))).toEqual([
      {
        taskType: "imageInference",
        taskUUID: task,
        model: "openai:gpt-image@2",
        positivePrompt: "a fox",
        numberResults: 1,
        outputType: "URL",
        outputFormat: "PNG",
        includeCost: true,
        deliveryMethod: "async",
        width: 2048,
        height: 2048,
        providerSettings: { openai: { quality: "high" } },
        seed: 7,
      },
    ]);
    expect(bench.asked(1).json).toEqual([{ taskType: "getResponse", taskUUID: task }]);
    expect(bench.server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /",
      "POST /",
    ]);
  });

  test("is told the length and the sound of a video", async () => {
    const fields = { size: "1920x1080", seconds: 6, audio: true };
    expect(await sentFor(jobOf<VideoJob>("video", { fields }))).toEqual([
      expect.objectContaining({
        taskType: "videoInference",
        outputFormat: "MP4",
        width: 1920,
        height: 1080,
        duration: 6,
        settings: { audio: true },
      }),
    ]);
  });

  test.each<[string, MediaJob["kind"], readonly InputPicture[], object]>([
    ["bfl:3@1", "image", [picture("a"), picture("b")], { referenceImages: [uri("a"), uri("b")] }],
    ["bfl:1@2", "image", [picture("a")], { seedImage: uri("a") }],
    ["lightricks:ltx@2.3", "video", [picture("a")], { frameImages: [{ image: uri("a"), frame: "first" }] }],
    [
      "bytedance:seedance@2.0",
      "video",
      [picture("a"), picture("b")],
      {
        frameImages: [
          { image: uri("a"), frame: "first" },
          { image: uri("b"), frame: "last" },
        ],
      },
    ],
    [
      "bytedance:seedance@2.0",
      "video",
      [picture("a"), picture("b"), picture("c")],
      { referenceImages: [uri("a"), uri("b"), uri("c")] },
    ],
  ])("takes pictures to %s along as it has them", async (model, kind, inputs, sent) => {
    expect(await sentFor(jobOf<MediaJob>(kind, { model, inputs }))).toEqual([
      expect.objectContaining({ inputs: sent }),
    ]);
  });

  test.each<[string, readonly InputPicture[]]>([
    ["openai:gpt-image@2", [picture("a"), picture("m", "mask")]],
    ["bfl:1@2", [picture("a"), picture("b")]],
  ])("does not ask %s for what it is not known to take", async (model, inputs) => {
    const failure = await bench.failure(jobOf<ImageJob>("image", { model, inputs }), ok(answers.accepted));
    expect(failure).toMatchObject({ kind: "misconfigured", accepted: false });
    expect(bench.server.requests).toEqual([]);
  });

  test.each([
    [0.0038, 3_800_000_000n],
    [1e-7, 100_000n],
    [0.1, 100_000_000_000n],
    [null, undefined],
    [-1, undefined],
  ])("a cost of %p is read digit by digit", async (cost, billed) => {
    const { usage } = await bench.run(imageJob, ok(answers.accepted), image([link], { cost }));
    expect(usage).toEqual(billed === undefined ? undefined : { billed });
  });

  test.each([
    ["contentPolicyViolation", 400, "blocked", false],
    ["invalidModel", 400, "misconfigured", false],
    ["missingParameter", 200, "rejected", false],
    ["providerError", 200, "failed", true],
    ["providerError", 503, "unavailable", false],
  ])("%s with status %i to a submission is %s, accepted: %p", async (code, status, kind, accepted) => {
    expect(await bench.failure(imageJob, errors(code, status))).toMatchObject({ kind, accepted });
  });

  test("ids of tasks follow from the request and the part, and look like random ones", () => {
    const ids = [1, 2, 10].map((part) => taskIdOf(imageJob.requestId, part));
    expect(new Set(ids).size).toBe(3);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(taskIdOf(imageJob.requestId, 1)).toBe(task);
  });

  test("a task that runs says how far it is", async () => {
    bench.server.play(ok({ data: [{ ...answers.processing.data[0], taskUUID: task }] }));
    const progress = await bench.provider.poll({ task }, new AbortController().signal);
    expect(progress).toMatchObject({ state: "pending", percent: 40 });
  });

  test("a look-up asks for all jobs that a request can have been, and adds up", async () => {
    const look = async (items: readonly object[], error: object = answers.notFound) => {
      bench.server.play(ok({ data: items, errors: [error] }));
      return bench.provider.lookUp?.(imageJob.requestId, new AbortController().signal);
    };
    expect(await look([answers.image, { ...answers.image, cost: 0.0002 }])).toBe(4_000_000_000n);
    expect(bench.asked().json).toHaveLength(10);
    expect(bench.asked().json).toContainEqual({ taskType: "getResponse", taskUUID: task });
    expect(await look([], error("inferenceError"))).toBeUndefined();
    for (const unpriced of [answers.processing.data[0], { ...answers.image, cost: null }]) {
      await expect(look([answers.image, unpriced])).rejects.toMatchObject({ kind: "unavailable" });
    }
    const general = error("invalidApiKey", { taskUUID: null });
    await expect(look([answers.image], general)).rejects.toMatchObject({ kind: "misconfigured" });
  });
});
