// OpenRouter's images and videos: jobs that are polled, content behind the key, costs as exact decimals.
import { readMp4 } from "@gr/testing/mp4";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type RunningSimulator, startSimulator } from "../../server.ts";
import { type Answer, costsIn, TestClient } from "../../test-client.ts";

const BASE = "/openrouter/api/v1";
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const frame = { type: "image_url", image_url: { url: PIXEL }, frame_type: "first_frame" };

let simulator: RunningSimulator;
let client: TestClient;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  client = new TestClient(simulator.url);
});
afterAll(() => simulator.close());

const video = (more: object, id = "none") =>
  client.post(`${BASE}/videos`, { model: "sandbox/video", prompt: "a fox", ...more }, { "x-request-id": id });

/** Polls until the job has ended. */
async function ended({ text }: Answer): Promise<Answer> {
  const { id } = JSON.parse(text);
  for (let poll = 0; poll < 10_000; poll++) {
    const answer = await client.get(`${BASE}/videos/${id}`);
    if (!["pending", "in_progress"].includes(JSON.parse(answer.text).status)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("the job does not end");
}

describe("a video", () => {
  test("is accepted, polled, fetched with the key, and billed by the second", async () => {
    const accepted = await video({ duration: 2, size: "320x180" }, "two-seconds");
    expect(accepted.status).toBe(202);
    expect(JSON.parse(accepted.text)).toMatchObject({ status: "pending", polling_url: expect.any(String) });
    const done = await ended(accepted);
    expect(costsIn(done.text)).toEqual([100_000_000_000n]);
    expect(await client.billed("two-seconds")).toBe(100_000_000_000n);
    const { unsigned_urls } = JSON.parse(done.text);
    expect((await fetch(unsigned_urls[0])).status).toBe(401);
    const content = await fetch(unsigned_urls[0], { headers: { authorization: "Bearer test" } });
    const facts = readMp4(Buffer.from(await content.arrayBuffer()));
    expect(facts).toMatchObject({ seconds: 2, width: 320, height: 180 });
  });

  test("from an image needs one, and another model takes none", async () => {
    const from = { model: "sandbox/video-from-image", duration: 1, size: "320x180" };
    expect((await video(from)).status).toBe(400);
    expect((await video({ frame_images: [frame] })).status).toBe(400);
    const done = await ended(await video({ ...from, frame_images: [frame] }, "from-image"));
    expect(JSON.parse(done.text).status).toBe("completed");
    expect(await client.billed("from-image")).toBe(60_000_000_000n);
  });

  test.each([[{ seconds: 5 }], [{ duration: 61 }], [{ size: "auto" }], [{ duration: "5" }]])(
    "with %j is refused",
    async (more) => {
      expect((await video(more)).status).toBe(400);
    },
  );

  test("fails, is blocked or never ends as its model says", async () => {
    const failed = await ended(await video({ model: "sandbox/video-error" }));
    expect(JSON.parse(failed.text)).toMatchObject({ status: "failed", error: expect.any(String) });
    const blocked = await video({ model: "sandbox/video-blocked" });
    expect([blocked.status, JSON.parse(blocked.text).error.metadata.reasons]).toEqual([
      403,
      ["violence", "hate"],
    ]);
    const { id } = JSON.parse((await video({ model: "sandbox/video-hang" })).text);
    for (let poll = 0; poll < 5; poll++) await client.get(`${BASE}/videos/${id}`);
    expect(JSON.parse((await client.get(`${BASE}/videos/${id}`)).text).status).toBe("in_progress");
    expect((await client.get(`${BASE}/videos/none`)).status).toBe(404);
  });
});

test("an image answers at once, at its vendor's price, in the size of its shape and class", async () => {
  const body = {
    model: "google/gemini-3-pro-image",
    prompt: "a fox",
    aspect_ratio: "16:9",
    resolution: "1K",
  };
  const { status, text } = await client.post(`${BASE}/images`, body, { "x-request-id": "one-image" });
  expect([status, costsIn(text), await client.billed("one-image")]).toEqual([
    200,
    [134_404_000_000n],
    134_404_000_000n,
  ]);
  const [{ b64_json: base64, media_type: type }] = JSON.parse(text).data;
  const png = Buffer.from(base64, "base64");
  expect([type, png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual(["image/png", 1366, 768]);
});
