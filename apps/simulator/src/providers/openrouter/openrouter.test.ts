// OpenRouter's text format: answers, streams, look-ups, errors, and a bill that agrees with every `cost`.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import OpenAI from "openai";
import { type RunningSimulator, startSimulator } from "../../server.ts";
import { chat, costsIn, payloadsOf, picoOf, TestClient } from "../../test-client.ts";

const CHAT = "/openrouter/api/v1/chat/completions";
const RESPONSES = "/openrouter/api/v1/responses";

let simulator: RunningSimulator;
let client: TestClient;
let openai: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  client = new TestClient(simulator.url);
  openai = new OpenAI({ baseURL: `${simulator.url}/openrouter/api/v1`, apiKey: "test", maxRetries: 0 });
});
afterAll(() => simulator.close());

describe("the bill", () => {
  interface Request {
    model: string;
    text: string;
    tokens: number | null;
    limit: number | null;
    stream: boolean;
    responses: boolean;
  }

  const request: fc.Arbitrary<Request> = fc.record({
    model: fc.constantFrom("sandbox/chat", "sandbox/chat-vision"),
    text: fc.string({ unit: "grapheme", maxLength: 60 }),
    tokens: fc.option(fc.integer({ min: 1, max: 300 })),
    limit: fc.option(fc.integer({ min: 1, max: 40 })),
    stream: fc.boolean(),
    responses: fc.boolean(),
  });

  test("is the sum of every cost that was answered, to the last digit", async () => {
    const before = BigInt((await client.bill()).total_pico_usd);
    let answered = 0n;
    const sendOne = async ({ model, text, tokens, limit, stream, responses }: Request) => {
      const content = tokens === null ? text : `${text} #tokens=${tokens}`;
      const answer = responses
        ? await client.post(RESPONSES, { model, input: content, max_output_tokens: limit, stream })
        : await client.post(CHAT, chat(model, content, { max_tokens: limit, stream }));
      expect(answer.status).toBe(200);
      const costs = costsIn(answer.text);
      expect(costs).toHaveLength(1);
      answered += costs[0] ?? 0n;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 8 }), async (requests) => {
        await Promise.all(requests.map(sendOne));
        expect(BigInt((await client.bill()).total_pico_usd) - before).toBe(answered);
      }),
      { numRuns: 25 },
    );
    const { total_pico_usd, items } = await client.bill();
    expect(items.reduce((sum, item) => sum + BigInt(item.pico_usd), 0n)).toBe(BigInt(total_pico_usd));
  });

  test("prices tokens as the list of models says", async () => {
    const { data } = JSON.parse((await client.get("/openrouter/api/v1/models")).text);
    for (const model of ["sandbox/chat", "sandbox/chat-vision"]) {
      const { pricing } = data.find(({ id }: { id: string }) => id === model);
      const { text } = await client.post(CHAT, chat(model, "price me"));
      const { usage } = JSON.parse(text);
      expect(costsIn(text)).toEqual([
        picoOf(pricing.prompt) * BigInt(usage.prompt_tokens) +
          picoOf(pricing.completion) * BigInt(usage.completion_tokens),
      ]);
      expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
    }
  });

  test("names each request by the id it was sent, and adds up a retried one", async () => {
    const first = await client.post(CHAT, chat("sandbox/chat", "one"), { "x-request-id": "req/1" });
    const second = await client.post(CHAT, chat("sandbox/chat", "two two"), { "x-request-id": "req/1" });
    const sum = [...costsIn(first.text), ...costsIn(second.text)].reduce((total, cost) => total + cost, 0n);
    for (const path of ["/bill/req/1", "/bill/req%2F1"]) {
      const { request_id, pico_usd, items } = JSON.parse((await client.get(path)).text);
      expect({ request_id, pico_usd, count: items.length }).toEqual({
        request_id: "req/1",
        pico_usd: String(sum),
        count: 2,
      });
    }
    expect((await client.get("/bill/unknown")).status).toBe(404);
  });
});

describe("a look-up", () => {
  test("finds a generation by its own id and by the request id", async () => {
    const answer = await client.post(CHAT, chat("sandbox/chat", "find me"), { "x-request-id": "look-up" });
    const { id, usage } = JSON.parse(answer.text);
    expect(answer.headers.get("x-generation-id")).toBe(id);
    for (const key of [id, "look-up"]) {
      const found = await client.get(`/openrouter/api/v1/generation?id=${key}`);
      expect(found.text).toMatch(/"total_cost":0\.\d+,/);
      expect(JSON.parse(found.text).data).toMatchObject({
        id,
        request_id: "look-up",
        total_cost: usage.cost,
        native_tokens_prompt: usage.prompt_tokens,
        native_tokens_completion: usage.completion_tokens,
        finish_reason: "stop",
        cancelled: false,
      });
    }
    const unknown = await client.get("/openrouter/api/v1/generation?id=gen-0-x");
    expect([unknown.status, JSON.parse(unknown.text).error.code]).toEqual([404, 404]);
  });
});

