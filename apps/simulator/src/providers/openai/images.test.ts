// OpenAI's images: real pictures of the requested size and format, strict parameters, exact prices.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import sharp from "sharp";
import { gptImage1Tokens, gptImage2Tokens } from "../../media/image-size.ts";
import { type RunningSimulator, startSimulator } from "../../server.ts";
import { TestClient } from "../../test-client.ts";

const IMAGES = "/openai/v1/images/generations";
/** The smallest picture that the rules allow, so that the tests are quick. */
const SMALL = "816x816";

let simulator: RunningSimulator;
let client: TestClient;

beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  client = new TestClient(simulator.url);
});
afterAll(() => simulator.close());

function bytesOf(text: string): Buffer[] {
  return JSON.parse(text).data.map(({ b64_json }: { b64_json: string }) => Buffer.from(b64_json, "base64"));
}

describe("pictures", () => {
  test.each([
    ["png", "1024x1024", 1024, 1024],
    ["jpeg", "1536x1024", 1536, 1024],
    ["webp", "1024x1536", 1024, 1536],
    ["png", "auto", 1024, 1024],
    ["webp", "1440x480", 1440, 480],
  ])("in %s of %s decode to that size and format", async (format, size, width, height) => {
    const body = { model: "sandbox/image", prompt: "a lighthouse", size, output_format: format };
    const { status, text } = await client.post(IMAGES, body);
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      size: `${width}x${height}`,
      output_format: format,
      quality: "medium",
    });
    const [picture] = bytesOf(text);
    expect(await sharp(picture).metadata()).toMatchObject({ format, width, height });
    expect((await sharp(picture).stats()).entropy).toBeGreaterThan(1);
  });

  test("are all different, within a request and between two", async () => {
    const body = { model: "sandbox/image", prompt: "a lighthouse", size: SMALL, n: 3, output_format: "jpeg" };
    const answers = await Promise.all([client.post(IMAGES, body), client.post(IMAGES, body)]);
    const pictures = answers.flatMap(({ text }) => bytesOf(text));
    const hashes = pictures.map((picture) => createHash("sha256").update(picture).digest("hex"));
    expect(new Set(hashes).size).toBe(6);
  });

  test("are transparent on request, and smaller when compressed", async () => {
    const body = { model: "sandbox/image", prompt: "a lighthouse", size: SMALL };
    const clear = await client.post(IMAGES, { ...body, background: "transparent" });
    expect((await sharp(bytesOf(clear.text)[0]).stats()).isOpaque).toBe(false);
    const [large, small] = await Promise.all(
      [90, 10].map(async (output_compression) => {
        const { text } = await client.post(IMAGES, { ...body, output_format: "jpeg", output_compression });
        return bytesOf(text)[0]?.length ?? 0;
      }),
    );
    expect(small).toBeLessThan(large ?? 0);
  });

  test("are understood by the openai package", async () => {
    const openai = new OpenAI({ baseURL: `${simulator.url}/openai/v1`, apiKey: "test", maxRetries: 0 });
    const answer = await openai.images.generate({
      model: "gpt-image-2",
      prompt: "a lighthouse",
      quality: "low",
    });
    expect(answer.data).toHaveLength(1);
    expect(answer.usage?.output_tokens_details).toEqual({ image_tokens: 196, text_tokens: 0 });
  });
});

describe("prices", () => {
  test("of gpt-image-2 are its usage times the token prices", async () => {
    const body = { model: "gpt-image-2", prompt: "twelve bytes", size: SMALL, quality: "high", n: 2 };
    const { text } = await client.post(IMAGES, body, { "x-request-id": "priced" });
    const { usage } = JSON.parse(text);
    expect(usage.input_tokens).toBe(2 * 3);
    expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
    expect(await client.billed("priced")).toBe(
      5_000_000n * BigInt(usage.input_tokens) + 30_000_000n * BigInt(usage.output_tokens),
    );
  });

  test("of the sandbox models are 0.01 USD an image, and nothing, which is billed too", async () => {
    const body = { prompt: "hi", size: SMALL, output_format: "jpeg" };
    await client.post(IMAGES, { ...body, model: "sandbox/image", n: 2 }, { "x-request-id": "paid" });
    await client.post(IMAGES, { ...body, model: "sandbox/image-free" }, { "x-request-id": "free" });
    expect(await client.billed("paid")).toBe(20_000_000_000n);
    expect(await client.billed("free")).toBe(0n);
  });

  test.each([
    ["gpt-image-2", gptImage2Tokens, 1024, 1024, [196, 1756, 7024]],
    ["gpt-image-2", gptImage2Tokens, 1536, 1024, [158, 1372, 5488]],
    ["gpt-image-2", gptImage2Tokens, 1024, 1536, [158, 1372, 5488]],
    ["models before it", gptImage1Tokens, 1024, 1024, [272, 1056, 4160]],
    ["models before it", gptImage1Tokens, 1536, 1024, [400, 1568, 6208]],
    ["models before it", gptImage1Tokens, 1024, 1536, [408, 1584, 6240]],
  ])("per image of %s are OpenAI's published figures at %#", (_model, tokensOf, width, height, tokens) => {
    const counted = (["low", "medium", "high"] as const).map((quality) =>
      tokensOf({ width, height }, quality),
    );
    expect(counted).toEqual(tokens);
  });
});

