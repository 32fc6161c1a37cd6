// Common guarantees of every wire format of media: keys and fields are checked, jobs are polled, refusals have the
// provider's own format, and results are billed at the provider's own prices.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { type RunningSimulator, startSimulator } from "../server.ts";

type Json = ReturnType<typeof JSON.parse>;

interface Answer {
  readonly status: number;
  readonly body: Json;
}

interface Wire {
  readonly name: string;
  readonly at: string;
  readonly videosAt?: string;
  key(value: string): Record<string, string>;
  readonly wrongKey: Answer;
  image(prompt: string, more?: object): readonly [path: string, body: object];
  /** The picture of an answer, or where it is. */
  pictureOf(body: Json): string | Buffer;
  /** Price of one picture without inputs. */
  readonly imageCost: bigint;
  readonly blockedImage: Answer;
  video(prompt: string): readonly [path: string, body: object];
  /** Returns the polling path of a submitted video. */
  pollOf(body: Json): string;
  isPending(answer: Answer): boolean;
  linkOf(body: Json): string;
  readonly videoCost: bigint;
  readonly blockedVideo: Answer;
  /** True if results open with the key alone. */
  readonly linksNeedKey?: true;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

const WIRES: readonly Wire[] = [
  {
    name: "gemini",
    at: "/gemini/v1beta",
    key: (key) => ({ "x-goog-api-key": key }),
    wrongKey: { status: 400, body: { error: { details: [{ reason: "API_KEY_INVALID" }] } } },
    image: (text, more = {}) => [
      "/models/gemini-3.1-flash-image:generateContent",
      {
        contents: [{ role: "user", parts: [{ text }] }],
        generationConfig: {
          responseModalities: ["IMAGE"],
          imageConfig: { aspectRatio: "9:16", imageSize: "512" },
        },
        ...more,
      },
    ],
    pictureOf: (body) => Buffer.from(body.candidates[0].content.parts[0].inlineData.data, "base64"),
    // "a fox" is 2 tokens of 0.5 USD a million; the picture 747 of 60.
    imageCost: 2n * 500_000n + 747n * 60_000_000n,
    blockedImage: { status: 200, body: { candidates: [{ finishReason: "IMAGE_SAFETY" }] } },
    video: (text) => [
      "/interactions",
      {
        model: "gemini-omni-1.1-flash",
        background: true,
        input: [{ type: "text", text }],
        response_format: { type: "video", aspect_ratio: "16:9", resolution: "720p", duration: "3s" },
      },
    ],
    pollOf: ({ id }) => `/interactions/${id}`,
    isPending: ({ body }) => ["queued", "in_progress"].includes(body.status),
    linkOf: (body) => body.steps.at(-1).content[0].uri,
    videoCost: 2n * 1_500_000n + 3n * 5_792n * 17_500_000n,
    blockedVideo: {
      status: 200,
      body: { status: "completed", steps: [{}, { content: [{ type: "text" }] }] },
    },
    linksNeedKey: true,
  },
  {
    name: "xai",
    at: "/xai/v1",
    key: bearer,
    wrongKey: { status: 400, body: { error: expect.stringContaining("Incorrect API key") } },
    image: (prompt, more = {}) => [
      "/images/generations",
      {
        model: "grok-imagine-image-2.0",
        prompt,
        aspect_ratio: "9:16",
        resolution: "1k",
        quality: "low",
        ...more,
      },
    ],
    pictureOf: (body) => body.data[0].url,
    imageCost: 40_000_000_000n,
    blockedImage: { status: 403, body: { code: "permission-denied" } },
    video: (prompt) => ["/videos/generations", { model: "grok-imagine-video", prompt, duration: 1 }],
    pollOf: ({ request_id }) => `/videos/${request_id}`,
    isPending: ({ status }) => status === 202,
    linkOf: (body) => body.video.url,
    videoCost: 50_000_000_000n,
    blockedVideo: { status: 400, body: { error: "Generated video rejected by content moderation." } },
  },
  {
    name: "together",
    at: "/together/v1",
    videosAt: "/together/v2",
    key: bearer,
    wrongKey: { status: 401, body: { error: { code: "invalid_api_key" } } },
    image: (prompt, more = {}) => [
      "/images/generations",
      { model: "black-forest-labs/FLUX.2-dev", prompt, width: 128, height: 256, ...more },
    ],
    pictureOf: (body) => body.data[0].url,
    imageCost: 15_400_000_000n,
    // How Together's moderation refuses was never captured.
    blockedImage: { status: 500, body: undefined },
    video: (prompt) => [
      "/videos",
      { model: "pixverse/pixverse-v5", prompt, seconds: "5", width: 320, height: 192 },
    ],
    pollOf: ({ id }) => `/videos/${id}`,
    isPending: ({ body }) => body.status === "in_progress",
    linkOf: (body) => body.outputs.video_url,
    videoCost: 300_000_000_000n,
    blockedVideo: { status: 200, body: { status: "failed" } },
  },
  {
    name: "byteplus",
    at: "/byteplus/api/v3",
    key: bearer,
    wrongKey: { status: 401, body: { error: { code: "AuthenticationError" } } },
    image: (prompt, more = {}) => [
      "/images/generations",
      { model: "dola-seedream-5-0-pro-260628", prompt, size: "864x1152", watermark: false, ...more },
    ],
    pictureOf: (body) => body.data[0].url,
    imageCost: 45_000_000_000n,
    blockedImage: { status: 400, body: { error: { code: "InputTextSensitiveContentDetected" } } },
    video: (text) => [
      "/contents/generations/tasks",
      {
        model: "seedance-1-0-pro-fast-251015",
        content: [{ type: "text", text }],
        ratio: "9:16",
        resolution: "480p",
        duration: 2,
      },
    ],
    pollOf: ({ id }) => `/contents/generations/tasks/${id}`,
    isPending: ({ body }) => ["queued", "running"].includes(body.status),
    linkOf: (body) => body.content.video_url,
    // 480 x 864 x 24 x 2 / 1024 tokens of 1 USD a million.
    videoCost: 19_440n * 1_000_000n,
    blockedVideo: { status: 200, body: { error: { code: "OutputVideoSensitiveContentDetected" } } },
  },
];

let simulator: RunningSimulator;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
});
afterAll(() => simulator.close());

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

