// Black Forest Labs' wire format: its requests, its answers, and the conformance suite over both.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { jobOf, useAdapter } from "../../test/adapter-bench.ts";
import { describeConformance, type ProviderUnderTest } from "../../test/conformance.ts";
import { noOutbound } from "../../test/no-outbound.ts";
import { drawPicture } from "../../test/pictures.ts";
import type { ImageJob, InputPicture, MediaJob, VideoJob } from "../provider.ts";
import { createBflProvider } from "./bfl-provider.ts";

const answers = JSON.parse(await readFile(new URL("./fixtures/answers.json", import.meta.url), "utf8"));

const create: ProviderUnderTest["create"] = ({ secret, ...rest }) =>
  createBflProvider({ apiKey: secret, ...rest });
const job = jobOf<ImageJob>("image", { model: "flux-kontext-pro", fields: { aspect_ratio: "16:9" } });
const videoJob = jobOf<VideoJob>("video", {
  model: "flux-3-video",
  fields: { resolution: "hd", seconds: 5 },
});
const submitted = (poll: string, cost: number | null = answers.submitted.cost) => ({
  ...answers.submitted,
  polling_url: poll,
  cost,
});
const ready = ([sample]: readonly string[]) => ({
  ...answers.ready,
  result: sample === undefined ? null : { ...answers.ready.result, sample },
});
const ok = (body: object) => ({ status: 200, body });

describe.each<[string, MediaJob]>([
  ["images", job],
  ["videos", videoJob],
])("%s", (what, job) => {
  describeConformance({
    name: `bfl, for ${what},`,
    create,
    job,
    submitted: () => ok(submitted("/get_result?id=7")),
    invalid: (quoting) => ({
      status: 422,
      body: { detail: [{ ...answers.invalid.detail[0], msg: quoting }] },
    }),
    queue: {
      pending: [ok(answers.pending), ok({ ...answers.pending, status: "Reticulating" })],
      done: (_made, links) => ok(ready(links)),
      ended: [
        [ok(answers.moderated), "blocked"],
        [ok({ ...answers.moderated, status: "Content Moderated" }), "blocked"],
        [ok({ ...answers.pending, status: "Error" }), "failed"],
        [ok({ ...answers.pending, status: "Failed" }), "failed"],
        [ok({ ...answers.pending, status: "Task not found" }), "failed"],
      ],
      polledAt: (url) => ok(submitted(url)),
      neverCancels: true,
    },
  });
});

describe("bfl", () => {
  const bench = useAdapter(create);
  const link = "https://delivery.bfl.ai/1.png";
  const run = (asked: Partial<ImageJob>) =>
    bench.run({ ...job, ...asked }, ok(submitted("/get_result?id=7")), ok(ready([link])));

  test("says a size in pixels, and sends what the route has named as it is", async () => {
    await run({ model: "flux-2-pro", fields: { size: "1920x1088", safety_tolerance: 2 } });
    const json = { prompt: "a fox", width: 1920, height: 1088, safety_tolerance: 2, output_format: "png" };
    expect(bench.asked()).toMatchObject({ path: "/flux-2-pro", json });
    expect(bench.asked(1).path).toBe("/get_result?id=7");
  });

  test("takes pictures along in base64, under the names that each model has for them", async () => {
    const picture = async (role: InputPicture["role"], red: number): Promise<InputPicture> => ({
      role,
      bytes: await drawPicture("png", { red }),
      type: "image/png",
    });
    const pictures = [await picture("image", 1), await picture("image", 2), await picture("mask", 3)];
    const [first, second, mask] = pictures.map(({ bytes }) => bytes.toString("base64"));
    await run({ model: "flux-2-pro", inputs: pictures.slice(0, 2) });
    expect(bench.asked().json).toMatchObject({ input_image: first, input_image_2: second });
    await run({ model: "flux-pro-1.0-fill", fields: {}, inputs: pictures.filter((_, at) => at !== 1) });
    expect(bench.asked(2).json).toEqual({ prompt: "a fox", output_format: "png", image: first, mask });
  });

  test("asks for a video in its own words, from a first frame if there is one", async () => {
    const film = (asked: Partial<VideoJob>) =>
      bench.run({ ...videoJob, ...asked }, ok(submitted("/get_result?id=7", 85)), ok(ready([link])));
    const delivered = await film({});
    const json = { mode: "t2v", prompt: "a fox", resolution: "hd", duration: 5 };
    expect(bench.asked()).toMatchObject({ path: "/flux-3-video", json });
    expect(delivered.artifacts).toEqual([{ url: link, type: "video/mp4" }]);
    expect(delivered.usage).toEqual({ billed: 850_000_000_000n });
    const bytes = await drawPicture("png");
    const fields = { resolution: "fhd", aspect_ratio: "9:16", seconds: 20, audio: true };
    await film({ fields, inputs: [{ role: "image", bytes, type: "image/png" }] });
    expect(bench.asked(2).json).toEqual({
      mode: "i2v",
      prompt: "a fox",
      resolution: "fhd",
      aspect_ratio: "9:16",
      duration: 20,
      generate_audio: true,
      keyframes: [bytes.toString("base64")],
    });
  });

  test.each([
    [4.5, 45_000_000_000n],
    [0.1, 1_000_000_000n],
    [1.4000000000001, 14_000_000_001n],
    [0, 0n],
    [null, undefined],
    [-1, undefined],
    [4.5, 30_000_000_000n, 3],
  ])(
    "%p credits, as announced, are what the picture cost: %p, unless its result says better",
    async (...row) => {
      const [announced, billed, cost] = row;
      const poll = submitted("/get_result?id=7", announced);
      const delivered = await bench.run(job, ok(poll), ok({ ...ready([link]), cost }));
      expect(delivered.artifacts).toEqual([{ url: link, type: "image/png" }]);
      expect(delivered.usage).toEqual(billed === undefined ? undefined : { billed });
    },
  );

  test.each([
    ["https://api.bfl.ai/v1/get_result?id=7", true],
    ["https://api.eu2.bfl.ai/v1/get_result?id=7", true],
    ["https://api.us.bfl.ai/v1/get_result?id=7", true],
    ["http://api.eu.bfl.ai/v1/get_result?id=7", false],
    ["https://delivery-eu2.bfl.ai/v1/get_result?id=7", false],
    ["https://api.bfl.ai.evil.test/v1/get_result?id=7", false],
    ["https://apixbfl.ai/", false],
  ])("shows its key at %s: %p", async (poll, shown) => {
    const asked: string[] = [];
    const listening = createBflProvider({
      apiKey: "bfl-secret",
      baseUrl: "https://api.bfl.ai/v1",
      outbound: {
        ...noOutbound,
        send: async ({ url }) => {
          asked.push(url);
          const body = ok(answers.pending).body;
          return { status: 200, header: () => undefined, bytes: Buffer.alloc(0), json: () => body };
        },
      },
    });
    const { signal } = new AbortController();
    const progress = await listening.poll({ poll, billed: null }, signal).catch(() => undefined);
    expect(asked).toEqual(shown ? [poll] : []);
    if (shown) expect(progress).toMatchObject({ state: "pending", percent: 40 });
  });
});
