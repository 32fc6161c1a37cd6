// Image requests with `stream`: partial images where the model has them, a final event for each picture, and the price of
// the plain request with the tokens of the partial images. A failure before the first event is a plain error.
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Answer, type MediaUnderTest, startMedia, UNDISTURBED } from "./test/start-media.ts";

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

const GENERATIONS = "/v1/compat/images/generations";
const fox = { model: "sandbox/image", prompt: "a fox", size: "1024x1024", output_format: "png" };
const gpt = { ...fox, model: "openai/gpt-image-2", quality: "low" };

async function streamed(body: object, path = GENERATIONS, headers: Record<string, string> = {}) {
  const response = await fetch(media.url() + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ ...body, stream: true }),
  });
  const text = await response.text();
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
  const events = text.split("\n\n").slice(0, -1);
  return {
    text,
    headers: response.headers,
    events: events.map((event) => {
      const [name, data, ...others] = event.split("\n");
      expect(others).toEqual([]);
      const fields = JSON.parse(data?.slice("data: ".length) ?? "");
      expect(name).toBe(`event: ${fields.type}`);
      return fields;
    }),
  };
}

const pictureAt = async (url: string) =>
  Buffer.from(await (await fetch(media.url() + new URL(url).pathname)).arrayBuffer());
const spent = async (work: () => Promise<unknown>) => {
  const before = media.billing.charged;
  await work();
  return media.billing.charged - before;
};

test("a stream ends with one event for each picture, which has it whole, its URL, and the usage", async () => {
  const { events } = await streamed({ ...gpt, n: 2, partial_images: 2 });
  expect(events).toEqual(
    [false, true].map((isLast) => ({
      type: "image_generation.completed",
      created_at: expect.any(Number),
      size: "1024x1024",
      quality: "low",
      background: "auto",
      output_format: "png",
      url: expect.stringMatching(/\.png$/),
      b64_json: expect.any(String),
      usage: {
        input_tokens: isLast ? expect.any(Number) : 0,
        output_tokens: isLast ? expect.any(Number) : 0,
        total_tokens: isLast ? expect.any(Number) : 0,
        input_tokens_details: { text_tokens: isLast ? expect.any(Number) : 0, image_tokens: 0 },
        cost: isLast ? expect.any(Number) : 0,
      },
    })),
  );
  const [first, last] = events;
  expect(last.usage.output_tokens).toBeGreaterThan(0);
  expect(last.usage.total_tokens).toBe(last.usage.input_tokens + last.usage.output_tokens);
  expect(first.b64_json).not.toBe(last.b64_json);
  for (const { url, b64_json: base64 } of events) {
    expect(await pictureAt(url)).toEqual(Buffer.from(base64, "base64"));
  }
});

test.each([fox, gpt, { ...gpt, n: 3 }])("the charge is that of the plain request: %j", async (body) => {
  const plain = await spent(() => media.generate(body));
  let cost = 0;
  const stream = await spent(async () => {
    cost = (await streamed(body)).events.at(-1).usage.cost;
  });
  expect(stream).toBe(plain);
  expect(cost).toBe(Number(plain) / 10_000);
});

test("a provider that counts no tokens has zeros, and the charge", async () => {
  const { events } = await streamed({ ...fox, model: "sandbox/image-free" });
  expect(events).toHaveLength(1);
  const { usage } = events[0];
  expect([usage.total_tokens, usage.output_tokens, usage.cost].every((count) => count >= 0)).toBe(true);
});

test("base64 has no URL, and b64_ephemeral leaves no file", async () => {
  const [hosted] = (await streamed({ ...fox, response_format: "b64_json" })).events;
  expect(hosted).not.toHaveProperty("url");
  const files = await media.outputs();
  const [ephemeral] = (await streamed({ ...fox, response_format: "b64_ephemeral" })).events;
  expect(Buffer.from(ephemeral.b64_json, "base64").subarray(1, 4).toString()).toBe("PNG");
  expect(await media.outputs()).toEqual(files);
});

test("the path of edits has the events of edits", async () => {
  const { events } = await streamed(fox, "/v1/compat/images/edits");
  expect(events.map(({ type }) => type)).toEqual(["image_edit.completed"]);
});

test("a repetition under the Idempotency-Key gets the same events, or the plain answer, and pays nothing", async () => {
  const key = { "idempotency-key": "a-stream" };
  const first = await streamed(gpt, GENERATIONS, key);
  let plain: Answer | undefined;
  const again = await spent(async () => {
    const repeated = await streamed({ ...gpt, partial_images: 1 }, GENERATIONS, key);
    expect(repeated.text).toBe(first.text);
    expect(repeated.headers.get("idempotency-replayed")).toBe("true");
    plain = await media.generate(gpt, GENERATIONS, key);
  });
  expect(again).toBe(0n);
  expect(plain?.body.data).toEqual([{ url: first.events[0].url }]);
});

test("a failure has its own status and the plain envelope, and is free", async () => {
  const charged = await spent(async () => {
    for (const [body, status, param] of [
      [{ ...fox, model: "sandbox/image-error" }, 502, undefined],
      [{ ...fox, model: "no/such" }, 404, "model"],
      [{ ...fox, partial_images: 4 }, 400, "partial_images"],
      [{ ...fox, partial_images: 1.5 }, 400, "partial_images"],
      [{ ...fox, stream: "yes" }, 400, "stream"],
    ] as const) {
      const answer = await media.generate({ stream: true, ...body });
      expect([answer.status, answer.body.error.param]).toEqual([status, param]);
    }
    const film = { model: "sandbox/video", prompt: "a fox", stream: true };
    const { status, body } = await media.generate(film, "/v1/compat/videos/generations");
    expect([status, body.error.param]).toEqual([400, "stream"]);
  });
  expect(charged).toBe(0n);
});

test("stream: false and partial_images without a stream are the plain request", async () => {
  const { status, body } = await media.generate({ ...fox, stream: false, partial_images: 2 });
  expect([status, Object.keys(body.data[0])]).toEqual([200, ["url"]]);
});

test.each(["true", "True"])("a form asks for a stream, too, with %s", async (stream) => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...fox, stream, partial_images: "1" }))
    form.append(name, value);
  const response = await fetch(`${media.url()}/v1/compat/images/edits`, { method: "POST", body: form });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  expect(await response.text()).toMatch(/^event: image_edit\.completed\n/);
});