describe("parameters", () => {
  const valid = { model: "sandbox/image", prompt: "a lighthouse" };

  test.each([
    [{ response_format: "url" }, "response_format", "unknown_parameter"],
    [{ model: "gpt-image-2", response_format: "b64_json" }, "response_format", "unknown_parameter"],
    [{ prompt: undefined }, "prompt", "missing_required_parameter"],
    [{ prompt: "" }, "prompt", "empty_string"],
    [{ prompt: "x".repeat(32_001) }, "prompt", "string_above_max_length"],
    [{ n: 0 }, "n", "integer_below_min_value"],
    [{ n: 11 }, "n", "integer_above_max_value"],
    [{ n: "2" }, "n", "invalid_type"],
    [{ size: "1000x1000" }, "size", "invalid_value"],
    [{ size: "512x512" }, "size", "invalid_value"],
    [{ size: "3856x1024" }, "size", "invalid_value"],
    [{ size: "3840x1024" }, "size", "invalid_value"],
    [{ size: "3840x3840" }, "size", "invalid_value"],
    [{ size: "large" }, "size", "invalid_value"],
    [{ model: "gpt-image-1.5", size: "1536x1536" }, "size", "invalid_value"],
    [{ quality: "hd" }, "quality", "invalid_value"],
    [{ output_format: "gif" }, "output_format", "invalid_value"],
    [{ output_compression: 101 }, "output_compression", "integer_above_max_value"],
    [{ background: "transparent", output_format: "jpeg" }, "background", "invalid_value"],
    [{ moderation: "none" }, "moderation", "invalid_value"],
    [{ user: 7 }, "user", "invalid_type"],
    [{ stream: "yes" }, "stream", "invalid_type"],
    [{ stream: true, n: 2 }, null, null],
    [{ stream: true, partial_images: 4 }, "partial_images", "integer_above_max_value"],
  ])("%j are refused by name", async (change, param, code) => {
    const { status, text } = await client.post(IMAGES, { ...valid, ...change });
    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({ type: "invalid_request_error", param, code });
  });
});

test("a stream has partial images, which get finer and are billed, then the picture with its usage", async () => {
  const openai = new OpenAI({ baseURL: `${simulator.url}/openai/v1`, apiKey: "test", maxRetries: 0 });
  const asked = {
    model: "gpt-image-2",
    prompt: "a lighthouse",
    size: SMALL as "auto",
    quality: "low",
  } as const;
  const plain = await openai.images.generate(asked);
  const headers = { "x-request-id": "streamed" };
  const events = await openai.images.generate({ ...asked, stream: true, partial_images: 3 }, { headers });
  const seen: unknown[] = [];
  const details: number[] = [];
  for await (const event of events) {
    const picture = Buffer.from(event.b64_json, "base64");
    expect(await sharp(picture).metadata()).toMatchObject({ format: "png", width: 816, height: 816 });
    details.push((await sharp(picture).stats()).entropy);
    seen.push("partial_image_index" in event ? event.partial_image_index : event.usage.output_tokens);
  }
  const tokens = plain.usage?.output_tokens ?? 0;
  expect(seen).toEqual([0, 1, 2, tokens + 300]);
  expect(details.length).toBe(4);
  const input = plain.usage?.input_tokens ?? 0;
  expect(await client.billed("streamed")).toBe(
    5_000_000n * BigInt(input) + 30_000_000n * BigInt(tokens + 300),
  );
});

describe("faults", () => {
  test("sandbox/image-error answers 500 and sandbox/image-blocked as OpenAI's moderation does, unbilled", async () => {
    const before = (await client.bill()).total_pico_usd;
    const failed = await client.post(IMAGES, { model: "sandbox/image-error", prompt: "hi" });
    expect([failed.status, JSON.parse(failed.text).error.type]).toEqual([500, "server_error"]);
    const blocked = await client.post(IMAGES, { model: "sandbox/image-blocked", prompt: "hi" });
    expect(blocked.status).toBe(400);
    expect(JSON.parse(blocked.text).error).toMatchObject({
      type: "image_generation_user_error",
      code: "moderation_blocked",
      message: expect.stringMatching(/^Your request was rejected/),
    });
    const unknown = await client.post(IMAGES, { model: "dall-e-3", prompt: "hi" });
    expect([unknown.status, JSON.parse(unknown.text).error.code]).toEqual([404, "model_not_found"]);
    expect((await client.bill()).total_pico_usd).toBe(before);
  });
});
