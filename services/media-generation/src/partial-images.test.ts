// Partial images of a stream: sent while the provider works, paid for with the picture, and never again. A client that leaves
// pays for its picture all the same; a failure after the first event is an event, and free.
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { drawPicture } from "./test/pictures.ts";
import { type ScriptedServer, startScriptedServer } from "./test/scripted-server.ts";
import { type MediaUnderTest, startMedia, UNDISTURBED } from "./test/start-media.ts";

const GENERATIONS = "/v1/compat/images/generations";
const plain = { model: "openai/gpt-image-1.5", prompt: "a fox", size: "1024x1024", output_format: "jpeg" };
const fox = { ...plain, stream: true, partial_images: 2 };
/** USD of an output token. */
const TOKEN_USD = 0.000_032;

interface Streamed {
  readonly headers: Headers;
  readonly events: readonly ReturnType<typeof JSON.parse>[];
}

async function streamed(
  media: MediaUnderTest,
  body: object,
  { path = GENERATIONS, headers = {} }: { path?: string; headers?: Record<string, string> } = {},
): Promise<Streamed> {
  const response = await send(media, body, path, headers);
  const text = await response.text();
  expect([response.status, text.slice(0, 7)]).toEqual([200, "event: "]);
  const events = text.split("\n\n").slice(0, -1);
  return {
    headers: response.headers,
    events: events.map((event) => {
      const [name, data] = event.split("\n");
      const fields = JSON.parse(data?.slice("data: ".length) ?? "");
      expect(name).toBe(`event: ${fields.type}`);
      return fields;
    }),
  };
}