describe("a chat stream", () => {
  test("comes comment, role, tokens, finish, usage, [DONE]", async () => {
    const { text, headers } = await client.post(
      CHAT,
      chat("sandbox/chat", "hi #tokens=40", { stream: true }),
    );
    expect(headers.get("content-type")).toContain("text/event-stream");
    expect(text.startsWith(": OPENROUTER PROCESSING\n\ndata: {")).toBe(true);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    type Chunk = { choices: { delta: object; finish_reason: string | null }[]; usage?: object };
    const chunks = payloadsOf<Chunk>(text);
    expect(chunks).toHaveLength(1 + 40 + 2);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: "" });
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.at(-1)?.usage).toMatchObject({ completion_tokens: 40, is_byok: false });
    expect(chunks.filter(({ usage }) => usage !== undefined)).toHaveLength(1);
  });

  test("is read by the openai package", async () => {
    const stream = await openai.chat.completions.create({
      model: "sandbox/chat",
      messages: [{ role: "user", content: "Is the sea blue?" }],
      stream: true,
    });
    let text = "";
    const finishes: unknown[] = [];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason);
    }
    expect(text).toContain("Is the sea blue?");
    expect(finishes).toEqual(["stop"]);
  });

  test("ends with length at the caller's limit", async () => {
    const whole = await openai.chat.completions.create({
      model: "sandbox/chat",
      messages: [{ role: "user", content: "hi" }],
      max_tokens: 3,
    });
    expect(whole.choices[0]?.finish_reason).toBe("length");
    expect(whole.usage?.completion_tokens).toBe(3);
  });
});

describe("a responses stream", () => {
  test("is read by the openai package, in the documented order", async () => {
    const stream = await openai.responses.create({
      model: "sandbox/chat",
      input: "hi #tokens=3",
      stream: true,
    });
    const types: string[] = [];
    const numbers: number[] = [];
    let deltas = "";
    let done: string | undefined;
    for await (const event of stream) {
      types.push(event.type);
      numbers.push(event.sequence_number);
      if (event.type === "response.output_text.delta") deltas += event.delta;
      if (event.type === "response.completed")
        done = event.response.output_text ?? JSON.stringify(event.response);
    }
    expect(types).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      ...Array.from({ length: 3 }, () => "response.output_text.delta"),
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(numbers).toEqual(types.map((_, index) => index));
    expect(done).toContain(deltas);
  });

  test("ends incomplete at the caller's limit, with usage and cost, then [DONE]", async () => {
    const { text } = await client.post(RESPONSES, {
      model: "sandbox/chat",
      input: [{ role: "user", content: [{ type: "input_text", text: "hi" }] }],
      max_output_tokens: 4,
      stream: true,
    });
    type Event = { type: string; response?: { status: string; incomplete_details: object; usage: object } };
    const last = payloadsOf<Event>(text).at(-1);
    expect(last).toMatchObject({
      type: "response.incomplete",
      response: {
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
        usage: { output_tokens: 4 },
      },
    });
    expect(costsIn(text)).toHaveLength(1);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("whole answers are read by the openai package too", async () => {
    const response = await openai.responses.create({ model: "sandbox/chat-vision", input: "Who are you?" });
    expect(response.output_text).toContain("Who are you?");
    expect(response.usage?.input_tokens).toBe(3 + 4);
    const stored = await client.post(RESPONSES, { model: "sandbox/chat", input: "hi", store: true });
    expect(stored.status).toBe(400);
  });
});

describe("a refusal", () => {
  test.each([
    ["no key", { authorization: "" }, chat("sandbox/chat", "hi"), 401, /No cookie auth/],
    ["a wrong key", { authorization: "Bearer invalid" }, chat("sandbox/chat", "hi"), 401, /User not found/],
    ["an unknown model", {}, chat("no/such", "hi"), 400, /no\/such is not a valid model ID/],
    ["no messages", {}, { model: "sandbox/chat", messages: [] }, 400, /messages/],
    ["a bad limit", {}, chat("sandbox/chat", "hi", { max_tokens: 0 }), 400, /max_tokens/],
    ["broken JSON", {}, "{", 400, /JSON/],
    [
      "an image for a model without vision",
      {},
      chat("sandbox/chat", "", { messages: [{ role: "user", content: [{ type: "image_url" }] }] }),
      404,
      /image input/,
    ],
  ])("of %s has OpenRouter's shape and bills nothing", async (_case, headers, body, status, message) => {
    const before = (await client.bill()).total_pico_usd;
    const answer = await client.post(CHAT, body, headers);
    expect(answer.status).toBe(status);
    const { error } = JSON.parse(answer.text);
    expect(error.code).toBe(status);
    expect(error.message).toMatch(message);
    expect((await client.bill()).total_pico_usd).toBe(before);
  });
});

test("all text models are listed with names, prices and modalities", async () => {
  const { data } = JSON.parse((await client.get("/openrouter/api/v1/models")).text);
  expect(data.map(({ id }: { id: string }) => id)).toEqual([
    "sandbox/chat",
    "sandbox/chat-vision",
    "sandbox/chat-error",
    "sandbox/chat-hang",
    "sandbox/chat-reset",
    "sandbox/chat-no-usage",
  ]);
  expect(data[0]).toMatchObject({
    name: "Sandbox: Chat",
    pricing: { prompt: "0.0000005", completion: "0.0000015" },
    architecture: { input_modalities: ["text"], output_modalities: ["text"] },
    top_provider: { max_completion_tokens: 16_000 },
  });
  expect(data[1].architecture.input_modalities).toEqual(["text", "image"]);
});
