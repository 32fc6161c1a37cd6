// Replicate's wire format: its requests, its answers, and the conformance suite over both.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { jobOf, useAdapter } from "../../test/adapter-bench.ts";
import { describeConformance, type ProviderUnderTest } from "../../test/conformance.ts";
import type { ImageJob, InputPicture, MediaJob, VideoJob } from "../provider.ts";
import { createReplicateProvider } from "./replicate-provider.ts";

const answers = JSON.parse(await readFile(new URL("./fixtures/answers.json", import.meta.url), "utf8"));

const create: ProviderUnderTest["create"] = ({ secret, ...rest }) =>
  createReplicateProvider({ apiKey: secret, ...rest });
const created = (rest: object = {}) => ({ status: 201, body: { ...answers.created, ...rest } });
const polled = (status: string, rest: object = {}) => ({
  status: 200,
  body: { ...answers.succeeded, status, output: null, ...rest },
});
const succeeded = (output: unknown) => polled("succeeded", { output });

const imageJob = jobOf<ImageJob>("image", {
  model: "black-forest-labs/flux-schnell",
  fields: { aspect_ratio: "16:9" },
});
const videoJob = jobOf<VideoJob>("video", { model: "kwaivgi/kling-v2.1", fields: { mode: "pro" } });

describe.each<[string, MediaJob]>([
  ["images", imageJob],
  ["videos", videoJob],
])("%s", (what, job) => {
  describeConformance({
    name: `replicate, for ${what},`,
    create,
    job,
    submitted: () => created(),
    blocked: created({ status: "failed", error: answers.flagged }),
    invalid: (detail) => ({ status: 422, body: { ...answers.invalid, detail } }),
    queue: {
      pending: [polled("starting"), polled("processing"), polled("reticulating")],
      done: (_made, links) => succeeded(links),
      ended: [
        [polled("failed", { error: "CUDA out of memory" }), "failed"],
        [polled("failed", { error: answers.flagged }), "blocked"],
        [polled("failed", { error: "NSFW content detected. Try running it again." }), "blocked"],
        [polled("failed", { error: { message: "strange" } }), "failed"],
        [polled("canceled"), "failed"],
        [polled("aborted"), "failed"],
        [succeeded([]), "failed"],
        [succeeded(null), "failed"],
        [succeeded({ video: "https://replicate.delivery/a.mp4" }), "failed"],
      ],
    },
  });
});

describe("replicate", () => {
  const bench = useAdapter(create);
  const link = "https://replicate.delivery/xezq/out-0.png";
  const picture = (text: string, role: InputPicture["role"] = "image"): InputPicture => ({
    role,
    bytes: Buffer.from(text),
    type: "image/png",
  });
  const uri = (text: string) => `data:image/png;base64,${Buffer.from(text).toString("base64")}`;

  test.each<[MediaJob, object]>([
    [imageJob, { aspect_ratio: "16:9" }],
    [jobOf<ImageJob>("image", { model: "a/b", fields: { size: "1024x768" } }), { width: 1024, height: 768 }],
    [
      jobOf<VideoJob>("video", { model: "a/b", fields: { seconds: 5, audio: false, mode: "pro" } }),
      { duration: 5, generate_audio: false, mode: "pro" },
    ],
  ])("says what it is asked for as inputs", async (job, input) => {
    await bench.run(job, created(), succeeded([link]));
    expect(bench.asked().json).toEqual({ input: { prompt: "a fox", ...input } });
    expect(bench.asked()).toMatchObject({
      path: `/models/${job.model}/predictions`,
      headers: { authorization: "Bearer sk-secret" },
    });
    expect(bench.asked(1).path).toBe(`/predictions/${answers.created.id}`);
  });

  test("asks for a version where the model's name has one", async () => {
    await bench.run(
      jobOf<ImageJob>("image", { model: "prunaai/z-image:7ea1" }),
      created(),
      succeeded([link]),
    );
    expect(bench.asked()).toMatchObject({ path: "/predictions", json: { version: "7ea1" } });
  });

  test.each([
    ["image", link],
    ["image", [link]],
  ] as const)("takes %s output %j", async (_kind, output) => {
    const { artifacts, usage } = await bench.run(imageJob, created({ status: "succeeded", output }));
    expect(artifacts).toEqual([{ url: link, type: "image/png" }]);
    expect(usage).toBeUndefined();
    expect(bench.server.requests).toHaveLength(1);
  });

  test.each<[string, readonly InputPicture[], object]>([
    ["black-forest-labs/flux-1.1-pro", [picture("a")], { image_prompt: uri("a") }],
    ["black-forest-labs/flux-2-pro", [picture("a"), picture("b")], { input_images: [uri("a"), uri("b")] }],
  ])("takes pictures to %s along as it has them", async (model, inputs, fields) => {
    await bench.run(jobOf<ImageJob>("image", { model, inputs }), created(), succeeded([link]));
    expect(bench.asked().json).toMatchObject({ input: fields });
  });

  test.each<[string, readonly InputPicture[]]>([
    ["black-forest-labs/flux-schnell", [picture("a")]],
    ["black-forest-labs/flux-fill-pro", [picture("a"), picture("b")]],
    ["black-forest-labs/flux-2-pro", [picture("a"), picture("m", "mask")]],
  ])("does not ask %s for what it is not known to take", async (model, inputs) => {
    const failure = await bench.failure(jobOf<ImageJob>("image", { model, inputs }), created());
    expect(failure).toMatchObject({ kind: "misconfigured", accepted: false });
    expect(bench.server.requests).toEqual([]);
  });

  test("does not poll at an id that would lead elsewhere", async () => {
    const failure = await bench.failure(imageJob, created({ id: "../../account" }));
    expect(failure).toMatchObject({ kind: "failed", accepted: true });
    expect(bench.server.requests).toHaveLength(1);
  });
});