describe.each(WIRES)("the wire format of $name", (wire) => {
  const { at, videosAt = at } = wire;
  const post = async (base: string, [path, body]: readonly [string, object], headers = wire.key("test")) =>
    read(
      await fetch(simulator.url + base + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    );
  const poll = async (path: string) =>
    read(await fetch(simulator.url + videosAt + path, { headers: wire.key("test") }));
  /** Polls to the end. */
  async function finish(submitted: Answer): Promise<{ answer: Answer; pending: number }> {
    for (let pending = 0; ; ) {
      const answer = await poll(wire.pollOf(submitted.body));
      if (!wire.isPending(answer)) return { answer, pending };
      pending += 1;
    }
  }
  const billed = async (requestId: string) =>
    BigInt((await read(await fetch(`${simulator.url}/bill/${requestId}`))).body.pico_usd);
  const idOf = (what: string) => `${wire.name}-${what}`;
  const withId = (id: string) => ({ ...wire.key("test"), "x-request-id": id });

  test("refuses a wrong key, and none, in the provider's words", async () => {
    expect(await post(at, wire.image("a fox"), wire.key("invalid"))).toMatchObject(wire.wrongKey);
    expect((await post(videosAt, wire.video("a fox"), {})).status).toBeGreaterThanOrEqual(400);
  });

  test("refuses a field that the provider does not have, by name", async () => {
    const answer = await post(at, wire.image("a fox", { colour: "red" }));
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain("colour");
  });

  test("makes a picture of the asked shape, and bills its price", async () => {
    const { status, body } = await post(at, wire.image("a fox"), withId(idOf("image")));
    expect(status).toBe(200);
    const picture = wire.pictureOf(body);
    const bytes = Buffer.isBuffer(picture)
      ? picture
      : Buffer.from(await (await fetch(picture)).arrayBuffer());
    const { width, height } = await sharp(bytes).metadata();
    expect(width).toBeLessThan(height);
    expect(await billed(idOf("image"))).toBe(wire.imageCost);
  });

  test("has a video polled, links to it, and bills its price", async () => {
    const submitted = await post(videosAt, wire.video("a fox"), withId(idOf("video")));
    expect(submitted.status).toBe(200);
    const { answer, pending } = await finish(submitted);
    expect(pending).toBeGreaterThanOrEqual(2);
    const link = wire.linkOf(answer.body);
    const [shown, unshown] = await Promise.all([fetch(link, { headers: wire.key("test") }), fetch(link)]);
    const [good, bad] = wire.linksNeedKey ? [shown, unshown] : [unshown, shown];
    expect(Buffer.from(await good.arrayBuffer()).toString("latin1", 4, 8)).toBe("ftyp");
    expect(bad.status).toBeGreaterThanOrEqual(400);
    expect(await billed(idOf("video"))).toBe(wire.videoCost);
  });

  test("refuses in the provider's shape what moderation does not like, and bills nothing", async () => {
    expect(await post(at, wire.image("#nsfw"), withId(idOf("bad")))).toMatchObject(wire.blockedImage);
    const submitted = await post(videosAt, wire.video("#nsfw"), withId(idOf("bad")));
    expect((await finish(submitted)).answer).toMatchObject(wire.blockedVideo);
    expect((await fetch(`${simulator.url}/bill/${idOf("bad")}`)).status).toBe(404);
  });

  test("fails and turns down as the prompt says", async () => {
    expect((await post(at, wire.image("#429"))).status).toBe(429);
    expect((await post(at, wire.image("#fail"))).status).toBe(500);
    expect((await poll(wire.pollOf({ id: "none", request_id: "none" }))).status).toBeGreaterThanOrEqual(400);
  });
});