const send = (
  media: MediaUnderTest,
  body: object,
  path = GENERATIONS,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) =>
  fetch(media.url() + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

const typesOf = ({ events }: Streamed) => events.map(({ type }) => type.split(".")[1]);
const formatOf = async (base64: string) => {
  const { format, width, height } = await sharp(Buffer.from(base64, "base64")).metadata();
  return { format, width, height };
};

describe("with a provider that sends them", () => {
  let simulator: RunningSimulator;
  let media: MediaUnderTest;
  beforeAll(async () => {
    simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
    media = await startMedia({ upstreamUrl: simulator.url, env: UNDISTURBED });
  });
  afterAll(async () => {
    await media.stop();
    await simulator.close();
  });

  const spent = async (work: () => Promise<unknown>) => {
    const before = media.billing.charged;
    await work();
    return Number(media.billing.charged - before) / 10_000;
  };
  const billOf = async (id: string | null) => {
    const bill = await fetch(`${simulator.url}/bill/${id}`);
    return Number(((await bill.json()) as { pico_usd: string }).pico_usd) / 1e12;
  };

  test("partial images come first, in the client's format, each at the price of its tokens", async () => {
    const whole = await streamed(media, { ...fox, partial_images: 0 });
    const charge = await spent(async () => {
      const { events, headers } = await streamed(media, { ...fox, quality: "low" });
      expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      const common = {
        created_at: expect.any(Number),
        size: "1024x1024",
        quality: "low",
        background: "auto",
        output_format: "jpeg",
        b64_json: expect.any(String),
      };
      const partial = (index: number) => ({
        type: "image_generation.partial_image",
        partial_image_index: index,
        ...common,
      });
      const last = events.at(-1);
      expect(events).toEqual([
        partial(0),
        partial(1),
        { type: "image_generation.completed", url: expect.any(String), usage: last.usage, ...common },
      ]);
      for (const { b64_json: base64 } of events)
        expect(await formatOf(base64)).toEqual({ format: "jpeg", width: 1024, height: 1024 });
      const usage = whole.events.at(-1).usage;
      expect(last.usage).toMatchObject({
        output_tokens: usage.output_tokens + 200,
        input_tokens: usage.input_tokens,
      });
      expect(last.usage.cost - usage.cost).toBeCloseTo(200 * TOKEN_USD, 3);
      const id = headers.get("x-request-id");
      const { body } = await media.logged(id);
      expect(body).toMatchObject({
        status: "succeeded",
        cost: last.usage.cost,
        request: { partial_images: 2, n: 1 },
      });
      // Rounded up to 0.0001 USD.
      expect(last.usage.cost).toBeCloseTo(Math.ceil((await billOf(id)) * 10_000) / 10_000, 6);
    });
    expect(charge).toBeGreaterThan(0);
  });

  test("the quote and the hold cover them, and the plain request stays as it was", async () => {
    const quoted = async (body: object) =>
      (await media.generate(body, "/v1/quote/images/generations")).body.cost;
    const difference = (await quoted(fox)) - (await quoted(plain));
    expect(difference).toBeCloseTo(200 * TOKEN_USD, 3);
    expect(await quoted({ ...plain, partial_images: 2 })).toBe(await quoted(plain));
  });

  test.each([
    ["of several images", { ...fox, n: 2 }, ["completed", "completed"]],
    ["of a model without them", { ...fox, model: "sandbox/image" }, ["completed"]],
    ["that wants none", { ...fox, partial_images: 0 }, ["completed"]],
    ["that names no number", { ...plain, stream: true }, ["completed"]],
  ])("a stream %s has final events only, with their length, at the plain price", async (_, body, types) => {
    const { stream: _stream, partial_images: _partials, ...same }: Record<string, unknown> = body;
    const price = await spent(() => media.generate(same));
    let answer: Streamed | undefined;
    expect(
      await spent(async () => {
        answer = await streamed(media, body);
      }),
    ).toBe(price);
    expect(answer && typesOf(answer)).toEqual(types);
    expect(answer?.headers.get("content-length")).not.toBeNull();
  });

  test("the path of edits has the events of edits", async () => {
    const { events } = await streamed(media, fox, { path: "/v1/compat/images/edits" });
    expect(new Set(events.map(({ type }) => type.split(".")[0]))).toEqual(new Set(["image_edit"]));
    expect(events).toHaveLength(3);
  });

  test("b64_ephemeral leaves no file", async () => {
    const files = await media.files();
    expect(typesOf(await streamed(media, { ...fox, response_format: "b64_ephemeral" }))).toEqual([
      "partial_image",
      "partial_image",
      "completed",
    ]);
    expect(await media.files()).toEqual(files);
  });

  test("a repetition under the Idempotency-Key gets the final events again, and pays nothing", async () => {
    const headers = { "idempotency-key": "partial images" };
    const first = await streamed(media, fox, { headers });
    expect(typesOf(first)).toEqual(["partial_image", "partial_image", "completed"]);
    const again = await spent(async () => {
      const repeated = await streamed(media, fox, { headers });
      expect(repeated.events).toEqual(first.events.slice(2));
      expect(repeated.headers.get("idempotency-replayed")).toBe("true");
    });
    expect(again).toBe(0);
  });

  test("a client that leaves after the first partial image is charged, and finds its picture in the log", async () => {
    const leaving = new AbortController();
    let id: string | null = null;
    const charge = await spent(async () => {
      const response = await send(media, fox, GENERATIONS, {}, leaving.signal);
      id = response.headers.get("x-request-id");
      const reader = response.body?.getReader();
      const { value } = (await reader?.read()) ?? {};
      expect(Buffer.from(value ?? []).toString()).toMatch(/^event: image_generation\.partial_image\n/);
      leaving.abort();
      await until(async () => (await media.logged(id)).body.status === "succeeded", { timeoutMs: 60_000 });
    });
    const { body } = await media.logged(id);
    expect(body.cost).toBe(charge);
    expect(body.data).toEqual([{ url: expect.any(String), thumbnail_url: expect.any(String) }]);
  });

  test("an asynchronous request has no stream, and pays for none", async () => {
    const { status, body } = await media.generate(fox, GENERATIONS, { prefer: "respond-async" });
    expect(status).toBe(202);
    expect(body.request).not.toHaveProperty("partial_images");
    await until(async () => (await media.logged(body.id)).body.status === "succeeded", {
      timeoutMs: 60_000,
    });
  });
});

describe("with a provider that fails", () => {
  let upstream: ScriptedServer;
  let media: MediaUnderTest;
  beforeAll(async () => {
    upstream = await startScriptedServer();
    media = await startMedia({ upstreamUrl: upstream.url, env: UNDISTURBED });
  });
  afterAll(async () => {
    await media.stop();
    await upstream.close();
  });

  const play = (...events: object[]) =>
    upstream.play({
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""),
    });
  const event = (type: string, picture: Buffer, more = {}) => ({
    type: `image_generation.${type}`,
    b64_json: picture.toString("base64"),
    ...more,
  });

  test("a failure after the first event is an event in the form of the error, and is free", async () => {
    const error = { code: "moderation_blocked", type: "image_generation_user_error", message: "no" };
    play(event("partial_image", await drawPicture()), { type: "error", error });
    const { events, headers } = await streamed(media, fox);
    expect(events.map(({ type }) => type)).toEqual(["image_generation.partial_image", "error"]);
    expect(events[1].error).toMatchObject({
      type: "invalid_request_error",
      code: "content_policy_violation",
      message: expect.stringContaining("You are not charged"),
    });
    const { body } = await media.logged(headers.get("x-request-id"));
    expect([body.status, body.cost, media.billing.charged]).toEqual(["blocked", 0, 0n]);
    expect(body.error).toEqual(events[1].error);
  });

  test("a failure before the first event has its own status", async () => {
    play({ type: "error", error: { message: "no" } });
    const response = await send(media, fox);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      502,
      "application/json; charset=utf-8",
    ]);
  });

  test("a partial image that does not decode is left out, and the picture is delivered", async () => {
    const picture = await drawPicture();
    const usage = { input_tokens: 2, output_tokens: 300, total_tokens: 302 };
    play(
      event("partial_image", Buffer.from("no picture")),
      event("partial_image", picture),
      event("completed", picture, { usage }),
    );
    const { events } = await streamed(media, fox);
    expect(events.map(({ type, partial_image_index: index }) => [type.split(".")[1], index])).toEqual([
      ["partial_image", 1],
      ["completed", undefined],
    ]);
    expect(await media.metrics()).toContain('media_trouble_total{what="partial_not_sent"} 1');
  });
});
